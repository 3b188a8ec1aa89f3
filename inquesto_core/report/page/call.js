// The page of one call.
const OUTCOME_MARKS = {
  passed: "✓", failed: "✕", "agent fault": "✕", "fails, not evaluated": "✕",
  "not evaluated": "?", excluded: "–", "timing only": "–",
};
const outcomeMark = (outcome) => el("span", { class: "outcome o-" + outcome.replaceAll(/[ ,]+/g, "-") },
  el("i", { "aria-hidden": "true" }, OUTCOME_MARKS[outcome]), outcome);

function head(columns) {
  return el("thead", {}, el("tr", {}, columns.map(([text, kind]) => el("th", { scope: "col", class: kind }, text))));
}
function section(title, note, ...body) {
  return el("section", {}, el("h2", {}, title), note && el("p", { class: "lead" }, note), body);
}
function bullets(title, texts) {
  return texts.length ? section(title, null, el("ul", { class: "plain" }, texts.map((text) => el("li", {}, text)))) : null;
}
function wide(...body) { return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Table, scrolls sideways" }, body); }
function tags(types, severities) {
  return types.map((type) => el("span", { class: "tag ev" }, severity(severities[type] || 0), " " + type));
}

function callView(page, context) {
  const severities = Object.fromEntries(context.events);
  const player = new Player(page, context);
  const line = page.line.end > 0 ? timeline(page, (ms) => player.seek(ms)) : null;
  player.line = line;
  const moment = (ms, text) => ms === null || !player.has(ms) ? text || clock(ms)
    : el("button", { type: "button", class: "moment", title: "Hear it", onclick: () => player.seek(ms) }, text || clock(ms));
  const view = el("article", { class: "page" },
    el("nav", { class: "turn", "aria-label": "Calls" },
      el("a", { href: context.back, class: "back" }, "← All calls"),
      el("span", { class: "where" }, context.where),
      context.previous ? el("a", { href: context.previous, rel: "prev" }, "← Previous") : el("span", { class: "ended" }, "← Previous"),
      context.next ? el("a", { href: context.next, rel: "next" }, "Next →") : el("span", { class: "ended" }, "Next →")),
    el("header", { class: "call-head" },
      outcomeMark(page.outcome),
      el("h1", {}, page.call),
      el("p", { class: "reading" }, page.why),
      el("ul", { class: "chips" }, page.chips.map((text) => el("li", {}, text)))),
    line && el("section", {}, el("h2", {}, "Timeline"), line, player.view),
    !line && section("Timeline", null, el("p", { class: "empty" }, "Nothing of this call has a time.")),
    eventTable(page, moment),
    page.boundary.length
      ? section("First departure from what was expected", null, page.boundary.map((text) => el("p", {}, text))) : null,
    page.predicates.length ? section("Predicates of the scenario", null, wide(el("table", { class: "predicates" },
      head([["Predicate"], ["Value"], ["Evidence"]]),
      el("tbody", {}, page.predicates.map(([name, value, evidence]) => el("tr", {},
        el("th", { scope: "row" }, name), el("td", { class: "strong" }, value), el("td", {}, evidence ?? "–"))))))) : null,
    el("div", { class: "columns" },
      el("div", {}, transcript(page, moment)),
      el("div", {}, verdicts(page), tools(page, moment, severities))),
    replies(page, moment, severities),
    page.moments.map((group) => section(group.title, null, el("ul", { class: "plain" },
      group.rows.map(([text, at]) => el("li", {}, player.has(at) ? [moment(at), " "] : null, text))))),
    bullets("Our own transcript beside this one", page.own_transcript),
    el("div", { class: "columns" },
      el("div", {}, section("Call", null, el("dl", { class: "facts" }, page.facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])))),
      el("div", {}, page.heard.length ? section("What was heard on each side", null, page.heard.map(([side, texts]) =>
        [el("h3", {}, side), el("ul", { class: "plain small" }, texts.map((text) => el("li", {}, text)))])) : null)),
    bullets("Problems and recording faults", page.problems));
  view.shown = () => { if (line) line.draw(); };
  view.left = () => player.stop();
  return view;
}

