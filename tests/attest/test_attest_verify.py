"""`seal` and `verify`: numbered checks, several signers, and what each kind of run says."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
from click.testing import CliRunner

from inquesto_core import engine
from inquesto_core.attest import make_keys, read_envelope, read_statement
from inquesto_core.cli.keygen import command as keygen
from inquesto_core.cli.seal import command as seal
from inquesto_core.cli.verify import command as verify
from inquesto_core.engine import partitions
from inquesto_core.engine.attest import SEAL_FILE
from inquesto_core.engine.attest_files import check_models
from inquesto_core.errors import StoreError, VerificationError
from inquesto_core.protocol import load_protocol

pytest.importorskip("cryptography", reason="the extra `sign` is not installed")

NAMES = [
    "envelope",
    "signatures",
    "statement",
    "files",
    "records",
    "protocol",
    "models",
    "re-derivation",
    "bundles",
    "evidence",
    "events",
]


def outcomes(done):
    return {check.name: check.outcome for check in done.checks}


def faults(done):
    return [line for check in done.checks for line in check.faults]


def redigest(run, *names):
    """Let the manifest tell the digests that files have now, as whoever changed them would."""
    from inquesto_core.canonical import digest_bytes, pretty_bytes

    manifest = json.loads((run / "manifest.json").read_bytes())
    for row in manifest["outputs"]:
        if row["file"] in names:
            row["sha256"] = digest_bytes((run / row["file"]).read_bytes())
    (run / "manifest.json").write_bytes(pretty_bytes(manifest))


def test_a_sealed_run_holds_and_what_was_not_checked_says_why(sealed):
    done = engine.verify(sealed.run, keys=[sealed.pub])
    assert [check.name for check in done.checks] == NAMES
    assert done.holds
    assert [name for name, each in outcomes(done).items() if each == "not_checked"] == NAMES[-3:]
    assert all("--deep" in check.says for check in done.checks[-3:])


def test_deep_measures_the_bundles_again_and_names_the_processor(sealed):
    done = engine.verify(sealed.run, keys=[sealed.pub], deep=True, sources=[sealed.calls])
    assert set(outcomes(done).values()) == {"passed"}, faults(done)
    manifest = json.loads((sealed.run / "manifest.json").read_bytes())
    assert manifest["platform"]["cpu"] in done.checks[9].says


def test_a_zip_of_the_bundles_serves_as_well_and_a_missing_bundle_is_a_gap(sealed, tmp_path):
    shutil.rmtree(sealed.calls / "hasty-023-escalate_refund-clean")
    archive = shutil.make_archive(str(tmp_path / "sent"), "zip", sealed.calls)
    done = engine.verify(sealed.run, keys=[sealed.pub], deep=True, sources=[archive])
    assert done.holds, faults(done)
    assert outcomes(done)["evidence"] == "passed"
    assert done.checks[8].gaps == (
        "hasty-023-escalate_refund-clean: no bundle of it in the sources",
    )


def test_without_a_key_nothing_is_said_of_who_signed(sealed):
    done = engine.verify(sealed.run)
    assert done.holds
    assert outcomes(done)["signatures"] == "not_checked"


def test_a_run_that_is_not_sealed_is_held_to_its_manifest(sealed):
    (sealed.run / SEAL_FILE).unlink()
    done = engine.verify(sealed.run)
    assert done.holds
    assert outcomes(done)["files"] == "passed"
    assert not engine.verify(sealed.run, keys=[sealed.pub]).holds


def test_a_record_that_was_rewritten_with_its_manifest_is_not_what_the_evidence_gives(sealed):
    (sealed.run / SEAL_FILE).unlink()
    path = min(sealed.run.glob("records/*.json"))
    record = json.loads(path.read_bytes())
    record["passed"] = record["passed"] + 1
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    redigest(sealed.run, f"records/{path.name}")
    assert faults(engine.verify(sealed.run)) == [
        f"records/{path.name}: differs from what the evidence gives at /passed"
    ]


@pytest.mark.parametrize("instead", [None, "folder"])
def test_a_record_that_is_gone_is_named_and_nothing_is_compared_with_it(sealed, instead):
    for path in sealed.run.glob("records/*.json"):
        path.unlink()
        if instead == "folder":
            path.mkdir()
    done = engine.verify(sealed.run, keys=[sealed.pub])
    assert not done.holds
    assert outcomes(done)["re-derivation"] == "not_checked"
    assert any(fault.startswith("records/") for fault in faults(done))


@pytest.mark.parametrize("file", ["calls.parquet", "events.parquet", "evidence/turns.parquet"])
def test_a_derived_table_that_was_rewritten_is_found_and_its_call_named(sealed, file):
    (sealed.run / SEAL_FILE).unlink()
    table = pl.read_parquet(sealed.run / file)
    column = next(name for name in table.columns[::-1] if table[name].dtype == pl.Int64)
    is_first = pl.int_range(pl.len()) == 0
    changed = pl.when(is_first).then(pl.col(column).fill_null(0) + 1).otherwise(column)
    table.with_columns(changed.alias(column)).write_parquet(sealed.run / file)
    redigest(sealed.run, file)
    (line,) = faults(engine.verify(sealed.run))
    assert line.startswith(f"{file}: differs from what the evidence gives in 1 call (")
    assert table["call_id"][0] in line


def test_evidence_that_was_rewritten_is_found_by_measuring_again(sealed):
    (sealed.run / SEAL_FILE).unlink()
    file = sealed.run / "evidence" / "segments.parquet"
    table = pl.read_parquet(file)
    call_id = table["call_id"][0]
    table.with_columns(
        end_ms=pl.when(pl.int_range(pl.len()) == 0).then(pl.col("end_ms") + 2).otherwise("end_ms")
    ).write_parquet(file)
    redigest(sealed.run, "evidence/segments.parquet")
    done = engine.verify(sealed.run, deep=True, sources=[sealed.calls])
    assert f"{call_id}: segments differs in end_ms" in faults(done)


def test_what_does_not_hold_is_not_signed(scored, sealed, tmp_path):
    path = min(sealed.run.glob("records/*.json"))
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(VerificationError, match=rf"{path.name}.*seal_refused"):
        engine.seal(sealed.run, key=sealed.key)


def test_several_sign_the_same_statement(sealed, tmp_path):
    second, second_pub = make_keys(tmp_path / "second.key")
    _, third_pub = make_keys(tmp_path / "third.key")
    before = read_envelope((sealed.run / SEAL_FILE).read_bytes())
    assert engine.seal(sealed.run, key=second).signatures == 2
    assert engine.seal(sealed.run, key=sealed.key).signatures == 2, "signing twice counts once"
    after = read_envelope((sealed.run / SEAL_FILE).read_bytes())
    assert after.payload == before.payload
    assert engine.verify(sealed.run, keys=[sealed.pub, second_pub]).holds
    three = [sealed.pub, second_pub, third_pub]
    assert engine.verify(sealed.run, keys=three, threshold=2).holds
    done = engine.verify(sealed.run, keys=three)
    assert faults(done) == [
        "seal.dsse.json: signed by 2 of the keys given, and 3 must have signed; "
        "not by third.key.pub"
    ]
    with pytest.raises(VerificationError, match="threshold_unreachable"):
        engine.verify(sealed.run, keys=three, threshold=4)


def test_one_key_given_twice_is_one_signer(sealed):
    with pytest.raises(VerificationError, match="threshold_unreachable"):
        engine.verify(sealed.run, keys=[sealed.pub, sealed.pub], threshold=2)


def test_a_run_that_is_scored_anew_is_not_signed_over_the_old_seal(sealed, tmp_path):
    shutil.copytree(sealed.calls, tmp_path / "other" / "calls")
    shutil.rmtree(tmp_path / "other" / "calls" / "hasty-023-escalate_refund-clean")
    other = tmp_path / "other" / "run"
    engine.score([tmp_path / "other" / "calls"], out=other)
    shutil.copy(sealed.run / SEAL_FILE, other)
    with pytest.raises(VerificationError, match="seal_differs"):
        engine.seal(other, key=sealed.key)


def test_a_run_of_partitions_is_sealed_and_derived_again(three_calls, tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "CALLS_A_PART", 1)
    run, (key, pub) = tmp_path / "run", make_keys(tmp_path / "a.key")
    engine.score([three_calls], out=run)
    assert (run / "parts").is_dir()
    engine.seal(run, key=key)
    done = engine.verify(run, keys=[pub], deep=True, sources=[three_calls])
    assert set(outcomes(done).values()) == {"passed"}, faults(done)
    statement = read_statement(read_envelope((run / SEAL_FILE).read_bytes()).payload)
    file = next(name for name in statement.under("run") if name.endswith("/calls.parquet"))
    data = bytearray((run / file).read_bytes())
    data[len(data) // 2] ^= 1
    (run / file).write_bytes(data)
    assert faults(engine.verify(run, keys=[pub])) == [f"{file}: is not the file that was sealed"]


def test_the_rubric_and_every_file_of_the_protocol_are_subjects(sealed):
    statement = read_statement(read_envelope((sealed.run / SEAL_FILE).read_bytes()).payload)
    told = statement.under("protocol")
    assert "inquesto-0.1/protocol.json" in told
    assert any(name.startswith("inquesto-0.1/rubric/") for name in told)
    assert statement.under("model")
    assert len(statement.records) == 2


def test_a_run_of_very_many_files_is_bound_by_their_table(scored, monkeypatch):
    from inquesto_core.attest import statement_bytes
    from inquesto_core.engine import attest
    from inquesto_core.engine.stored import open_run

    stored, law = open_run(scored), load_protocol("inquesto-0.1")
    files = stored.inputs.height
    monkeypatch.setattr(attest, "LISTED_FILES", files)
    listed = attest.statement_of_run(stored, law)
    assert len(listed.under("bundle")) == listed.about["inputs"]["files"] == files
    monkeypatch.setattr(attest, "LISTED_FILES", files - 1)
    short = attest.statement_of_run(stored, law)
    assert short.under("bundle") == {}
    assert not short.about["inputs"]["listed"]
    assert short.under("run")["inputs.parquet"]
    assert len(statement_bytes(short)) < len(statement_bytes(listed))


def test_a_model_that_no_protocol_pins_is_checked_where_it_is_shown(tmp_path):
    law = load_protocol("inquesto-0.1")
    model = tmp_path / "own.gguf"
    model.write_bytes(b"weights")
    from inquesto_core.canonical import digest_bytes

    told = {"own.gguf": digest_bytes(b"weights")}
    assert check_models(told, law, []).outcome == "not_checked"
    assert check_models(told, law, [model]).outcome == "passed"
    model.write_bytes(b"weightS")
    assert check_models(told, law, [model]).faults == (
        "model/own.gguf: own.gguf is not the file that was used",
    )


def test_the_commands_say_it_in_numbered_lines(scored, three_calls, tmp_path):
    run, key = tmp_path / "run", tmp_path / "k"
    shutil.copytree(scored, run)
    runner = CliRunner()
    made = runner.invoke(keygen, ["--out", str(key)])
    assert made.exit_code == 0, made.output
    done = runner.invoke(seal, [str(run), "--key", str(key)])
    assert done.exit_code == 0, done.output
    told = runner.invoke(verify, [str(run), "--pub", f"{key}.pub"], standalone_mode=False)
    assert told.return_value == 0
    lines = told.output.splitlines()
    assert lines[0].startswith(" 1  envelope       passed")
    assert lines[-1] == "8 checks passed, 0 failed, 3 not checked"
    (run / "calls.parquet").write_bytes(b"")
    told = runner.invoke(verify, [str(run), "--pub", f"{key}.pub"], standalone_mode=False)
    assert told.return_value == 1
    assert "failed: calls.parquet: is not the file that was sealed" in told.output


@pytest.mark.parametrize(
    "arguments",
    [["--deep"], ["--source", "x"], ["--threshold", "1"], ["--threshold", "0", "--pub", "x"]],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_a_usage_error(scored, arguments):
    assert CliRunner().invoke(verify, [str(scored), *arguments]).exit_code == 2


def test_a_folder_that_is_no_run_is_said_to_be_none(tmp_path):
    with pytest.raises(StoreError, match="not_a_run"):
        engine.verify(tmp_path)
