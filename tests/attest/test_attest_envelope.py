"""Keys and envelopes: what our own code makes is what others read, and the other way round."""

from __future__ import annotations

import copy
import json
import shutil
import stat
import subprocess

import pytest

from inquesto_core import engine
from inquesto_core.attest import (
    Envelope,
    authenticity,
    envelope_bytes,
    make_keys,
    pre_authentication,
    read_envelope,
    read_public,
    read_signing,
    signed,
)
from inquesto_core.engine.attest import SEAL_FILE
from inquesto_core.errors import InstrumentError, SchemaError, StoreError, VerificationError

pytest.importorskip("cryptography", reason="the extra `sign` is not installed")


@pytest.fixture
def keys(tmp_path):
    return make_keys(tmp_path / "a.key")


def test_keys_are_their_owners_and_are_never_written_over(keys, tmp_path):
    private, public = keys
    assert [stat.S_IMODE(file.stat().st_mode) for file in keys] == [0o600, 0o600]
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert public.read_text().startswith("-----BEGIN PUBLIC KEY-----")
    before = private.read_bytes()
    with pytest.raises(StoreError, match="key_exists"):
        make_keys(private)
    private.rename(tmp_path / "moved")
    with pytest.raises(StoreError, match=r"a\.key\.pub is there already"):
        make_keys(private)
    assert not private.exists()
    assert (tmp_path / "moved").read_bytes() == before


def test_a_link_is_not_followed_to_where_a_key_would_be_written(tmp_path):
    (tmp_path / "a.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="key_exists"):
        make_keys(tmp_path / "a.key")


def test_a_private_key_that_others_can_read_is_refused(keys):
    keys[0].chmod(0o640)
    with pytest.raises(StoreError, match="key_open"):
        read_signing(keys[0])


@pytest.mark.parametrize("text", ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n"])
def test_what_is_no_key_is_said_to_be_none(tmp_path, text):
    path = tmp_path / "odd"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(StoreError, match="key_unreadable"):
        read_signing(path)
    with pytest.raises(StoreError, match="key_unreadable"):
        read_public(path)


def test_a_key_of_another_kind_is_refused(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    path = tmp_path / "ec.pub"
    path.write_bytes(
        ec.generate_private_key(ec.SECP256R1())
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(StoreError, match="an Ed25519 public key"):
        read_public(path)


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cryptography.exceptions", None)
    with pytest.raises(InstrumentError, match=r"the extra `sign`.*extra_missing"):
        make_keys(tmp_path / "a.key")
    assert not list(tmp_path.iterdir())


def test_an_envelope_survives_being_written_and_read(keys):
    envelope = signed(Envelope(payload=b'{"a": 1}'), read_signing(keys[0]))
    assert read_envelope(envelope_bytes(envelope)) == envelope


@pytest.mark.parametrize(
    "changed",
    [
        lambda data: data.replace(b"\n", b"", 1),
        lambda data: data + b"\n",
        lambda data: data.replace(b'"payload"', b' "payload"'),
    ],
    ids=["joined", "longer", "wider"],
)
def test_an_envelope_in_another_form_is_refused(keys, changed):
    data = envelope_bytes(signed(Envelope(payload=b"{}"), read_signing(keys[0])))
    with pytest.raises(VerificationError, match="envelope_form"):
        read_envelope(changed(data))


def test_bits_of_base64_that_say_nothing_are_not_free(keys):
    data = envelope_bytes(signed(Envelope(payload=b"{}"), read_signing(keys[0])))
    assert b'"e30="' in data
    with pytest.raises(VerificationError, match="envelope_form"):
        read_envelope(data.replace(b'"e30="', b'"e31="'))


def test_what_is_no_envelope_is_a_schema_error():
    with pytest.raises(SchemaError, match="payload"):
        read_envelope(b"{}")


def test_a_signature_of_one_statement_is_none_of_another(keys):
    envelope = signed(Envelope(payload=b"{}"), read_signing(keys[0]))
    other = envelope_bytes(Envelope(payload=b"[]", signatures=envelope.signatures))
    told = authenticity(other, [read_public(keys[1])], file="seal")
    assert told.checks[1].outcome == "failed"
    assert told.statement is None


def test_openssl_verifies_a_signature(sealed, tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    envelope = read_envelope((sealed.run / SEAL_FILE).read_bytes())
    (tmp_path / "pae").write_bytes(pre_authentication(envelope.payload))
    (tmp_path / "sig").write_bytes(envelope.signatures[0].signature)
    command = ["pkeyutl", "-verify", "-pubin", "-inkey", sealed.pub, "-rawin"]
    done = subprocess.run(
        [openssl, *command, "-in", tmp_path / "pae", "-sigfile", tmp_path / "sig"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Success" in done.stdout


def test_securesystemslib_verifies_our_envelope(sealed, tmp_path):
    dsse = pytest.importorskip("securesystemslib.dsse", reason="securesystemslib is not installed")
    from securesystemslib.exceptions import VerificationError as Refused
    from securesystemslib.signer import SSlibKey

    def theirs(path):
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        key = load_pem_public_key(path.read_bytes())
        return SSlibKey.from_crypto(key, keyid=read_public(path).keyid)

    data = json.loads((sealed.run / SEAL_FILE).read_bytes())
    envelope = dsse.Envelope.from_dict(copy.deepcopy(data))
    assert list(envelope.verify([theirs(sealed.pub)], 1)) == [read_public(sealed.pub).keyid]
    _, stranger = make_keys(tmp_path / "stranger.key")
    with pytest.raises(Refused):
        envelope.verify([theirs(stranger)], 1)
    assert envelope.pae() == pre_authentication(read_envelope(envelope_bytes_of(data)).payload)


def envelope_bytes_of(value):
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def test_a_signature_of_securesystemslib_counts_for_us(sealed, tmp_path):
    pytest.importorskip("securesystemslib.dsse", reason="securesystemslib is not installed")
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner, SSlibKey

    private, public = make_keys(tmp_path / "theirs.key")
    key = load_pem_private_key(private.read_bytes(), password=None)
    shown = SSlibKey.from_crypto(key.public_key(), keyid=read_public(public).keyid)
    value = json.loads((sealed.run / SEAL_FILE).read_bytes())
    payload = read_envelope((sealed.run / SEAL_FILE).read_bytes()).payload
    made = CryptoSigner(key, public_key=shown).sign(pre_authentication(payload))
    import base64

    value["signatures"].append(
        {"keyid": made.keyid, "sig": base64.b64encode(bytes.fromhex(made.signature)).decode()}
    )
    (sealed.run / SEAL_FILE).write_bytes(envelope_bytes_of(value))
    assert engine.verify(sealed.run, keys=[sealed.pub, public]).holds
