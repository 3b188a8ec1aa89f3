"""A folder becomes a call, or says why not."""

from __future__ import annotations

import hashlib
import os
import pickle

import pytest

from inquesto_core.bundle import (
    BundleRef,
    ChannelOffsets,
    Ended,
    IgnoredIntervals,
    files,
    read_bundle,
)
from inquesto_core.errors import BundleError, SchemaError


def codes(bundle, level="error"):
    return [problem.code for problem in bundle.problems if problem.level == level]


def test_the_smallest_bundle_has_sane_defaults(write_bundle):
    bundle = read_bundle(write_bundle())
    call = bundle.call
    assert call.call_id == "0412"
    assert call.agent.name == "Billing agent"
    assert (call.population, call.scenario_id, call.trial, call.ended_at) == (None,) * 4
    assert call.ended == Ended(by="unknown", reason=None)
    assert call.channel_offset_ms == ChannelOffsets(caller=0, agent=0)
    assert call.ignore_ms == IgnoredIntervals(caller=(), agent=())
    assert (call.scored_window_ms, call.exclusion, call.trace_offset_ms) == (None, None, 0)
    assert (call.audio[0].caller, call.audio[0].agent, call.audio[0].start_ms) == (0, 1, 0)
    assert (bundle.trace, bundle.transcript, bundle.state, bundle.verdicts) == (None,) * 4
    assert bundle.problems == ()
    assert bundle.root.name == "0412"


def test_every_field_of_call_json_reaches_the_call(write_bundle):
    call = read_bundle(
        write_bundle(
            change={
                "population": "p",
                "scenario_id": "s",
                "condition": "clean",
                "group": "g",
                "trial": 2,
                "agent": {"name": "a", "fingerprint": "sha256:1", "config": {"llm": "x"}},
                "platform": "vapi",
                "direction": "inbound",
                "started_at": "2026-01-31T09:30:00.5+01:00",
                "ended_at": "2026-01-31",
                "ended": {"by": "caller", "reason": "hang-up"},
                "channel_offset_ms": {"caller": -500},
                "trace_offset_ms": -1500,
                "scored_window_ms": [0, 11000],
                "ignore_ms": {"caller": [[6500, 8500]], "agent": []},
                "exclusion": {"reason": "lost_session"},
                "inferred": [{"field": "audio", "value": {"caller": 0}, "how": "recorder"}],
                "tags": {"batch": "7"},
            }
        )
    ).call
    assert (call.trial, call.direction, call.group) == (2, "inbound", "g")
    assert call.agent.config == {"llm": "x"}
    assert call.ended == Ended(by="caller", reason="hang-up")
    assert call.channel_offset_ms == ChannelOffsets(caller=-500, agent=0)
    assert call.ignore_ms.caller == ((6500, 8500),)
    assert call.scored_window_ms == (0, 11000)
    assert call.exclusion.reason == "lost_session"
    assert call.exclusion.detail is None
    assert call.inferred[0].how == "recorder"
    assert call.tags == {"batch": "7"}


def test_a_bundle_crosses_a_process_border(write_bundle):
    bundle = read_bundle(write_bundle(trace={"calls": []}))
    assert pickle.loads(pickle.dumps(bundle)) == bundle


def test_the_direction_of_a_call_moves_no_channel(write_bundle):
    swapped = [{"file": "audio.flac", "channels": {"caller": 1, "agent": 0}}]
    for direction in ("inbound", "outbound"):
        bundle = read_bundle(write_bundle(change={"direction": direction, "audio": swapped}))
        assert (bundle.call.audio[0].caller, bundle.call.audio[0].agent) == (1, 0)


def test_a_missing_call_json_names_the_label(tmp_path):
    ref = BundleRef(path=tmp_path, label="archive.zip/0412")
    with pytest.raises(
        BundleError, match=r"call archive\.zip/0412: call\.json .*call_json_missing"
    ):
        read_bundle(ref)


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"{", "json_invalid"), (b'{"a": NaN}', "json_invalid"), (b"[]", "schema"), (b"{}", "schema")],
)
def test_an_invalid_call_json_is_raised_with_the_label(write_bundle, content, code):
    with pytest.raises(SchemaError, match=r"call 0412: call\.json") as caught:
        read_bundle(write_bundle(call=content))
    assert caught.value.problem.code == code


