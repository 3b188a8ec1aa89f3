"""`bin/setup`: an extra is added from its lock, its library is compiled once, and it stays."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

PINNED = "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"

#: Builds a wheel of a library that says what it was compiled with, and writes down that it did.
BACKEND = """
import os, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    arguments = os.environ["CMAKE_ARGS"]
    with open(os.environ["COMPILED"], "a") as file:
        file.write(arguments + "\\n")
    name = "llama_cpp_python-9.9-py3-none-any.whl"
    info = "llama_cpp_python-9.9.dist-info"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr("llama_cpp.py", f"arguments = {arguments!r}")
        for file, lines in [
            ("METADATA", ["Metadata-Version: 2.1", "Name: llama_cpp_python", "Version: 9.9"]),
            ("WHEEL", ["Wheel-Version: 1.0", "Root-Is-Purelib: true", "Tag: py3-none-any"]),
        ]:
            wheel.writestr(f"{info}/{file}", "\\n".join([*lines, ""]))
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""
BUILD_SYSTEM = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
PROJECT = '[project]\nname = "llama-cpp-python"\nversion = "9.9"\n'


def source_archive(folder):
    """Write a source archive in the place of the judge's library; return its lock entry."""
    path = folder / "llama_cpp_python-9.9.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in (
            ("pyproject.toml", BUILD_SYSTEM + PROJECT),
            ("backend.py", BACKEND),
            ("PKG-INFO", "Metadata-Version: 2.1\nName: llama-cpp-python\nVersion: 9.9\n"),
        ):
            member = tarfile.TarInfo(f"llama_cpp_python-9.9/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"llama-cpp-python==9.9 \\\n    --hash=sha256:{digest}\n"


class Checkout:
    """A small checkout whose command prints what the judge's library was compiled with."""

    def __init__(self, project, top):
        self.top, self.home = top / "a check out", top / "home"
        self.compiled = top / "compiled"
        (self.top / "bin").mkdir(parents=True)
        for name in ("inquesto-core", "environment.sh", "extras.sh", "setup"):
            shutil.copy(project / "bin" / name, self.top / "bin" / name)
        (self.top / "lock").mkdir()
        for name in ("base", "asr", "ray", "sign", "judge-build"):
            self.lock(name, "# nothing\n")
        self.lock("judge", source_archive(top))
        package = self.top / "inquesto_core"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text("import llama_cpp; print(llama_cpp.arguments)\n")
        # A processor without a build of its own, so that the arguments are the same everywhere.
        self.tools = top / "tools"
        self.tools.mkdir()
        self.tool("uname", 'case $1 in -m) echo arm64 ;; *) echo "Here arm64" ;; esac')
        self.tool("c++", "exit 1")

    def tool(self, name, script):
        (self.tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.tools / name).chmod(0o755)

    def lock(self, name, text):
        (self.top / "lock" / f"{name}.txt").write_text(text)

    def run(self, name, *arguments, **environment):
        done = subprocess.run(
            [self.top / "bin" / name, *arguments],
            env={
                **{name: text for name, text in os.environ.items() if name != "CMAKE_ARGS"},
                "HOME": str(self.home),
                "XDG_CACHE_HOME": str(self.home / "cache"),
                "INQUESTO_PYTHON": sys.executable,
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": (self.top.parent / "").as_uri(),
                "COMPILED": str(self.compiled),
                "PATH": os.pathsep.join([str(self.tools), os.environ["PATH"]]),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stdout, done.stderr

    def builds(self):
        return self.compiled.read_text().splitlines() if self.compiled.is_file() else []


@pytest.fixture
def checkout(project, tmp_path):
    return Checkout(project, tmp_path)


def test_the_judge_is_compiled_once_and_stays_when_the_environment_is_made_anew(checkout):
    code, _, said = checkout.run("setup", "judge")
    assert code == 0, said
    assert "compiling the judge's library with " + PINNED in said
    assert said.endswith("judge ready in .venv\n")
    assert checkout.run("inquesto-core") == (0, PINNED + "\n", "")

    checkout.lock("base", "# nothing, but other\n")
    code, printed, said = checkout.run("inquesto-core")
    assert (code, printed) == (0, PINNED + "\n"), said
    assert "its lock or Python changed" in said

    shutil.rmtree(checkout.top / ".venv")
    code, _, said = checkout.run("setup", "judge", "asr", "ray")
    assert code == 0, said
    assert sorted(path.name for path in (checkout.top / ".venv/extras").iterdir()) == [
        "asr",
        "judge",
        "ray",
    ]
    assert checkout.builds() == [PINNED]


def test_another_build_is_kept_beside_the_pinned_one_and_left_again(checkout):
    assert checkout.run("setup", "judge")[0] == 0
    assert checkout.run("setup", "judge", CMAKE_ARGS="-DGGML_CUDA=ON")[0] == 0
    # Only bin/setup takes arguments from the user's environment.
    assert checkout.run("inquesto-core", CMAKE_ARGS="-DOTHER=ON")[1] == "-DGGML_CUDA=ON\n"
    assert checkout.run("setup", "judge")[0] == 0
    assert checkout.run("inquesto-core") == (0, PINNED + "\n", "")
    assert checkout.builds() == [PINNED, "-DGGML_CUDA=ON"]


def test_an_extra_is_put_in_order_after_its_lock_changed_or_it_was_left_unfinished(checkout):
    assert checkout.run("setup", "judge", CMAKE_ARGS="-DMINE=ON")[0] == 0
    checkout.lock("judge", (checkout.top / "lock/judge.txt").read_text() + "# other\n")
    assert checkout.run("inquesto-core")[1] == "-DMINE=ON\n"
    stamp = checkout.top / ".venv/extras/judge"
    stamp.write_text("unfinished\n-DMINE=ON\n")
    code, printed, said = checkout.run("inquesto-core")
    assert (code, printed) == (0, "-DMINE=ON\n")
    assert "adding judge to .venv" in said
    assert "unfinished" not in stamp.read_text()


def test_a_failed_compilation_says_why_and_leaves_no_wheel(checkout):
    source = checkout.top.parent / "llama_cpp_python-9.9.tar.gz"
    source.write_bytes(source.read_bytes() + b"\0")
    code, _, said = checkout.run("setup", "judge")
    assert code == 5
    assert "could not be compiled: " in said.splitlines()[-1]
    assert not list(checkout.home.rglob("*.whl"))
    assert not list(checkout.top.glob(".venv*"))


def test_a_missing_compiler_is_one_clear_line(checkout):
    for folder in os.environ["PATH"].split(os.pathsep):
        for path in Path(folder).glob("*"):
            if "++" not in path.name and not (checkout.tools / path.name).exists():
                (checkout.tools / path.name).symlink_to(path)
    (checkout.tools / "c++").unlink()
    alone = {"PATH": str(checkout.tools), "CXX": "no-such-compiler -O2"}
    code, _, said = checkout.run("setup", "judge", **alone)
    assert (code, said.count("\n")) == (5, 1)
    assert "no C++ compiler found" in said
    assert checkout.run("setup", "asr", **alone)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [((), "wants the name of an extra"), (("odd",), "knows judge, asr, ray and sign, not odd")],
)
def test_setup_knows_its_extras(checkout, arguments, told):
    code, _, said = checkout.run("setup", *arguments)
    assert code == 5
    assert told in said
    assert not list(checkout.top.glob(".venv*"))


@pytest.mark.parametrize("machine", ["x86_64", "amd64"])
def test_on_x86_the_instruction_set_is_named(project, checkout, machine):
    checkout.tool("uname", f"echo {machine}")
    script = f'root={project}; . "$root/bin/environment.sh"; pinned_cmake_args'
    said = subprocess.run(
        ["sh", "-c", script],
        env={**os.environ, "PATH": f"{checkout.tools}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.split() == [
        "-DGGML_NATIVE=OFF",
        "-DGGML_AVX2=ON",
        "-DGGML_FMA=ON",
        "-DGGML_F16C=ON",
        "-DLLAVA_BUILD=OFF",
    ]