function eventTable(page, moment) {
  if (!page.events.length && !page.undecided.length) return section("Events", null, el("p", { class: "empty" }, "No event was found in this call."));
  const number = (value, sign) => value === null ? "–" : (sign && value > 0 ? "+" : "") + value;
  const place = (event) => {
    const parts = [event.source];
    if (event.place !== event.source) parts.push(": " + event.place);
    if (event.turn !== null) parts.push(", ", lineLink(page, event.turn));
    return parts;
  };
  const told = new Set();
  return section("Events", null, page.events.length ? wide(el("table", { class: "events" },
    head([["Event"], ["Time", "num"], ["Value", "num"], ["Limit", "num"], ["Margin", "num"], ["Taken from"]]),
    el("tbody", {}, page.events.map((event) => {
      const first = !told.has(event.type);
      told.add(event.type);
      return el("tr", {},
        el("th", { scope: "row" }, severity(event.severity), " ", event.type, event.counted ? null : el("span", { class: "tag" }, "again"),
          first && page.criteria[event.type] ? el("small", {}, page.criteria[event.type]) : null),
        el("td", { class: "num" }, moment(event.at)), el("td", { class: "num strong" }, number(event.value)),
        el("td", { class: "num" }, number(event.threshold)), el("td", { class: "num" }, number(event.margin, true)),
        el("td", {}, place(event)));
    })))) : null,
    page.undecided.length ? el("p", { class: "foot" }, "Not decided: " + page.undecided.join(", ") + ".") : null);
}

function lineLink(page, line) {
  return page.transcript.length ? el("a", { href: "#line-" + line, "data-line": line }, "L" + line) : "L" + line;
}

function transcript(page, moment) {
  if (!page.transcript.length) return section("Transcript", null, el("p", { class: "empty" }, absent(page, "transcript")));
  return section("Transcript", "Lines that a verdict cites are marked with a bar.", el("ol", { class: "talk" },
    page.transcript.map((row) => el("li", { class: row.who + (row.cited.length ? " cited" : ""), id: "line-" + row.line, tabindex: -1 },
      el("span", { class: "who" }, el("b", {}, row.who), " L" + row.line, el("br"), moment(row.at)),
      el("span", { class: "said", dir: "auto" }, row.text,
        row.written === null ? null : el("small", {}, "written, not all heard: " + row.written),
        row.cited.length ? el("small", { class: "cite-mark" }, "cited by " + row.cited.join(", ")) : null)))));
}
function absent(page, what) {
  if (page.redacted) return "Left out: this report is redacted.";
  return page.missing.includes(what) ? "The call has no such file." : "Nothing to show.";
}

function verdicts(page) {
  if (!page.verdicts.length) return section("Verdicts", null, el("p", { class: "empty" }, absent(page, "verdicts")));
  return section("Verdicts", page.judge.join("; "), el("dl", { class: "verdicts" }, page.verdicts.map((row) => el("div", {},
    el("dt", {}, row.question, " ", el("b", {}, row.answer), row.events.length ? el("span", { class: "tag" }, row.events.join(", ")) : null,
      row.turn === null ? null : [" ", lineLink(page, row.turn)]),
    row.reason ? el("dd", { dir: "auto" }, row.reason) : null,
    row.margin ? el("dd", { class: row.fragile ? "small fragile" : "small" }, row.margin) : null,
    row.raw ? el("dd", { class: "small" }, "wrote: ", el("code", {}, row.raw)) : null))));
}