@pytest.mark.parametrize("pair", [[0, 0], [5, 4]], ids=["empty", "reversed"])
@pytest.mark.parametrize("name", ["scored_window_ms", "ignore_ms"])
def test_an_interval_that_holds_nothing_is_refused(write_bundle, name, pair):
    value = pair if name == "scored_window_ms" else {"agent": [[0, 1], pair]}
    with pytest.raises(SchemaError, match=f"/{name}.* from before to"):
        read_bundle(write_bundle(change={name: value}))


def test_a_date_that_is_not_of_the_calendar_is_refused(write_bundle):
    read_bundle(write_bundle(change={"ended_at": "2028-02-29T00:00:00Z"}))
    with pytest.raises(SchemaError, match=r"/ended_at .*2026-02-29.*calendar"):
        read_bundle(write_bundle(change={"ended_at": "2026-02-29T00:00:00Z"}))


@pytest.mark.parametrize("name", ["/etc/passwd", "../../secret.wav", "a/../../b", "..\\x", "C:\\x"])
def test_audio_outside_the_bundle_is_refused(write_bundle, name):
    ref = write_bundle(change={"audio": [{"file": name}]})
    with pytest.raises(BundleError, match=r"call 0412: .*/audio/0/file .*path_outside_bundle"):
        read_bundle(ref)


@pytest.mark.parametrize("name", ["./audio.flac", "", "a\0b", ".x"], ids=ascii)
def test_an_audio_name_that_is_merely_wrong_is_a_schema_error(write_bundle, name):
    with pytest.raises(SchemaError, match=r"/audio/0/file"):
        read_bundle(write_bundle(change={"audio": [{"file": name}]}))


@pytest.mark.parametrize("part", ["trace", "transcript", "state", "verdicts"])
@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"[]", b"{}", b'{"t": NaN}', b'{"calls":[],"calls":[]}', b"[" * 9999],
    ids=["empty", "no utf-8", "list", "no keys", "nan", "key twice", "deep"],
)
def test_an_unreadable_part_is_left_out_and_named(write_bundle, part, content):
    bundle = read_bundle(write_bundle(**{part: content}))
    assert getattr(bundle, part) is None
    assert codes(bundle) == [f"{part}_unparseable"]
    problem = bundle.problems[0]
    assert (problem.call_id, problem.file, problem.level) == ("0412", f"{part}.json", "error")
    assert (f"{part}.json", hashlib.sha256(content).hexdigest()) in bundle.digests


def test_one_unreadable_part_leaves_the_others_alone(write_bundle):
    bundle = read_bundle(write_bundle(trace=b"{", transcript={"turns": []}))
    assert bundle.trace is None
    assert bundle.transcript.turns == ()


def test_a_part_of_the_wrong_shape_says_where(write_bundle):
    bundle = read_bundle(write_bundle(trace={"calls": [{"name": "a", "start_ms": -20}]}))
    assert bundle.problems[0].pointer == "/calls/0/start_ms"
    assert "is -20" in str(bundle.problems[0])


def test_a_part_that_is_a_link_a_folder_or_a_pipe_is_not_read(write_bundle, tmp_path):
    ref = write_bundle()
    (tmp_path / "elsewhere.json").write_text('{"calls": []}')
    (ref.path / "trace.json").symlink_to(tmp_path / "elsewhere.json")
    (ref.path / "state.json").mkdir()
    os.mkfifo(ref.path / "transcript.json")
    (ref.path / "verdicts.json").symlink_to("nowhere")
    bundle = read_bundle(ref)
    assert sorted(codes(bundle)) == [
        "state_unparseable",
        "trace_unparseable",
        "transcript_unparseable",
        "verdicts_unparseable",
    ]
    assert bundle.trace is None


def test_a_call_json_that_is_a_link_is_no_call(write_bundle, tmp_path):
    ref = write_bundle()
    (ref.path / "call.json").rename(tmp_path / "call.json")
    (ref.path / "call.json").symlink_to(tmp_path / "call.json")
    with pytest.raises(BundleError, match=r"symbolic link.*call_json_missing"):
        read_bundle(ref)


