// A call to scale: a lane a side, waits between them, then tool calls and events.
const LANES = { ruler: 14, caller: 34, waits: 78, agent: 112, tools: 160, events: 196, foot: 226 };
const ZOOMS = [1, 2, 4, 8];

function pattern(id, ...marks) {
  return svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, marks);
}
function label(x, y, text, attributes) {
  return svg("text", { x, y, ...attributes }, text);
}
function stepOf(end, width) {
  const fits = (end / width) * 84;
  return [500, 1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000].find((s) => s >= fits) || 600000;
}
function shared(one, other) {
  const out = [];
  let a = 0, b = 0;
  while (a < one.length && b < other.length) {
    const low = Math.max(one[a][0], other[b][0]), high = Math.min(one[a][1], other[b][1]);
    if (low < high) out.push([low, high]);
    if (one[a][1] <= other[b][1]) a++; else b++;
  }
  return out;
}

function timeline(page, seek) {
  const line = page.line, end = Math.max(line.end, 1);
  const inner = el("div", { class: "line-inner" });
  const scroller = el("div", { class: "line-scroll", tabindex: 0, role: "group", "aria-label": "Timeline, scrolls sideways" }, inner);
  let zoom = 0;
  const buttons = [["–", -1, "Zoom out"], ["+", 1, "Zoom in"]].map(([text, by, name]) =>
    el("button", { type: "button", class: "quiet", "aria-label": name, onclick: () => draw(zoom + by) }, text));
  const level = el("span", { class: "zoom", role: "status" });
  const head = el("span", { class: "playhead", hidden: true });

  function draw(next) {
    zoom = Math.min(Math.max(next, 0), ZOOMS.length - 1);
    const width = Math.max((scroller.clientWidth || 960) * ZOOMS[zoom], 320);
    buttons[0].disabled = zoom === 0;
    buttons[1].disabled = zoom === ZOOMS.length - 1;
    level.textContent = ZOOMS[zoom] + "×";
    inner.style.width = width + "px";
    inner.replaceChildren(picture(page, end, width, seek), head);
  }
  const box = el("div", { class: "line" },
    el("div", { class: "line-head" },
      el("div", { class: "lanes", "aria-hidden": "true" },
        [["caller", "Caller"], ["waits", "Waits"], ["agent", "Agent"], ["tools", "Tools"], ["events", "Events"]].map(([lane, text]) =>
          el("span", { class: "lane-" + lane }, text))),
      scroller),
    el("div", { class: "line-foot" }, legend(line), el("span", { class: "zooms" }, buttons, level)));
  box.draw = () => draw(zoom);
  box.play = (ms) => {
    head.hidden = ms === null;
    if (ms === null) return;
    const x = (ms / end) * inner.clientWidth;
    head.style.left = x + "px";
    if (x < scroller.scrollLeft || x > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = x - 80;
  };
  return box;
}

function legend(line) {
  const has = (test) => ["caller", "agent"].some((side) => line.sound[side].some(test));
  const items = [["k-sound", "speaking"], ["k-joined", "turn, pauses included"]];
  const heard = (side) => line.sound[side].filter((each) => !each[2]);
  if (shared(heard("caller"), heard("agent")).length) items.push(["k-both", "both at once"]);
  if (has((each) => each[2])) items.push(["k-other", "heard, not counted"]);
  if (line.waits.length) items.push(["k-wait", "wait for the reply"]);
  if (line.window[0] > 0 || (line.window[1] !== null && line.window[1] < line.end)) items.push(["k-out", "not scored"]);
  return el("ul", { class: "legend" }, items.map(([mark, text]) => el("li", {}, el("i", { class: mark }), text)));
}

function picture(page, end, width, seek) {
  const line = page.line, x = (ms) => (ms / end) * (width - 2) + 1;
  const wide = (from, to) => Math.max(x(to) - x(from), 1.5);
  const out = svg("svg", { width, height: LANES.foot, viewBox: "0 0 " + width + " " + LANES.foot, role: "group",
    "aria-label": "Timeline of " + clock(end, 1) + ": " + plural(page.events.length, "event", "events") +
      ". The tables below say the same in words." });
  out.append(svg("defs", {},
    pattern("p-both", svg("rect", { class: "both-ground", width: 6, height: 6 }),
      svg("path", { class: "both-mark", d: "M0 6L6 0M-1 1L1 -1M5 7L7 5" })),
    pattern("p-other", svg("path", { class: "other-mark", d: "M0 0L6 6M-1 5L1 7M5 -1L7 1" })),
    pattern("p-out", svg("path", { class: "out-mark", d: "M0 3H6" }))));
  const step = stepOf(end, width);
  for (let at = 0; at <= end; at += step) {
    out.append(svg("line", { class: "grid", x1: x(at), x2: x(at), y1: 18, y2: LANES.foot }));
    const anchor = at === 0 ? "start" : x(at) > width - 30 ? "end" : "middle";
    out.append(label(x(at), LANES.ruler - 2, clock(at, step < 1000 ? 1 : 0), { class: "time", "text-anchor": anchor }));
  }
  const names = [];
  for (const side of ["caller", "agent"]) {
    const y = LANES[side];
    out.append(svg("line", { class: "axis", x1: 0, x2: width, y1: y + 14, y2: y + 14 }));
    for (const [from, to, place] of line.joined[side]) {
      out.append(svg("rect", { class: "joined " + side, x: x(from), width: wide(from, to), y: y, height: 28, rx: 4 },
        svg("title", {}, (side === "caller" ? "C" : "A") + place + ", " + clock(from) + "–" + clock(to))));
      if (wide(from, to) > 26) names.push(label(x(from) + 4, y - 4, (side === "caller" ? "C" : "A") + place, { class: "mark" }));
    }
    for (const [from, to, why] of line.sound[side]) {
      const box = { x: x(from), width: wide(from, to), y: why ? y + 10 : y + 5, height: why ? 8 : 18, rx: 1.5 };
      out.append(svg("rect", { class: why ? "other" : "sound " + side, ...box },
        svg("title", {}, why ? "not counted: " + why + ", " + clock(from) : side + " speaks, " + clock(from) + "–" + clock(to))));
    }
  }
  const heard = (side) => line.sound[side].filter((each) => !each[2]);
  for (const [from, to] of shared(heard("caller"), heard("agent"))) {
    out.append(svg("rect", { class: "both", x: x(from), width: wide(from, to), y: LANES.caller + 5, height: LANES.agent - LANES.caller + 18 },
      svg("title", {}, "both at once, " + clock(from) + " for " + (to - from) + " ms")));
  }
  out.append(...names);
  let written = -1;
  for (const [from, to, status, place, took] of line.waits) {
    const y = LANES.waits + 12, text = "C" + place + " " + ({ no_reply: "no reply ", censored: "open " }[status] || "") + took + " ms";
    const bar = (ms) => "M" + x(ms) + " " + (y - 5) + "V" + (y + 5);
    const shaft = bar(from) + "M" + x(from) + " " + y + "H" + x(to);
    out.append(svg("path", { class: "wait " + status, d: shaft + (status === "replied" ? "m-4 -4l4 4l-4 4" : bar(to)) },
      svg("title", {}, text)));
    if (x(from) <= written) continue;
    written = x(from) + text.length * 6.5;
    const last = written > width;
    out.append(label(last ? width - 4 : x(from) + 4, y - 8, text, { class: "mark", "text-anchor": last ? "end" : "start" }));
  }
  let free = -1;
  for (const [from, to, place, name, status] of line.tools) {
    const length = Math.max(wide(from, to === null ? from : to), 4);
    out.append(svg("rect", { class: "tool " + status, x: x(from), width: length, y: LANES.tools, height: 14, rx: 2 },
      svg("title", {}, "T" + place + " " + name + ", " + status + ", " + clock(from))));
    const text = "T" + place + " " + name;
    if (x(from) > free) {
      const room = Math.min(x(from) + 8, width - text.length * 6.4);
      out.append(label(Math.max(room, x(from) > width - 80 ? 0 : room), LANES.tools + 26, text, { class: "mark" }));
      free = x(from) + text.length * 6.4 + 8;
    }
  }
  events(out, page, x, width, seek);
  for (const [from, to] of [[0, line.window[0] || 0], [line.window[1] === null ? end : line.window[1], end]]) {
    if (to > from) out.append(svg("rect", { class: "out", x: x(from), width: wide(from, to), y: 18, height: LANES.foot - 18 }));
  }
  return out;
}

function events(out, page, x, width, seek) {
  const timed = page.events.filter((event) => event.at !== null);
  const y = LANES.events + 12;
  // Marks that would cover each other stand beside each other; the pin keeps the true place.
  let last = -Infinity;
  const places = timed.map((event) => (last = Math.max(x(event.at), last + 20, 10)));
  const over = Math.max((places.at(-1) ?? 0) - (width - 10), 0);
  timed.forEach((event, at) => {
    const trueX = x(event.at), markX = places[at] - (places[at] > width - 10 - over ? over : 0);
    out.append(svg("line", { class: "pin", x1: trueX, x2: trueX, y1: LANES.caller, y2: y }));
    const level = "s" + event.severity;
    if (event.end > event.at) {
      out.append(svg("rect", { class: "span " + level, x: trueX, width: x(event.end) - trueX, y: y + 12, height: 4 }));
    }
    const measured = event.value === null ? "" : ", " + event.value + " (limit " + event.threshold + ")";
    const name = event.type + ", S" + event.severity + ", " + clock(event.at) + measured;
    out.append(svg("g", { class: "event " + level, tabindex: 0, role: "button", "aria-label": name,
      onclick: () => seek(event.at),
      onkeydown: (key) => { if (key.key === "Enter" || key.key === " ") { key.preventDefault(); seek(event.at); } } },
      svg("title", {}, name), svg("circle", { cx: markX, cy: y, r: 9.5 }),
      label(markX, y + 4, event.severity, { "text-anchor": "middle", class: "digit" })));
    const room = event.type.length * 6.6 + 16, next = places[at + 1] ?? width + 10, before = at ? places[at - 1] : -10;
    const write = (by, anchor) =>
      out.append(label(markX + by, y + 4, event.type, { class: "mark name", "text-anchor": anchor }));
    if (markX + room < next - 8) write(14, "start");
    else if (at === timed.length - 1 && markX - room > before + 8) write(-14, "end");
  });
}
