from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import shutil
import subprocess

import pytest

from inquesto_core.compare import parse_labels
from inquesto_core.report.label_sheet import AskedItem, SheetCall, sheet_csv, sheet_page

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e\x1b[2J{{script}}"
ITEM = AskedItem(item="0a" * 8, question="wrong_info", text="Question: Is it?\nTrue: yes.\n")


def make_call(*, goal="A refund.", turns=(("agent", "Hello."), ("caller", "Hi.")), items=(ITEM,)):
    return SheetCall(goal=goal, identity="The caller is known.", turns=turns, items=items)


def make_page(*calls, **fields):
    told = {"sheet": "5f" * 8, "facts": {"plan": "Pro"}, "instructions": "Read it."}
    return sheet_page(calls or (make_call(),), **{**told, **fields})


def policy(page):
    return html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])


def test_the_page_shows_goal_record_turns_question_and_criteria():
    page = make_page()
    for text in ("A refund.", "The caller is known.", "Hello.", "Is it?", "True: yes.", "Read it."):
        assert text in page
    assert "&quot;plan&quot;: &quot;Pro&quot;" in page
    assert page.index("<td>0</td>") < page.index("<td>1</td>")
    assert [page.count(f'value="{value}"') for value in ("true", "false", "unsure")] == [1, 1, 1]


def test_the_page_can_ask_nothing_of_the_network():
    page = make_page()
    assert policy(page).startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    assert not re.search(
        r"(?:src|href|action)\s*=|url\(|@import|https?:", page.split("<script>")[0]
    )


@pytest.mark.parametrize("part", ["script", "style"])
def test_the_policy_allows_the_pages_own_part_and_no_other(part):
    page = make_page()
    (text,) = re.findall(rf"<{part}>(.*?)</{part}>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"{part}-src 'sha256-{digest}'" in policy(page)
    assert "unsafe" not in policy(page)


def test_text_from_outside_stays_text():
    call = make_call(
        goal=HOSTILE,
        turns=((HOSTILE, HOSTILE),),
        items=(AskedItem(item="0b" * 8, question=HOSTILE, text=HOSTILE + "\n" + HOSTILE),),
    )
    page = make_page(call, facts={HOSTILE: HOSTILE}, instructions=HOSTILE, sheet="5f" * 8)
    assert page.count("<script>") == page.count("</script>") == 1
    assert "<img" not in page
    assert not re.search("[\u202e\x1b]", page)
    assert "\\u202e" in page


def test_the_empty_csv_has_a_line_an_item_and_is_read_back_once_filled():
    items = [ITEM, AskedItem(item="0b" * 8, question="=evil", text="")]
    rows = list(csv.DictReader(io.StringIO(sheet_csv(items))))
    assert [row["item"] for row in rows] == [item.item for item in items]
    assert rows[1]["question"] == "'=evil"
    filled = sheet_csv(items).replace(",,,", ",true,ann,")
    assert [each.question for each in parse_labels(filled.encode(), file="a.csv").labels] == [
        "wrong_info",
        "=evil",
    ]


DRIVER = """
URL.createObjectURL = (blob) => {
  blob.text().then((text) => {
    const shown = document.createElement("pre");
    shown.id = "driven";
    shown.textContent = JSON.stringify([text, document.getElementById("progress").textContent,
      document.getElementById("kept").textContent]);
    document.body.append(shown);
  });
  return "#";
};
const press = (key) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
press("n"); press("t"); press("n"); press("f"); press("k"); press("u");
document.getElementById("save").click();
document.getElementById("labeller").value = "ann";
const note = document.querySelector(".note input");
note.value = '=1+"1"';
note.dispatchEvent(new Event("input", { bubbles: true }));
document.getElementById("save").click();
"""


def test_the_page_is_answered_by_keyboard_and_its_csv_is_read(tmp_path):
    """In a browser, under the page's own policy, which lets this driver in by its digest."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("chromium is not installed: the page's script is not run")
    items = tuple(AskedItem(item=f"{at}a" * 8, question="q", text="Q?") for at in (0, 1))
    page = make_page(make_call(items=items))
    digest = base64.b64encode(hashlib.sha256(DRIVER.encode()).digest()).decode()
    quote = "&#x27;" if "&#x27;none" in page else "'"
    page = page.replace(f"script-src {quote}", f"script-src {quote}sha256-{digest}{quote} {quote}")
    file = tmp_path / "sheet.html"
    file.write_text(page.replace("</body>", f"<script>{DRIVER}</script></body>"), "utf-8")
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    shown = re.search(r'<pre id="driven">(.*?)</pre>', done.stdout, re.DOTALL)
    text, progress, _ = json.loads(html.unescape(shown[1]))
    assert progress == "2 of 2 answered"
    labels = parse_labels(text.encode(), file="a.csv").labels
    assert [(each.name, each.verdict) for each in labels] == [("0a" * 8, None), ("1a" * 8, False)]
    assert labels[0].note == '=1+"1"'
    assert "'=1" in text