function json(text) {
  try { return JSON.stringify(JSON.parse(text), null, 1).replaceAll(/\n\s*/g, " "); } catch { return text; }
}
function tools(page, moment, severities) {
  const changes = el("ul", { class: "plain" }, page.states.map((text) => el("li", { class: "state" }, text)));
  const states = page.states.length ? [el("h3", {}, "Account, before → after"), changes] : null;
  if (!page.tools.length) return section("Tool calls", null, el("p", { class: "empty" }, absent(page, "tool trace")), states);
  return section("Tool calls", null, el("ol", { class: "trace" }, page.tools.map((row) => el("li", { class: row.events.length ? "hit" : null },
    el("p", {}, el("b", {}, row.label + " " + row.name), " ",
      el("span", { class: "status " + row.status }, row.status), " ", moment(row.at, row.span), tags(row.events, severities)),
    el("dl", {}, [["given", row.given], ["result", row.result]].filter(([, text]) => text !== null).map(([name, text]) =>
      [el("dt", {}, name), el("dd", {}, el("code", {}, json(text)))]),
      row.then ? [el("dt", {}, "then"), el("dd", {}, row.then)] : null)))), states);
}

function replies(page, moment, severities) {
  if (!page.replies.length) return null;
  return section("What became of each caller turn", null, wide(el("table", {},
    head([["Turn"], ["From–to", "num"], ["What became of it"], ["What the caller says"]]),
    el("tbody", {}, page.replies.map((row) => el("tr", { class: row.events.length ? "hit" : null },
      el("th", { scope: "row" }, row.label), el("td", { class: "num" }, moment(row.at, row.span)),
      el("td", {}, row.text, tags(row.events, severities)), el("td", { dir: "auto", class: "said" }, row.said || "–")))))));
}

// Plays the stretches of a call that the report holds, and moves the timeline's head.
class Player {
  constructor(page, context) {
    this.clips = context.clips;
    this.line = null;
    this.urls = [];
    this.tracks = this.clips.map((clip) => this.track(clip));
    const note = this.clips.length ? null : el("p", { class: "empty" }, context.silent);
    this.view = el("div", { class: "sound" }, el("h3", {}, "Sound"),
      this.clips.length ? el("p", { class: "lead" }, "Caller on the left, agent on the right.") : null, note,
      this.tracks.map((track) => track.view));
  }
  track(clip) {
    const audio = el("audio", { controls: true, preload: "none", "aria-label": "Sound from " + clock(clip.from, 1) + ": " + clip.label });
    const load = () => {
      if (audio.src) return;
      if (clip.file) { audio.src = clip.file; return; }
      const url = URL.createObjectURL(new Blob([bytesOf(byId("sound-" + clip.data).textContent)], { type: "audio/ogg" }));
      this.urls.push(url);
      audio.src = url;
    };
    load();
    audio.addEventListener("timeupdate", () => { if (this.line) this.line.play(clip.from + audio.currentTime * 1000); });
    audio.addEventListener("ended", () => { if (this.line) this.line.play(null); });
    audio.addEventListener("play", () => { for (const other of this.tracks) if (other.audio !== audio) other.audio.pause(); });
    const span = clock(clip.from, 1) + "–" + clock(clip.to, 1);
    const view = el("figure", { class: "clip" }, el("figcaption", {}, el("b", {}, span), " " + clip.label), audio);
    return { clip, audio, view };
  }
  at(ms) { return ms === null || ms === undefined ? undefined : this.tracks.find((track) => track.clip.from <= ms && ms < track.clip.to); }
  has(ms) { return this.at(ms) !== undefined; }
  seek(ms) {
    const track = this.at(ms);
    if (!track) { if (this.line) this.line.play(ms); return; }
    const go = () => {
      track.audio.currentTime = Math.max((ms - track.clip.from) / 1000 - 1, 0);
      track.audio.play().catch(() => {});
    };
    if (track.audio.readyState >= 1) go();
    else { track.audio.addEventListener("loadedmetadata", go, { once: true }); track.audio.load(); }
  }
  stop() {
    for (const track of this.tracks) { track.audio.pause(); track.audio.removeAttribute("src"); }
    this.urls.forEach((url) => URL.revokeObjectURL(url));
  }
}
