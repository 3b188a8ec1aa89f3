"""The limits of what is decoded stand in the protocol file and nowhere else."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields

from inquesto_core.instruments.extract import media_limits
from inquesto_core.instruments.media_limits import MediaLimits
from inquesto_core.protocol import load_protocol


def test_no_limit_has_a_number_of_its_own():
    assert [field.name for field in fields(MediaLimits) if field.default is not MISSING] == []


def test_every_limit_is_the_protocols():
    protocol = load_protocol("inquesto-0.1")
    stated = dict(protocol.raw["media"])
    del stated["min_duration_ms"]  # the shortest sound is one sample: an empty file has none
    assert asdict(media_limits(protocol)) == stated
