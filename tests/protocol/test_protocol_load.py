"""A protocol folder loads by name or path, or is refused with the place where it is wrong."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from inquesto_core.errors import InquestoError, ProtocolError, SchemaError
from inquesto_core.instruments.media_limits import MediaLimits
from inquesto_core.protocol.definition import Conditions, Groups, Identity
from inquesto_core.protocol.load import DEFAULT_PROTOCOL, load_protocol, protocol_names
from inquesto_core.shipped import protocols_folder, schemas_folder


def test_shipped_protocols_are_listed_and_the_default_is_one_of_them() -> None:
    assert DEFAULT_PROTOCOL in protocol_names()


def test_a_folder_loads_like_the_shipped_name() -> None:
    assert load_protocol(protocols_folder() / "inquesto-0.1") == load_protocol("inquesto-0.1")
    assert load_protocol(str(protocols_folder() / "inquesto-0.1")) == load_protocol("inquesto-0.1")


def test_a_protocol_crosses_a_process_border_whole() -> None:
    protocol = load_protocol("inquesto-0.1")
    assert pickle.loads(pickle.dumps(protocol)) == protocol


@pytest.mark.parametrize("name", ["inquesto-9", "", "../protocols/inquesto-0.1/populations"])
def test_an_unknown_protocol_is_refused_with_the_known_names(name: str) -> None:
    with pytest.raises(ProtocolError, match=r"inquesto-0\.1.*protocol_unknown"):
        load_protocol(name)


def _set(*path: str, to: object) -> Any:
    def change(value: dict[str, Any]) -> None:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("events", "repeated_talk_over", "replaces"), "talkover"),
        (("events", "repeated_talk_over", "replaces"), "repeated_talk_over"),
        (("events", "slow_turn", "severity"), 6),
        (("events", "slow_turn", "latency_ms"), 0),
        (("events", "slow_turn", "latency_ms"), -1),
        (("timeline", "ipu_gap_ms"), 0),
        (("timing_uncertainty_ms",), {"telephone": 60}),
        (("fail_at",), 6),
        (("sensitivity_fail_at",), [2, 7]),
        (("views", "identity", "counted"), ["false_alarm"]),
        (("populations", "default"), "billing-0.2"),
        (("populations", "files", "billing-0.1"), "populations/none.json"),
        (("populations", "files", "billing-0.1"), "../inquesto-0.1/populations/billing-0.1.json"),
        (("instruments", "judge", "rubric"), "no-such-folder"),
        (("instruments", "vad", "frame_samples"), 511),
        (("media", "max_duration_ms"), 1),
    ],
    ids=lambda v: "/".join(v) if isinstance(v, tuple) else str(v),
)
def test_a_protocol_that_contradicts_itself_is_refused(
    edited: Any, path: tuple[str, ...], to: object
) -> None:
    folder = edited("protocol.json", _set(*path, to=to))
    with pytest.raises(InquestoError, match=path[-1]):
        load_protocol(folder)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("events", "slow_turn", "latency_ms"), 1),
        (("media", "max_duration_ms"), 2),
        (("sensitivity_fail_at",), [5]),
    ],
    ids=lambda v: "/".join(v) if isinstance(v, tuple) else str(v),
)
def test_the_smallest_consistent_value_is_accepted(
    edited: Any, path: tuple[str, ...], to: object
) -> None:
    assert load_protocol(edited("protocol.json", _set(*path, to=to))).status == "draft"


def test_a_changed_threshold_changes_the_digest(edited: Any) -> None:
    folder = edited("protocol.json", _set("events", "slow_turn", "latency_ms", to=2999))
    changed = load_protocol(folder)
    assert changed.digest != load_protocol("inquesto-0.1").digest
    assert changed.event("slow_turn").parameters["latency_ms"] == 2999


@pytest.mark.parametrize(
    "key",
    ["views", "sensitivity_fail_at", "populations", "instruments", "media", "accounting", "source"],
)
def test_a_missing_section_is_named_with_the_file(edited: Any, key: str) -> None:
    folder = edited("protocol.json", lambda p: p.pop(key))
    with pytest.raises(InquestoError, match=rf"protocol\.json.*{key}"):
        load_protocol(folder)


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("views", "behavior", "conditions"), "noisy", r"conditions is .noisy.*reference"),
        (("views", "behavior", "identity"), "none", r"identity is .none.*included"),
        (("views", "behavior", "weight"), 2, "weight"),
        (("views", "behavior", "letter"), "BB", "one capital letter"),
        (("views", "robustness", "compared_with", "groups"), "most", r"groups is .most"),
        (("views", "fairness", "value"), "mean", r"value is .mean.*worst_group"),
        (("events", "wrong_info", "asked"), "often", r"asked is .often.*correction"),
        (("events", "wrong_info", "source"), "oracle", r"source is .oracle.*judge"),
        (("goal", "required_actions_must_match"), True, "required_actions_must_match"),
        (("timeline", "patience_ms"), 5, "patience_ms"),
        (("instruments", "vad", "colour"), "red", "colour"),
        (("instruments", "vad", "sha256"), "abc", "64 lower-case hex"),
        (("instruments", "vad", "parameters", "threshold"), None, "a number above 0"),
        (("instruments", "leak", "reach_ms"), "500", "an integer"),
        (("instruments", "leak", "window_samples"), 0, "an integer"),
        (("instruments", "leak", "active_db"), True, "a number"),
        (("instruments", "judge", "rubric"), "/etc", "a folder inside the protocol folder"),
        (("instruments", "tts"), {}, "tts"),
        (("instruments",), [], "an object"),
        (("populations", "names"), [], "names"),
        (("populations", "files"), {}, "files has 0 keys"),
        (("media", "min_duration_ms"), "1", "an integer from 0"),
        (("media", "clip_level"), 1.1, "at most 1"),
        (("media", "max_gap_ms"), 1, "max_gap_ms"),
        (("accounting", "excluded_reasons"), 4, "a list"),
        (("accounting", "excluded_reasons"), ["free text"], "lower-case letters"),
        (("accounting", "forgiven_reasons"), [], "forgiven_reasons"),
        (("mood",), "good", "mood"),
    ],
    ids=lambda v: "/".join(v) if isinstance(v, tuple) else str(v)[:12],
)
def test_a_word_or_key_that_no_protocol_has_is_refused_with_its_place(
    edited: Any, path: tuple[str, ...], to: object, said: str
) -> None:
    with pytest.raises(SchemaError, match=said):
        load_protocol(edited("protocol.json", _set(*path, to=to)))


def test_a_population_outside_the_digest_is_refused(edited: Any) -> None:
    hidden = "populations/.billing-0.1.json"
    folder = edited("protocol.json", _set("populations", "files", "billing-0.1", to=hidden))
    (folder / "populations" / "billing-0.1.json").rename(folder / hidden)
    with pytest.raises(ProtocolError, match="a file of the protocol folder"):
        load_protocol(folder)


def test_a_rubric_folder_with_texts_is_accepted(edited: Any) -> None:
    folder = edited("protocol.json", _set("instruments", "judge", "rubric", to="texts"))
    (folder / "texts").mkdir()
    with pytest.raises(ProtocolError, match="/instruments/judge/rubric"):
        load_protocol(folder)
    (folder / "texts" / "goal.txt").write_text("Was it done?", encoding="utf-8")
    assert load_protocol(folder).instruments.rubric == "texts"


@pytest.mark.parametrize(
    ("name", "words"),
    [("conditions", Conditions), ("groups", Groups), ("identity", Identity)],
)
def test_the_words_of_a_view_are_those_of_its_type(name: str, words: Any) -> None:
    document = json.loads((schemas_folder() / "protocol.schema.json").read_bytes())
    assert document["$defs"][name]["enum"] == list(get_args(words))


def test_the_schema_names_the_media_limits_that_are_read() -> None:
    document = json.loads((schemas_folder() / "protocol.schema.json").read_bytes())
    media = document["properties"]["media"]
    read = {field.name for field in fields(MediaLimits)}
    assert media["properties"].keys() == set(media["required"]) == read | {"min_duration_ms"}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of the default protocol's folder, under a draft's name."""
    shipped = load_protocol(DEFAULT_PROTOCOL).folder
    return Path(shutil.copytree(shipped, tmp_path / "own"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.pop("output"), "cannot be read: 'output'"),
        (
            lambda row: row["hidden"][0].__setitem__(0, ""),
            "cannot be read: could not convert string to float",
        ),
        (lambda row: row["hidden"].pop(), "reads 50 features of a frame, not 51"),
        (lambda row: row["output"].pop(), "has shapes"),
    ],
    ids=["a key is gone", "a text among numbers", "a row is gone", "a weight is gone"],
)
def test_a_network_that_cannot_listen_is_refused_before_a_call_is_measured(
    change: Any, said: str, copied: Path
) -> None:
    file = copied / "foreground.json"
    row = json.loads(file.read_bytes())
    change(row)
    file.write_text(json.dumps(row))
    with pytest.raises(ProtocolError, match=rf"foreground\.json {said}"):
        load_protocol(copied)


def test_a_pipe_in_the_place_of_the_network_is_refused_and_not_waited_for(copied: Path) -> None:
    (copied / "foreground.json").unlink()
    os.mkfifo(copied / "foreground.json")
    with pytest.raises(ProtocolError, match="a pipe, a socket or a device"):
        load_protocol(copied)
