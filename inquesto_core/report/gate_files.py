"""Gates as a build server reads them: JUnit XML, and Markdown for a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inquesto_core.report.compare_figures import (
    estimate_words,
    interval_words,
    milliseconds,
    points,
    wait_words,
)
from inquesto_core.report.escape import escape_html, escape_terminal

if TYPE_CHECKING:
    from inquesto_core.compare.gates import GateResult, GatesVerdict
    from inquesto_core.compare.run_comparison import RunComparison

__all__ = ["comparison_markdown", "escape_markdown", "gates_junit"]

#: What Markdown reads as more than a letter.
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$:@-])")


def escape_markdown(text: str) -> str:
    r"""Return `text` as it may stand in a line or table cell of Markdown, with no meaning there.

    >>> escape_markdown("a|b <img> [x](y)")
    'a\\|b &lt;img&gt; \\[x\\]\\(y\\)'
    """
    # First what HTML means, for Markdown lets it through; entities hold none of the marks.
    shown = escape_terminal(text)
    marked = _MARKS.sub(r"\\\1", shown)
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def gates_junit(verdict: GatesVerdict, found: RunComparison) -> str:
    """Return the gates as a JUnit test suite: a case a gate, in order."""
    failures = sum(not each.holds for each in verdict.results)
    skipped = sum(each.holds and each.state == "undecided" for each in verdict.results)
    name = escape_html(f"inquesto-core compare: {found.a.agent} to {found.b.agent}")
    counts = f'tests="{len(verdict.results)}" failures="{failures}" skipped="{skipped}" errors="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="{name}" {counts}>',
        f'  <testsuite name="{name}" {counts}>',
        *(line for each in verdict.results for line in _case(each)),
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _case(each: GateResult) -> list[str]:
    name, sentence = escape_html(each.gate.name), escape_html(each.sentence)
    head = f'    <testcase classname="gates.{each.gate.rule}" name="{name}">'
    if not each.holds:
        inner = f'      <failure type="{each.state}" message="{sentence}"/>'
    elif each.state == "undecided":
        inner = f'      <skipped message="{sentence}"/>'
    else:
        inner = f"      <system-out>{sentence}</system-out>"
    return [head, inner, "    </testcase>"]


def comparison_markdown(found: RunComparison, verdict: GatesVerdict | None) -> str:
    """Return the decision, what it rests on, and each gate, as Markdown."""
    a, b = escape_markdown(found.a.agent), escape_markdown(found.b.agent)
    counts = found.outcomes
    lines = [f"## {b} in place of {a}", ""]
    if verdict is not None:
        failed = verdict.first_failed
        lines += [
            "**All gates hold.**"
            if failed is None
            else f"**Gate not met: {escape_markdown(failed.gate.name)}.** "
            f"{escape_markdown(failed.sentence)}.",
            "",
        ]
    lines += [
        "| | A | B | B − A |",
        "|---|---:|---:|---|",
        f"| passed, of {counts.n} pairs | {counts.passed_a} | {counts.passed_b} | "
        f"{_cell(estimate_words(found.score, points, 'points'))} |",
    ]
    for row in found.severities.filter(found.severities["severity"] > found.fail_at).to_dicts():
        change = f"{row['appeared']} new, {row['went']} gone"
        lines.append(f"| calls with any S{row['severity']} | {row['a']} | {row['b']} | {change} |")
    for each in found.waits[0].quantiles:
        name = "median wait" if each.share == 0.5 else "p95 wait"
        shown = _cell(interval_words(each.difference, milliseconds))
        lines.append(f"| {name}, ms | {_ms(each.a)} | {_ms(each.b)} | {shown} |")
    lines += [
        "",
        f"Fixed {counts.fixed}, broken {counts.broken}, still failing {counts.still_failing}.",
    ]
    if verdict is not None:
        lines += ["", "| gate | | why |", "|---|---|---|"]
        for result in verdict.results:
            state = (
                result.state
                if result.state != "undecided" or not result.holds
                else "undecided, held"
            )
            lines.append(
                f"| {escape_markdown(result.gate.name)} | {state} | "
                f"{escape_markdown(result.sentence)} |"
            )
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _ms(value: float | None) -> str:
    return wait_words(value).removesuffix(" ms")
