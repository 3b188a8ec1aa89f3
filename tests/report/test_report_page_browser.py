"""The report driven in a browser: every part that a reader can use, offline, without an error."""

from __future__ import annotations

import json
import shutil
import statistics

import polars as pl
import pytest
from edited_runs import as_written

from inquesto_core.engine.report import report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium"),
    # The driver and its browser speak over pipes; the page itself is offline.
    pytest.mark.enable_socket,
]
FIRST_PAINT_MS, FILTER_MS = 1000, 100


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Watched:
    """A page, and everything that it complains about or asks for."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.complaints, self.asked = [], []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, path, address=""):
        self.page.goto(f"file://{path}{address}")
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)
        return self.page


@pytest.fixture
def watched(browser):
    """Return a page, and hold afterwards that it was quiet and asked nobody."""
    made = Watched(browser, viewport={"width": 1300, "height": 900})
    yield made
    assert made.complaints == []
    assert [url for url in made.asked if not url.startswith(("file:", "blob:"))] == []
    made.context.close()


@pytest.fixture(scope="module")
def with_sound(sound_report):
    return sound_report.path


@pytest.fixture(scope="module")
def two_agents(report_run, tmp_path_factory):
    """Return the page of a run of two agents with names that are long and hostile."""
    run = tmp_path_factory.mktemp("agents") / "RUN"
    shutil.copytree(report_run, run)
    record = json.loads((run / "record.json").read_bytes())
    (run / "record.json").unlink()
    (run / "records").mkdir()
    for at, name in enumerate(("first", "second " + "very-long-name-" * 5)):
        each = {**record, "agent": name, "agent_fingerprint": f"sha256:{at:016x}"}
        (run / "records" / f"{at:016x}.json").write_text(json.dumps(each), encoding="utf-8")
    calls = pl.read_parquet(run / "calls.parquet").with_row_index("at")
    print_ = pl.format("sha256:000000000000000{}", pl.col("at") % 2)
    calls.with_columns(agent_fingerprint=print_).drop("at").write_parquet(run / "calls.parquet")
    return report(as_written(run), out=run.parent / "r.html", audio="none").path


@pytest.fixture(scope="module")
def many_calls(report_run, tmp_path_factory):
    """Return the page of a run of five thousand calls, and how many they are."""
    run = tmp_path_factory.mktemp("many") / "RUN"
    shutil.copytree(report_run, run)
    for file in (run / "calls.parquet", run / "events.parquet", *run.glob("evidence/*.parquet")):
        frame = pl.read_parquet(file)
        copies = [
            frame.with_columns(call_id=pl.format("{}-{}", "call_id", pl.lit(at)))
            for at in range(5_000 // 12 + 1)
        ]
        pl.concat(copies).sort("call_id", maintain_order=True).write_parquet(file)
    return report(as_written(run), out=run.parent / "r.html", audio="none").path


def rows(page):
    return page.locator("#table tbody tr[data-place]")


def test_the_record_is_in_sight_and_its_citation_line_whole(watched, with_sound, report_run):
    page = watched.open(with_sound)
    record = json.loads((report_run / "record.json").read_bytes())
    assert page.locator(".cite code").first.inner_text() == record["citation"]
    assert page.locator(".score b").inner_text() == f"{record['score']:.1f}"
    for part in ("views", "events", "accounting", "latency", "slices", "calls"):
        page.click(f"nav[aria-label=Sections] a[href='#{part}']")
        assert page.locator(f"#{part}").is_visible()


def test_calls_are_filtered_by_each_filter_and_by_words(watched, with_sound):
    page = watched.open(with_sound)
    assert rows(page).count() == 12
    page.select_option("#f-outcome", "*failed")
    failed = rows(page).count()
    assert 0 < failed < 12
    assert f"{failed} calls of 12" in page.inner_text("#count")
    page.select_option("#f-event", "slow_turn")
    assert 0 < rows(page).count() <= failed
    page.click("button[type=reset]")
    playwright.expect(rows(page)).to_have_count(12)
    page.fill("#f-text", "IMPOSTOR telephone")
    assert all("telephone" in text for text in rows(page).all_inner_texts())
    page.fill("#f-text", "no such call")
    assert "No call fits" in page.inner_text("#table tbody")


def test_calls_are_sorted_up_down_and_as_they_were(watched, with_sound):
    page = watched.open(with_sound)
    as_they_were = rows(page).all_inner_texts()
    head = page.locator("#table thead th", has_text="p50 ms")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    place = [*page.locator("#table thead th").all_inner_texts()].index(head.inner_text())
    told = [row.locator("td").nth(place).inner_text() for row in rows(page).all()]
    known = [int(text) for text in told if text != "–"]
    assert known == sorted(known)
    assert told[len(known) :] == ["–"] * (len(told) - len(known))
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert rows(page).all_inner_texts() == as_they_were


def test_an_event_leads_to_the_calls_that_have_it(watched, with_sound):
    page = watched.open(with_sound)
    link = page.locator("#events a").first
    name, count = link.inner_text(), link.locator("xpath=ancestor::tr").inner_text().split()[-1]
    link.click()
    assert page.input_value("#f-event") == name
    assert rows(page).count() == int(count)
    assert page.locator("#calls-title").is_visible()


def test_a_call_opens_by_key_and_by_address_and_the_back_button_returns(watched, with_sound):
    page = watched.open(with_sound)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "f-text"
    page.keyboard.press("Escape")
    page.focus("#scroller")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    name = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_selector("#call h1")
    assert page.inner_text("#call h1") == name
    address = page.evaluate("location.hash")
    page.keyboard.press("j")
    playwright.expect(page.locator("#call h1")).not_to_have_text(name)
    page.keyboard.press("k")
    playwright.expect(page.locator("#call h1")).to_have_text(name)
    page.keyboard.press("Escape")
    page.wait_for_selector("#count", state="visible")
    assert page.locator("#call").is_hidden()
    page.go_back()
    page.wait_for_selector("#call h1")
    page.goto("about:blank")
    watched.open(with_sound, address)
    page.wait_for_selector("#call h1")
    assert page.inner_text("#call h1") == name


def test_a_page_of_a_call_shows_its_timeline_and_follows_a_citation(watched, with_sound):
    page = watched.open(with_sound)
    page.select_option("#f-event", "slow_turn")
    rows(page).first.locator("a").click()
    page.wait_for_selector("#call .line svg")
    marks = page.locator("#call .line g.event")
    assert marks.count() > 0
    assert "slow_turn" in marks.first.get_attribute("aria-label")
    wide = page.locator("#call .line svg").bounding_box()["width"]
    page.click("#call button[aria-label='Zoom in']")
    assert page.locator("#call .line svg").bounding_box()["width"] == pytest.approx(
        2 * wide, rel=0.02
    )
    page.click("#call button[aria-label='Zoom out']")
    cited = page.locator("#call .verdicts a[data-line]").first
    line = cited.get_attribute("data-line")
    cited.click()
    assert page.evaluate("document.activeElement.id") == f"line-{line}"
    assert "cited" in page.locator(f"#line-{line}").get_attribute("class")


def test_the_sound_of_an_event_plays_and_moves_the_timelines_head(watched, with_sound):
    page = watched.open(with_sound)
    page.select_option("#f-event", "slow_turn")
    rows(page).first.locator("a").click()
    page.wait_for_selector("#call audio")
    page.locator("#call .line g.event").first.click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('audio')].some((each) => each.currentTime > 0)"
    )
    page.wait_for_selector("#call .playhead:not([hidden])")
    assert page.evaluate("[...document.querySelectorAll('audio')].every((each) => !each.error)")


def test_whole_calls_play_from_their_files(watched, report_run, twelve_calls, tmp_path):
    done = report(report_run, out=tmp_path / "all", sources=[twelve_calls], audio="all")
    page = watched.open(done.path)
    rows(page).first.locator("a").click()
    page.wait_for_selector("#call audio")
    page.evaluate("document.querySelector('audio').load()")
    page.wait_for_function("() => document.querySelector('audio').readyState >= 1")
    assert page.evaluate("document.querySelector('audio').duration") > 5


def test_agents_are_switched_together_with_their_calls(watched, two_agents):
    page = watched.open(two_agents)
    page.set_viewport_size({"width": 1000, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    assert page.locator("article.agent:visible h1").inner_text() == "first"
    assert page.input_value("#f-agent") == "0"
    page.click(".agents button[data-agent='1']")
    assert page.locator("article.agent:visible h1").inner_text().startswith("second")
    assert page.input_value("#f-agent") == "1"
    page.select_option("#f-agent", "")
    assert "Agent" in page.inner_text("#table thead")
    assert rows(page).count() == 12


def test_colours_are_chosen_and_both_schemes_are_drawn(watched, with_sound):
    page = watched.open(with_sound)
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = [page.evaluate(ground)]
    for _ in range(3):
        page.click("#theme")
        seen.append(page.evaluate(ground))
    assert seen[1] != seen[2]
    assert seen[0] == seen[3]


def test_a_print_holds_the_calls_and_no_controls(watched, with_sound):
    page = watched.open(with_sound)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#filters").is_hidden()
    assert page.locator(".bar").is_hidden()
    assert rows(page).count() == 12
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")


def test_text_that_attacks_is_read_and_never_run(watched, hostile_run, tmp_path):
    done = report(hostile_run, out=tmp_path / "r.html", audio="none")
    page = watched.open(done.path)
    for row in range(3):
        page.evaluate("location.hash = '#calls'")
        rows(page).nth(row).locator("a").click()
        page.wait_for_selector("#call h1")
        page.wait_for_timeout(50)
    assert "<img src=x" in page.inner_text("#call")
    assert page.evaluate("window.attacked") is None
    assert page.locator("img").count() == 0


def test_a_call_that_is_not_there_is_said_to_be_missing(watched, with_sound):
    page = watched.open(with_sound, "#call=%3Cb%3Enobody")
    page.wait_for_selector("#call h1")
    assert page.inner_text("#call h1") == "<b>nobody"
    assert "no such call" in page.inner_text("#call")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing_serious(browser, with_sound, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
    watched = Watched(browser, viewport={"width": 1300, "height": 900}, color_scheme=scheme)
    page = watched.open(with_sound)
    found = [axe.Axe().run(page).response["violations"]]
    rows(page).first.locator("a").click()
    page.wait_for_selector("#call .line svg")
    found.append(axe.Axe().run(page).response["violations"])
    serious = [
        (rule["id"], rule["impact"], [node["html"][:200] for node in rule["nodes"]][:3])
        for rules in found
        for rule in rules
        if rule["impact"] in {"serious", "critical"}
    ]
    watched.context.close()
    assert serious == []


def test_five_thousand_calls_are_painted_and_filtered_fast(watched, many_calls):
    page = watched.open(many_calls)
    paints = []
    for _ in range(3):
        page.goto("about:blank")
        watched.open(many_calls)
        paints.append(
            page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        )
    took = page.evaluate(
        """() => ["a", "slow", "", "babble", "", "x", "dup_charge", ""].map((text) => {
          const box = document.getElementById("f-text"), begin = performance.now();
          box.value = text;
          box.dispatchEvent(new Event("input", { bubbles: true }));
          document.body.getBoundingClientRect();
          return performance.now() - begin;
        })"""
    )
    assert "5004 calls" in page.inner_text("#count")
    assert min(paints) < FIRST_PAINT_MS
    assert statistics.median(took) < FILTER_MS
