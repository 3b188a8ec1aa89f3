// The table of calls: columns in, the rows in sight drawn.
const ROW = 34, EXTRA = 6, PRINTED = 1000;
// Outcomes that are asked for together.
const TOGETHER = { "*failed": ["failed", "agent fault"], "*open": ["not evaluated", "fails, not evaluated"] };
const TOGETHER_WORDS = { "*failed": "all that failed, in n", "*open": "all not evaluated" };
const FILTERS = ["agent", "outcome", "event", "condition", "group", "scenario_id", "flag"];

class CallTable {
  constructor(data) {
    this.data = data;
    this.c = data.columns;
    this.n = this.c.call.length;
    this.agents = data.agents;
    this.order = Array.from({ length: this.n }, (_, at) => at);
    this.shown = this.order;
    this.sort = null;
    this.ofOne = false;
    this.drawn = "";
    this.focused = -1;
    this.scroller = byId("scroller");
    this.body = byId("table").tBodies[0];
    this.words = this.searched();
    this.heads();
    this.options();
    this.top = 0;
    this.height = this.scroller.clientHeight;
    this.scroller.addEventListener("scroll", () => { this.top = this.scroller.scrollTop; this.draw(); }, { passive: true });
    this.scroller.addEventListener("keydown", (key) => this.key(key));
    new ResizeObserver(([box]) => { this.height = box.contentRect.height; this.draw(); }).observe(this.scroller);
    byId("table").setAttribute("aria-rowcount", this.n + 1);
  }
  value(name, at) {
    const column = this.c[name];
    return Array.isArray(column) ? column[at] : column.values[column.at[at]];
  }
  eventsOf(at) {
    const bits = this.c.events[at];
    return this.data.events.filter((_, place) => bits & (1 << place));
  }
  searched() {
    const labels = ["scenario_id", "condition", "group", "reasons", "outcome"];
    return this.order.map((at) => [this.c.call[at], ...labels.map((name) => this.value(name, at)),
      ...this.eventsOf(at).map(([name]) => name)].join(" ").toLowerCase());
  }
  columns() {
    const text = (name) => ({ key: (at) => this.value(name, at) ?? "\uffff", cell: (at) => this.value(name, at) ?? "–" });
    const number = (name) => ({ key: (at) => this.c[name][at] ?? Infinity, kind: "num",
      cell: (at) => this.c[name][at] === null ? "–" : Math.round(this.c[name][at]) });
    const ranks = new Map(this.data.outcomes.map((name, rank) => [name, rank]));
    const list = [
      { title: "Outcome", key: (at) => ranks.get(this.value("outcome", at)), cell: (at) => outcomeMark(this.value("outcome", at)), width: "9rem" },
      { title: "Call", key: (at) => this.c.call[at] ?? "\uffff", cell: (at) => this.link(at), kind: "id", width: "24%" },
      { title: "Events, goal", key: (at) => -(this.c.worst_severity[at] || 0), cell: (at) => this.causes(at), kind: "evs" },
    ];
    if (this.agents.length > 1 && !this.ofOne) {
      list.push({ title: "Agent", key: (at) => this.c.agent[at], cell: (at) => this.agents[this.c.agent[at]], width: "6rem" });
    }
    list.push({ title: "Condition", ...text("condition"), width: "6.5rem" }, { title: "Group", ...text("group"), width: "7rem" },
      { title: "p50 ms", ...number("median_latency_ms"), width: "4.6rem" }, { title: "p95 ms", ...number("p95_latency_ms"), width: "4.6rem" },
      { title: "Talk-overs", ...number("n_talk_over"), width: "6.2rem" });
    return list;
  }
  link(at) {
    const name = this.c.call[at];
    if (name === null) return el("span", { class: "absent" }, "not recorded: " + (this.value("scenario_id", at) ?? ""));
    if (this.c.page[at] < 0) return el("span", { title: name }, name);
    return el("a", { href: "#call=" + encodeURIComponent(name), title: name }, name);
  }
  causes(at) {
    const found = this.eventsOf(at).sort((a, b) => b[1] - a[1]);
    const out = found.map(([name, level]) => el("span", { class: "tag ev" }, severity(level), " " + name));
    if (this.value("goal", at) === false) out.push(el("span", { class: "tag goal", title: "goal not reached" }, "goal"));
    if (!out.length && this.value("reasons", at)) out.push(el("span", { class: "muted" }, this.value("reasons", at)));
    const flags = this.c.flags[at];
    if (flags & 1) out.push(el("span", { class: "tag flag" }, "borderline"));
    else if (flags & 2) out.push(el("span", { class: "tag flag" }, "fragile"));
    return out;
  }
  heads() {
    this.list = this.columns();
    const order = (column) => this.sort?.title !== column.title ? "none" : this.sort.down ? "descending" : "ascending";
    const row = el("tr", { "aria-rowindex": 1 }, this.list.map((column) => el("th", { scope: "col", class: column.kind, "aria-sort": order(column) },
      el("button", { type: "button", onclick: () => this.by(column.title) }, column.title, el("i", { "aria-hidden": "true" })))));
    byId("table").tHead.replaceChildren(row);
    byId("table").querySelector("colgroup")?.remove();
    const widths = el("colgroup", {}, this.list.map(() => el("col")));
    this.list.forEach((column, place) => { if (column.width) widths.children[place].style.width = column.width; });
    byId("table").prepend(widths);
  }
  options() {
    const all = (name) => [...new Set(Array.isArray(this.c[name]) ? this.c[name] : this.c[name].values)].filter((value) => value !== null);
    const lists = { outcome: all("outcome"), condition: all("condition").sort(), group: all("group").sort(), scenario_id: all("scenario_id").sort(),
      event: this.data.events.map(([name]) => name), agent: this.agents.map((_, place) => place) };
    for (const [name, values] of Object.entries(lists)) {
      const box = byId("f-" + name);
      if (!box) continue;
      const together = name === "outcome" ? Object.keys(TOGETHER).map((value) => el("option", { value }, TOGETHER_WORDS[value])) : [];
      const words = (value) => name === "agent" ? this.agents[value] : value;
      box.replaceChildren(el("option", { value: "" }, "all"), ...together, ...values.map((value) => el("option", { value }, words(value))));
    }
  }
  by(title) {
    const same = this.sort?.title === title;
    this.sort = same && this.sort.down ? null : { title, down: same };
    this.heads();
    this.apply();
    [...byId("table").tHead.querySelectorAll("button")].find((button) => button.textContent === title)?.focus();
  }
  state() {
    const out = {};
    for (const name of FILTERS) { const box = byId("f-" + name); if (box && box.value !== "") out[name] = box.value; }
    const text = byId("f-text").value.trim();
    if (text) out.text = text;
    return out;
  }
  set(wanted) {
    for (const name of FILTERS) { const box = byId("f-" + name); if (box) box.value = wanted[name] ?? ""; }
    byId("f-text").value = wanted.text ?? "";
    this.apply();
  }
  apply() {
    const want = this.state(), tests = [];
    if (this.ofOne !== (want.agent !== undefined)) {
      this.ofOne = !this.ofOne;
      if (this.sort?.title === "Agent") this.sort = null;
      this.heads();
    }
    for (const name of ["outcome", "condition", "group", "scenario_id"]) {
      if (want[name] === undefined) continue;
      const codes = (TOGETHER[want[name]] || [want[name]]).map((value) => this.c[name].values.indexOf(value));
      const at = this.c[name].at;
      tests.push((row) => codes.includes(at[row]));
    }
    if (want.agent !== undefined) tests.push((row) => this.c.agent[row] === Number(want.agent));
    if (want.event !== undefined) {
      const bit = 1 << this.data.events.findIndex(([name]) => name === want.event);
      tests.push((row) => (this.c.events[row] & bit) !== 0);
    }
    if (want.flag !== undefined) { const bit = want.flag === "borderline" ? 1 : 2; tests.push((row) => (this.c.flags[row] & bit) !== 0); }
    if (want.text) { const parts = want.text.toLowerCase().split(/\s+/); tests.push((row) => parts.every((part) => this.words[row].includes(part))); }
    this.shown = this.order.filter((row) => tests.every((test) => test(row)));
    if (this.sort) {
      const { key } = this.list.find((column) => column.title === this.sort.title), way = this.sort.down ? -1 : 1;
      const keys = new Map(this.shown.map((row) => [row, key(row)]));
      this.shown.sort((a, b) => {
        const one = keys.get(a), other = keys.get(b);
        if (one === Infinity || other === Infinity) return one === other ? a - b : one === Infinity ? 1 : -1;
        return one === other ? a - b : (one < other ? -1 : 1) * way;
      });
    }
    if (this.top) this.scroller.scrollTop = this.top = 0;
    this.focused = -1;
    this.scroller.style.setProperty("--rows", Math.max(this.shown.length, 1));
    const filtered = Object.keys(want).length > 0;
    byId("count").textContent = plural(this.shown.length, "call", "calls") +
      (filtered ? " of " + this.n : ", those to look at first on top");
    this.drawn = "";
    this.draw();
  }
  draw(all) {
    const height = this.height || 600;
    const from = all ? 0 : Math.max(Math.floor(this.top / ROW) - EXTRA, 0);
    const to = all ? Math.min(this.shown.length, PRINTED) : Math.min(from + Math.ceil(height / ROW) + 2 * EXTRA, this.shown.length);
    const mark = from + "-" + to;
    if (mark === this.drawn) return;
    this.drawn = mark;
    const rows = [];
    const gap = (count) => {
      const row = el("tr", { class: "gap", "aria-hidden": "true" }, el("td", { colspan: this.list.length }));
      row.firstChild.style.height = count * ROW + "px";
      return row;
    };
    if (from > 0) rows.push(gap(from));
    for (let place = from; place < to; place++) rows.push(this.row(place));
    if (to < this.shown.length && !all) rows.push(gap(this.shown.length - to));
    const more = "and " + (this.shown.length - to) + " more calls, which are not printed";
    if (to < this.shown.length && all) rows.push(el("tr", {}, el("td", { colspan: this.list.length }, more)));
    if (!this.shown.length) rows.push(el("tr", {}, el("td", { colspan: this.list.length, class: "empty" }, "No call fits these filters.")));
    const focus = this.focused;
    this.body.replaceChildren(...rows);
    if (focus >= from && focus < to && document.activeElement === document.body) this.focus(focus);
  }
  row(place) {
    const at = this.shown[place];
    const open = (event) => {
      if (this.c.page[at] >= 0 && !event.target.closest("a")) location.hash = "#call=" + encodeURIComponent(this.c.call[at]);
    };
    return el("tr", { "aria-rowindex": place + 2, "data-place": place, class: this.c.page[at] >= 0 ? "open" : null, onclick: open },
      this.list.map((column) => el("td", { class: column.kind }, column.cell(at))));
  }
  focus(place) {
    this.focused = place;
    const link = this.body.querySelector('[data-place="' + place + '"] a');
    if (link) link.focus({ preventScroll: true });
  }
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || !this.shown.length) return;
    event.preventDefault();
    const row = event.target.closest("[data-place]");
    const start = row ? Number(row.dataset.place) : -1;
    const place = Math.min(Math.max(start + step, 0), this.shown.length - 1);
    const top = place * ROW, view = this.scroller;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + 2 * ROW > view.scrollTop + view.clientHeight - ROW) view.scrollTop = top + 3 * ROW - view.clientHeight;
    this.top = view.scrollTop;
    this.draw();
    this.focus(place);
  }
  place(name) { return this.c.call.indexOf(name); }
  beside(at, by) {
    const open = this.shown.filter((row) => this.c.page[row] >= 0);
    const list = open.includes(at) ? open : this.order.filter((row) => this.c.page[row] >= 0);
    const here = list.indexOf(at), next = list[here + by];
    return { at: next, here: here + 1, of: list.length };
  }
}
