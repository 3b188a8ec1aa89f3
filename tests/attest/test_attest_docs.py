"""The pages on auditing and the air gap do what they show."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys

import pytest


def python_blocks(project):
    text = (project / "docs" / "auditing.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(arguments, at):
    return subprocess.run(arguments, cwd=at, capture_output=True, text=True, check=False)


def test_openssl_verifies_what_the_page_takes_apart(project, sealed, tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    script = tmp_path / "split.py"
    script.write_text(python_blocks(project)[0])
    done = run([sys.executable, script, sealed.run / "seal.dsse.json"], tmp_path)
    assert done.returncode == 0, done.stderr
    shutil.copy(sealed.pub, tmp_path / "auditor.key.pub")
    text = (project / "docs" / "auditing.md").read_text(encoding="utf-8")
    command = re.search(r"^openssl (.*)$", text, re.MULTILINE)[1].split()
    done = run([openssl, *command], tmp_path)
    assert "Signature Verified Successfully" in done.stdout


def test_the_pages_script_accepts_a_seal_and_no_other(project, sealed, tmp_path):
    script = tmp_path / "check.py"
    script.write_text(python_blocks(project)[1])
    done = run([sys.executable, script, sealed.run, sealed.pub], tmp_path)
    assert done.returncode == 0, done.stderr
    (sealed.run / "calls.parquet").write_bytes(b"")
    done = run([sys.executable, script, sealed.run, sealed.pub], tmp_path)
    assert "AssertionError: calls.parquet" in done.stderr


def air_gap(project):
    spec = importlib.util.spec_from_file_location("air_gap", project / "docs" / "air_gap.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["air_gap"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_on_the_air_gap_is_made_of_commands_that_can_be_run(project):
    module = air_gap(project)
    found = module.blocks(module.PAGE.read_text(encoding="utf-8"))
    commands = [command for block in found for command in block.commands]
    assert [block.where for block in found] == ["connected"] * 2 + ["isolated"] * 6
    told = " ".join(commands)
    for word in ("wheelhouse", "--no-index", "--require-hashes", "score", "report", "verify"):
        assert word in told
    for name in re.findall(r"bin/[a-z.]+", " ".join(found[0].commands)):
        assert (project / name).is_file()
    assert re.findall(r"\\\n", told) == []


def test_a_block_is_read_with_its_marks_and_joined_lines(project):
    text = "```sh isolated models\n# why\na \\\n  b\n\nc\n```\n```sh\nnot run\n```\n"
    (block,) = air_gap(project).blocks(text)
    assert (block.where, block.needs_models) == ("isolated", True)
    assert [" ".join(command.split()) for command in block.commands] == ["a b", "c"]
