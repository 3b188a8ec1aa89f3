"""Every reason that the package can give has a sentence."""

from __future__ import annotations

import ast

import pytest

from inquesto_core.instruments import hearing, not_speech, speech
from inquesto_core.protocol import load_protocol
from inquesto_core.report.reasons import REASONS, REJECTED, reason_text

#: Lists and sets of these names hold timing reasons where they are made.
COLLECTIONS = {"lost", "reasons"}


def modules(project, *rooms):
    for room in rooms:
        for path in sorted((project / "inquesto_core" / room).glob("*.py")):
            yield path, ast.parse(path.read_bytes())


def constants(trees):
    found = {}
    for _, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                for target in node.targets:
                    found[getattr(target, "id", "")] = node.value.value
    return found


def texts(node, named):
    """Return the texts in an expression, constants by their values."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and isinstance(named.get(part.id), str):
            yield named[part.id]


def timing_reasons(project):
    """Return every code that a call's timing reasons can hold, as the instruments write them."""
    trees = list(modules(project, "instruments"))
    named, found = constants(trees), set()
    for path, tree in trees:
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            given = {word.arg: word.value for word in node.keywords}
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if getattr(node.func, "id", "") == "fault" and "timing" in texts(given["level"], {}):
                found |= set(texts(node.args[0], named))
            elif getattr(node.func, "attr", "") in {"add", "append"} and owner in COLLECTIONS:
                found |= set(texts(node.args[0], named))
                if "_wav_warning" in ast.unparse(tree):
                    found |= wav_codes(tree)
            elif "timing_reasons" in given and path.stem == "audio":
                found |= set(texts(given["timing_reasons"], named))
    return found


def wav_codes(tree):
    """Return the codes of the warnings about a WAV's sizes, which `lost` takes over."""
    (function,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "_wav_warning"
    )
    codes = {text for text in texts(function, {}) if text.startswith("wav_") and " " not in text}
    return codes - {"wav_size_placeholder"}  # it loses no sound


def test_every_timing_reason_that_can_be_given_has_a_sentence(project):
    found = timing_reasons(project)
    assert {
        "audio_damaged",
        "audio_truncated",
        "background_indistinct",
        "channel_silent",
        "channels_identical",
        "channels_swapped",
        "clock_conflict",
        "duration_mismatch",
        "low_level",
        "no_audio",
        "sample_rate_conflict",
        "unknown_channel_map",
        "wav_trailing_bytes",
        "wav_truncated",
    } <= found
    assert found - REASONS.keys() == set()


def test_every_timing_reason_that_the_documentation_names_has_a_sentence(project):
    page = (project / "docs" / "audio.md").read_text("utf-8")
    rows = page.partition("## Timing not evaluated")[2].partition("\n## ")[0].splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| `")]
    codes = {part.strip(" `") for cell in cells for part in cell.split(",")}
    assert codes
    assert codes - REASONS.keys() == set()


def test_every_reason_of_a_state_that_the_protocol_names_has_a_sentence():
    accounting = load_protocol("inquesto-0.1").accounting
    named = {*accounting.agent_fault_reasons, *accounting.excluded_reasons}
    assert named - REASONS.keys() == set()


def test_every_reason_why_sound_is_not_counted_has_words_and_a_letter_of_its_own():
    given = {
        hearing.BACKGROUND,
        hearing.ECHO,
        speech.NOT_SPEECH,
        not_speech.DTMF,
        not_speech.TONE,
        not_speech.MUSIC,
        "ignored",
    }
    assert given == REJECTED.keys()
    letters = [letter for letter, _ in REJECTED.values()]
    assert len(set(letters)) == len(letters)
    assert not set(letters) & set("#-X.oT=~>!?")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "verdict_missing:wrong_info",
            "the judge's answer is missing (verdict_missing:wrong_info)",
        ),
        ("something_new", "something_new"),
    ],
)
def test_a_reason_keeps_its_code(code, expected):
    assert reason_text(code) == expected
