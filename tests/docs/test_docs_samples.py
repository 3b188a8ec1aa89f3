"""What docs/check.py finds in the samples of a page, and what it lets pass."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def _module(name: str):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check_samples = _module("check_samples")
commands = _module("commands")


def faults(language: str, text: str) -> list[str]:
    page = f"# A page\n\n```{language}\n{text}\n```\n"
    return [fault for _, fault in check_samples.wrong_samples(page)]


@pytest.mark.parametrize(
    ("language", "text", "told"),
    [
        pytest.param("sh", "inquesto-core score A --ou RUN", "--ou", id="option"),
        pytest.param("sh", "inquesto-core score A", "lacks out", id="required-option"),
        pytest.param("sh", "inquesto-core explain RUN", "lacks", id="required-argument"),
        pytest.param("sh", "inquesto-core explain RUN A B", "no further B", id="argument-more"),
        pytest.param("sh", "inquesto-core scor A", "no command scor", id="command"),
        pytest.param("sh", "inquesto-core models fetch", "no command fetch", id="subcommand"),
        pytest.param("sh", "inquesto-core report R --audio loud", "loud", id="choice"),
        pytest.param("sh", "bin/no-such thing", "is not there", id="script"),
        pytest.param("sh", "ls && inquesto-core score A | head", "lacks out", id="after-another"),
        pytest.param("", "$ inquesto-core seal RUN --kee k", "--kee", id="prompt"),
        pytest.param("", "inquesto-core seal RUN [--kee k]", "--kee", id="usage-line"),
        pytest.param("json", '{"a": 1,}', "does not parse", id="json"),
        pytest.param("python", "def f(:", "does not parse", id="python"),
        pytest.param("python", "import inquesto_core.nothing", "no module", id="module"),
        pytest.param("python", "from inquesto_core.engine import x", "has no x", id="name"),
        pytest.param("python", "inquesto_core.scoer([])", "no function scoer", id="function"),
        pytest.param("python", "inquesto_core.score([], oot=1)", "takes no oot", id="keyword"),
    ],
)
def test_a_sample_that_cannot_be_right_is_told(language, text, told):
    (fault,) = faults(language, text)
    assert told in fault


@pytest.mark.parametrize(
    ("language", "text"),
    [
        pytest.param("sh", "inquesto-core score A B --out RUN # why", id="command"),
        pytest.param("sh", "bin/inquesto-core models list", id="script"),
        pytest.param("sh", "inquesto-core score A \\\n  --out RUN > file", id="continued"),
        pytest.param("", "inquesto-core store prune S [--dry-run]", id="usage-line"),
        pytest.param("text", "inquesto-core scor", id="output"),
        pytest.param("json", '"audio": []', id="members-of-an-object"),
        pytest.param("python", "import inquesto_core\ninquesto_core.score([], out='R')", id="call"),
        pytest.param("python", "from inquesto_core.engine import score", id="passed-on"),
    ],
)
def test_a_sample_that_is_right_passes(language, text):
    assert faults(language, text) == []


def test_a_fault_is_told_with_its_line():
    page = "# A page\n\n    inquesto-core models list\n    inquesto-core models lst\n"
    assert [line for line, _ in check_samples.wrong_samples(page)] == [4]


def test_the_page_of_commands_is_what_the_commands_say():
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page()
