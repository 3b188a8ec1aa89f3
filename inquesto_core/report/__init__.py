"""Records set out for people to read."""

from __future__ import annotations

from inquesto_core import callable_room

callable_room(__name__)
