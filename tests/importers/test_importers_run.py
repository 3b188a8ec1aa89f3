"""Many exports at once: whole folders or none, one line a refusal, the same with any workers."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from exported import base_audio, refusal, run_import, write_json
from platform_exports import (
    GENERIC_MAPPING,
    livekit_report,
    retell_call,
    twilio_recording,
    vapi_call,
)

from inquesto_core.bundle import BundleRef, find_bundles, read_bundle
from inquesto_core.bundle.write import UNFINISHED
from inquesto_core.canonical import digest_bytes
from inquesto_core.errors import BundleError, StoreError
from inquesto_core.importers.run import _each as each_in_workers


def read(folder):
    return read_bundle(BundleRef(path=folder, label=folder.name))


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def vapi_folder(tmp_path, n=4, **change):
    """Write exports v-0 … of one recording."""
    folder = tmp_path / "in"
    recording = base_audio(folder / "v-0-stereo.wav")
    for k in range(n):
        write_json(folder / f"call-{k}.json", vapi_call(f"v-{k}", **change))
        if k:
            shutil.copy(recording, folder / f"v-{k}-stereo.wav")
    return folder


def test_one_bad_export_is_one_line_and_stops_no_other(tmp_path):
    folder = vapi_folder(tmp_path)
    (folder / "call-2.json").write_bytes(b'{"id": ')
    done = run_import("vapi", folder, tmp_path / "out")
    assert [path.name for path in done.folders] == ["v-0", "v-1", "v-3"]
    assert (done.n_written, done.n_refused) == (3, 1)
    (problem,) = [each for each in done.problems if each.level == "error"]
    assert (problem.file, problem.code) == ("call-2.json", "json_invalid")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["v-0", "v-1", "v-3"]


def test_one_bad_call_in_a_list_stops_no_other(tmp_path):
    folder = tmp_path / "in"
    base_audio(folder / "v-1-stereo.wav")
    broken = vapi_call("v-0")
    broken["artifact"]["messages"][1]["message"] = 7
    source = write_json(folder / "list.json", [broken, vapi_call("v-1"), "no call"])
    done = run_import("vapi", source, tmp_path / "out")
    assert [path.name for path in done.folders] == ["v-1"]
    assert [(p.pointer, p.found, p.expected) for p in done.problems] == [
        ("/0/artifact/messages/1/message", "is 7", "text"),
        ("/2", 'is "no call"', "an object"),
    ]


def test_a_line_that_cannot_be_read_is_refused_alone(tmp_path):
    folder = tmp_path / "in"
    base_audio(folder / "v-1-stereo.wav")
    source = folder / "calls.jsonl"
    source.write_text("{}}\n\n" + json.dumps(vapi_call("v-1")) + "\n")
    done = run_import("vapi", source, tmp_path / "out")
    assert [path.name for path in done.folders] == ["v-1"]
    assert [problem.pointer for problem in done.problems] == ["line 1 column 3"]


def test_any_number_of_workers_writes_the_same_bytes(tmp_path):
    folder = vapi_folder(tmp_path, 20)
    (folder / "call-3.json").write_bytes(b"[]")
    alone = run_import("vapi", folder, tmp_path / "alone")
    both = run_import("vapi", folder, tmp_path / "both", workers=2)
    assert contents(tmp_path / "alone") == contents(tmp_path / "both")
    assert (alone.problems, alone.inferred) == (both.problems, both.inferred)
    assert [p.name for p in alone.folders] == [p.name for p in both.folders]


def test_importing_again_changes_nothing_and_another_call_of_the_id_is_refused(tmp_path):
    folder = vapi_folder(tmp_path, 1)
    first = run_import("vapi", folder, tmp_path / "out")
    before = contents(tmp_path / "out")
    again = run_import("vapi", folder, tmp_path / "out")
    assert (first.n_written, again.n_written, again.n_there) == (1, 0, 1)
    write_json(folder / "call-0.json", vapi_call("v-0", endedReason="assistant-ended-call"))
    other = run_import("vapi", folder, tmp_path / "out")
    assert [(p.code, p.call_id, p.file) for p in other.problems] == [
        ("import_exists", "v-0", "call-0.json")
    ]
    assert contents(tmp_path / "out") == before


def test_patterns_lists_and_folders_name_the_same_exports_once(tmp_path):
    folder = vapi_folder(tmp_path, 3)
    done = run_import(
        "vapi", [folder / "call-*.json", folder, folder / "call-1.json"], tmp_path / "out"
    )
    assert (done.n_written, done.n_there, done.n_refused) == (3, 0, 0)


def test_a_source_without_exports_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    done = run_import("vapi", [tmp_path / "empty", tmp_path / "no-*.json"], tmp_path / "out")
    assert [problem.code for problem in done.problems] == ["export_missing", "export_missing"]


def test_an_export_without_a_call_is_one_line(tmp_path):
    problem = refusal("vapi", write_json(tmp_path / "v.json", []), tmp_path / "out")
    assert problem.code == "export_empty"


@pytest.mark.parametrize("call_id", ["../../x", "a/b", ".hidden", "ä" * 20], ids=str)
def test_a_call_id_never_becomes_a_path(tmp_path, call_id):
    recording = base_audio(tmp_path / "a.wav")
    source = write_json(tmp_path / "in" / "v.json", vapi_call(call_id))
    done = run_import("vapi", source, tmp_path / "out", recordings=recording)
    (folder,) = done.folders
    assert folder.parent == tmp_path / "out"
    assert folder.name.startswith("call-")
    assert read(folder).call.call_id == call_id


@pytest.mark.parametrize(
    "named",
    ["../secret.wav", "/etc/secret.wav", "..\\secret.wav", "file:///x/../secret.wav", ".."],
    ids=["above", "absolute", "backslash", "file_address", "folder"],
)
def test_a_path_in_an_export_leads_nowhere_but_beside_it(tmp_path, named):
    base_audio(tmp_path / "secret.wav")
    call = vapi_call()
    call["artifact"]["recording"] = {"stereoUrl": named}
    source = write_json(tmp_path / "in" / "v.json", call)
    problem = refusal("vapi", source, tmp_path / "out")
    assert problem.code == "recording_missing"
    assert "--recordings" in problem.remedy and "nothing is downloaded" in problem.remedy


def test_a_link_beside_an_export_is_not_followed(tmp_path):
    base_audio(tmp_path / "secret.wav")
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    (tmp_path / "in" / "v-1-stereo.wav").symlink_to(tmp_path / "secret.wav")
    assert refusal("vapi", source, tmp_path / "out").code == "recording_missing"


def test_two_recordings_of_a_name_are_not_chosen_between(tmp_path):
    call = vapi_call()
    call["artifact"]["recording"] = {}
    source = write_json(tmp_path / "in" / "v.json", call)
    base_audio(tmp_path / "in" / "v-1.wav")
    base_audio(tmp_path / "in" / "v-1.flac")
    problem = refusal("vapi", source, tmp_path / "out")
    assert problem.code == "recording_ambiguous"
    assert "v-1.wav, v-1.flac" in problem.found


def test_a_recording_that_cannot_be_decoded_is_refused_by_name(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    (tmp_path / "in" / "v-1-stereo.wav").write_bytes(b"ID3 no sound")
    problem = refusal("vapi", source, tmp_path / "out")
    assert (problem.code, problem.file) == ("audio_unreadable", "v-1-stereo.wav")


def test_without_audio_a_call_is_imported_without_timing(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    done = run_import("vapi", source, tmp_path / "out", no_audio=True)
    assert read(done.folders[0]).call.audio == ()


def test_an_agent_that_is_not_named_must_be(tmp_path):
    source = write_json(tmp_path / "in" / "session_report.json", livekit_report())
    base_audio(tmp_path / "in" / "audio.ogg", codec="OPUS")
    problem = refusal("livekit", source, tmp_path / "out")
    assert problem.code == "agent_unstated"
    assert "--agent" in problem.remedy


@pytest.mark.parametrize(
    ("platform", "said", "code"),
    [
        ("nobody", {}, "platform_unknown"),
        ("vapi", {"recorder": "x"}, "option_unused"),
        ("generic", {}, "option_unused"),
        ("vapi", {"mapping": True}, "option_unused"),
    ],
    ids=["platform", "recorder", "no_mapping", "mapping"],
)
def test_an_option_that_a_platform_does_not_know_is_refused(tmp_path, platform, said, code):
    if said.get("mapping"):
        said = {"mapping": write_json(tmp_path / "m.json", GENERIC_MAPPING)}
    with pytest.raises(BundleError, match=code):
        run_import(platform, tmp_path, tmp_path / "out", **said)


def test_an_unknown_role_is_refused_until_it_is_said_to_be_no_speech(tmp_path):
    call = vapi_call()
    call["artifact"]["messages"].insert(2, {"role": "supervisor", "message": "psst"})
    source = write_json(tmp_path / "in" / "v.json", call)
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    problem = refusal("vapi", source, tmp_path / "out")
    assert (problem.code, problem.pointer) == ("role_unstated", "/artifact/messages/2")
    assert "--skip-role supervisor" in problem.remedy
    done = run_import("vapi", source, tmp_path / "out", skip_roles=("supervisor",))
    assert len(read(done.folders[0]).transcript.turns) == 4


def test_an_output_that_cannot_be_written_is_one_error(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StoreError, match="import_unwritable"):
        run_import("vapi", tmp_path, tmp_path / "out")


def test_nothing_is_left_behind_by_an_import(tmp_path):
    folder = vapi_folder(tmp_path, 2)
    (folder / "v-1-stereo.wav").unlink()
    run_import("vapi", folder, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["v-0"]


def test_one_recording_is_not_taken_for_two_calls(tmp_path):
    folder = tmp_path / "in"
    recording = base_audio(tmp_path / "one.wav")
    for k in range(2):
        write_json(folder / f"call-{k}.json", vapi_call(f"v-{k}"))
    done = run_import("vapi", folder, tmp_path / "out", recordings=recording)
    assert [path.name for path in done.folders] == ["v-0"]
    (problem,) = done.problems
    assert (problem.code, problem.call_id) == ("recording_ambiguous", "v-1")
    assert "call v-0 has too" in problem.found


def test_what_a_killed_import_left_is_no_bundle_and_goes_with_the_next(tmp_path):
    folder = vapi_folder(tmp_path, 1)
    out = tmp_path / "out"
    run_import("vapi", folder, out)
    nobody = digest_bytes(os.uname().nodename.encode())[:8]
    left = out / f"{UNFINISHED}{nobody}-4194305-x" / "tmp1"  # above any process number
    shutil.copytree(out / "v-0", left)
    found = find_bundles([out], scratch=tmp_path)
    assert [ref.path.name for ref in found.refs] == ["v-0"]
    assert found.problems == ()
    run_import("vapi", folder, out)
    assert [path.name for path in out.iterdir()] == ["v-0"]


def test_an_import_of_another_machine_is_left_alone(tmp_path):
    folder = vapi_folder(tmp_path, 1)
    other = tmp_path / "out" / f"{UNFINISHED}elsewhere-1-x"
    other.mkdir(parents=True)
    run_import("vapi", folder, tmp_path / "out")
    assert other.is_dir()


def test_bundles_beside_exports_are_no_exports(tmp_path):
    folder = vapi_folder(tmp_path, 1)
    for _ in range(2):
        done = run_import("vapi", folder, folder / "out")
        assert done.n_refused == 0


@pytest.mark.parametrize(
    ("platform", "wrapped"),
    [
        ("vapi", lambda: {"message": {"type": "end-of-call-report", **report()}}),
        ("vapi", lambda: {"results": [vapi_call()]}),
        ("retell", lambda: {"event": "call_ended", "call": retell_call()}),
        ("retell", lambda: [retell_call()]),
        ("twilio", lambda: {"recordings": [twilio_recording()]}),
    ],
    ids=["vapi_report", "vapi_list", "retell_webhook", "retell_list", "twilio_list"],
)
def test_an_export_is_read_in_the_form_in_which_it_came(tmp_path, platform, wrapped):
    recording = base_audio(tmp_path / "a.wav")
    source = write_json(tmp_path / "in" / "export.json", wrapped())
    said = {"recordings": recording, "caller_channel": 0, "agent": "x"}
    done = run_import(platform, source, tmp_path / "out", **said)
    assert [str(problem) for problem in done.problems] == []
    assert done.n_written == 1


def report():
    """An end-of-call report: the call's own fields, and what became of it around them."""
    call = vapi_call()
    around = {name: call.pop(name) for name in ("artifact", "endedReason", "startedAt", "endedAt")}
    return {**around, "call": call}


def test_a_worker_that_dies_is_one_error_and_no_traceback():
    with pytest.raises(StoreError, match="workers_failed"):
        list(each_in_workers(os._exit, [1] * 20, 2))