def test_a_json_part_is_read_up_to_its_limit(write_bundle, monkeypatch):
    content = b'{"calls": []}'
    ref = write_bundle(trace=content)
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 4096)
    (ref.path / "trace.json").write_bytes(content.ljust(4096))
    assert read_bundle(ref).trace is not None
    (ref.path / "trace.json").write_bytes(content.ljust(4097))
    assert codes(read_bundle(ref)) == ["trace_unparseable"]


def test_files_that_the_contract_does_not_name_are_ignored(write_bundle):
    ref = write_bundle()
    (ref.path / "notes.json").write_bytes(b"{{{")
    (ref.path / "raw").mkdir()
    bundle = read_bundle(ref)
    assert bundle.problems == ()
    assert [name for name, _ in bundle.digests] == ["audio.flac", "call.json"]


def test_digests_are_those_of_the_bytes_on_disk_in_order_of_names(write_bundle):
    ref = write_bundle(trace={"calls": []}, verdicts={"model": "m", "answers": {}})
    assert read_bundle(ref).digests == tuple(
        (name, hashlib.sha256((ref.path / name).read_bytes()).hexdigest())
        for name in ("audio.flac", "call.json", "trace.json", "verdicts.json")
    )


def test_the_digest_that_was_promised_must_hold(write_bundle):
    right = hashlib.sha256(b"sound").hexdigest()
    for digest, expected in ((right, []), ("0" * 64, ["audio_digest_mismatch"])):
        audio = [{"file": "audio.flac", "sha256": digest, "channels": {"caller": 0, "agent": 1}}]
        assert codes(read_bundle(write_bundle(change={"audio": audio}, audio=b"sound"))) == expected


def test_missing_audio_is_named(write_bundle):
    bundle = read_bundle(write_bundle(audio=None))
    assert codes(bundle) == ["audio_missing"]
    assert "audio.flac cannot be opened: No such file" in str(bundle.problems[0])


def test_audio_that_is_no_regular_file_is_missing(write_bundle):
    ref = write_bundle(audio=None)
    (ref.path / "audio.flac").mkdir()
    assert codes(read_bundle(ref)) == ["audio_missing"]
    (ref.path / "audio.flac").rmdir()
    os.mkfifo(ref.path / "audio.flac")
    assert codes(read_bundle(ref)) == ["audio_missing"]


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_anywhere_on_the_way_to_the_audio_is_refused(write_bundle, tmp_path, linked):
    audio = [{"file": "sound/audio.flac", "channels": {"caller": 0, "agent": 1}}]
    ref = write_bundle(change={"audio": audio}, audio=None)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "audio.flac").write_bytes(b"x")
    if linked == "folder":
        (ref.path / "sound").symlink_to(outside)
    else:
        (ref.path / "sound").mkdir()
        (ref.path / "sound" / "audio.flac").symlink_to(outside / "audio.flac")
    bundle = read_bundle(ref)
    assert codes(bundle) == ["link_refused"]
    assert [name for name, _ in bundle.digests] == ["call.json"]


def test_the_bundle_folder_itself_may_be_reached_over_a_link(write_bundle, tmp_path):
    ref = write_bundle()
    (tmp_path / "link").symlink_to(ref.path)
    assert read_bundle(BundleRef(path=tmp_path / "link", label="link")).problems == ()


def two(caller, agent):
    return [{"file": "audio.flac", "channels": caller}, {"file": "agent.flac", "channels": agent}]


