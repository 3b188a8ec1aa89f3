"""Sealed records: statement, envelope, keys, and what each check of them says.

Nothing here knows a run folder; `inquesto_core.engine` gathers digests and asks.
"""

from __future__ import annotations

from inquesto_core.attest.check import Check, Outcome
from inquesto_core.attest.envelope import (
    Envelope,
    Signature,
    envelope_bytes,
    pre_authentication,
    read_envelope,
    signed,
)
from inquesto_core.attest.keys import PublicKey, SigningKey, make_keys, read_public, read_signing
from inquesto_core.attest.statement import (
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Statement,
    Subject,
    read_statement,
    statement_bytes,
)
from inquesto_core.attest.verify import Authenticity, authenticity

__all__ = [
    "PREDICATE_TYPE",
    "STATEMENT_TYPE",
    "Authenticity",
    "Check",
    "Envelope",
    "Outcome",
    "PublicKey",
    "Signature",
    "SigningKey",
    "Statement",
    "Subject",
    "authenticity",
    "envelope_bytes",
    "make_keys",
    "pre_authentication",
    "read_envelope",
    "read_public",
    "read_signing",
    "read_statement",
    "signed",
    "statement_bytes",
]