@pytest.mark.parametrize(
    ("audio", "expected"),
    [
        (two({"caller": 0}, {"agent": 0}), []),
        (two({"caller": 0, "agent": None}, {"agent": 1}), []),
        (two({"caller": 0, "agent": 1}, None), []),
        (two({"caller": 0}, None), ["unknown_channel_map"]),
        (two(None, None), ["unknown_channel_map"] * 2),
        (two({"caller": 0}, {"caller": 0}), ["unknown_channel_map"] * 2),
        (two({"caller": 0, "agent": 1}, {"agent": 0}), ["unknown_channel_map"]),
        ([{"file": "audio.flac"}], ["unknown_channel_map"] * 2),
        ([{"file": "audio.flac", "channels": {"caller": 0, "agent": 0}}], ["mono_input"]),
    ],
    ids=[
        "two files",
        "null side",
        "a third voice unmapped",
        "agent nowhere",
        "no map",
        "two callers",
        "two agents",
        "stereo without map",
        "both on one channel",
    ],
)
def test_each_side_is_on_exactly_one_channel(write_bundle, audio, expected):
    ref = write_bundle(change={"audio": audio, "platform": "livekit"})
    (ref.path / "agent.flac").write_bytes(b"x")
    assert codes(read_bundle(ref)) == expected


def test_a_call_without_any_recording_is_said_so(write_bundle):
    bundle = read_bundle(write_bundle(change={"audio": []}, audio=None))
    assert codes(bundle) == []
    assert codes(bundle, "warning") == ["no_audio"]


def turn(start_ms, end_ms, **more):
    return {"speaker": "agent", "text": "hello", "start_ms": start_ms, "end_ms": end_ms, **more}


def test_times_that_are_all_zero_are_unknown(write_bundle):
    words = [{"word": "hello", "start_ms": 0, "end_ms": 0}]
    turns = read_bundle(
        write_bundle(transcript={"turns": [turn(0, 0, words=words), turn(0, 0)]})
    ).transcript.turns
    assert [(each.start_ms, each.end_ms) for each in turns] == [(None, None)] * 2
    assert (turns[0].words[0].start_ms, turns[0].words[0].end_ms) == (None, None)


def test_one_time_that_is_not_zero_makes_all_known(write_bundle):
    transcript = {"turns": [turn(0, 0), turn(0, 1)]}
    turns = read_bundle(write_bundle(transcript=transcript)).transcript.turns
    assert [(each.start_ms, each.end_ms) for each in turns] == [(0, 0), (0, 1)]


def test_word_times_that_are_all_zero_are_unknown_beside_known_turns(write_bundle):
    words = [{"word": "hello", "start_ms": 0, "end_ms": 0}]
    transcript = {"turns": [turn(100, 900, words=words)]}
    (only,) = read_bundle(write_bundle(transcript=transcript)).transcript.turns
    assert (only.start_ms, only.end_ms) == (100, 900)
    assert only.words[0].start_ms is None


def test_a_turn_that_ends_before_it_starts_has_no_times(write_bundle):
    bundle = read_bundle(write_bundle(transcript={"turns": [turn(900, 100), turn(5, 5)]}))
    assert [each.start_ms for each in bundle.transcript.turns] == [None, 5]
    assert codes(bundle) == []
    assert codes(bundle, "warning") == ["transcript_time_reversed"]


def test_heard_text_that_is_empty_is_not_absent(write_bundle):
    transcript = {"source": "x", "turns": [turn(1, 2, heard_text=""), turn(3, 4)]}
    bundle = read_bundle(write_bundle(transcript=transcript))
    assert [each.heard_text for each in bundle.transcript.turns] == ["", None]
    assert bundle.transcript.source == "x"


def test_answers_are_sorted_and_null_stays_undetermined(write_bundle):
    answers = {"b": {"verdict": None}, "a": {"verdict": False, "reason": "no", "turn": 3}}
    verdicts = read_bundle(write_bundle(verdicts={"model": "m", "answers": answers})).verdicts
    assert [(each.question, each.verdict, each.turn) for each in verdicts.answers] == [
        ("a", False, 3),
        ("b", None, None),
    ]
    assert (verdicts.model, verdicts.model_sha256) == ("m", None)


def test_the_state_is_kept_as_it_is(write_bundle):
    state = read_bundle(write_bundle(state={"before": {"a": 1}, "after": None})).state
    assert (state.before, state.after, state.expected) == ({"a": 1}, None, None)


def test_every_sample_bundle_is_read_without_a_problem(project):
    folders = sorted((project / "sample_records").glob("*/*/call.json"))
    if not folders:
        pytest.skip("sample_records/ holds no bundle yet")
    for file in folders:
        assert read_bundle(BundleRef(path=file.parent, label=file.parent.name)).problems == ()
