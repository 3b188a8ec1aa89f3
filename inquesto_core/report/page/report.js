// Which part of the report is in sight: the address after # says it.
const blocks = new Map();
let calls = null, clips = null, current = null, left = 0, agent = 0;

function showAgent(next) {
  agent = next;
  document.querySelectorAll("article.agent").forEach((part) => {
    const here = Number(part.dataset.agent) === agent;
    part.hidden = !here;
    part.querySelectorAll("[data-part]").forEach((each) => { if (here) each.id = each.dataset.part; else each.removeAttribute("id"); });
  });
  for (const button of document.querySelectorAll(".agents button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.agent) === agent));
  }
}
function copy(button) {
  const text = button.parentElement.querySelector("code");
  const range = document.createRange();
  range.selectNodeContents(text);
  const picked = getSelection();
  picked.removeAllRanges();
  picked.addRange(range);
  const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
  if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text.textContent).then(done, () => {});
  else if (document.execCommand("copy")) done();
}
function showRecord(target) {
  const came = !byId("call").hidden;
  if (current) { current.left(); current = null; }
  byId("call").hidden = true;
  byId("call").replaceChildren();
  byId("record").hidden = false;
  document.title = document.title.replace(/^.*? · /, "");
  if (calls && came) { calls.drawn = ""; calls.draw(); }
  const part = target && byId(target);
  if (part && part.id !== "record") part.scrollIntoView();
  else if (came) window.scrollTo(0, left);
  else if (target === "record") window.scrollTo(0, 0);
}
async function showCall(name) {
  const at = calls.place(name), block = at < 0 ? -1 : calls.c.page[at];
  if (byId("call").hidden) left = window.scrollY;
  const holder = byId("call");
  if (block < 0) {
    holder.replaceChildren(el("article", { class: "page" }, el("nav", { class: "turn" }, el("a", { href: "#calls", class: "back" }, "← All calls")),
      el("h1", {}, name), el("p", { class: "empty" }, at < 0 ? "This report has no such call."
        : "This report has no page of this call; inquesto-core explain RUN CALL shows it.")));
  } else {
    if (!blocks.has(block)) blocks.set(block, unpack("pages-" + block));
    const page = (await blocks.get(block))[at];
    showAgent(calls.c.agent[at]);
    const link = ({ at: next }) => next === undefined ? null : "#call=" + encodeURIComponent(calls.c.call[next]);
    const before = calls.beside(at, -1), after = calls.beside(at, 1);
    if (current) current.left();
    const why = document.querySelector(".notes") ? "; the notes above the table of calls say why." : ".";
    current = callView(page, {
      events: calls.data.events, clips: clips[at] || [], silent: "This report holds no sound of this call" + why,
      back: "#calls", previous: link(before), next: link(after), where: before.here + " of " + before.of,
    });
    holder.replaceChildren(current);
  }
  byId("record").hidden = true;
  holder.hidden = false;
  document.title = name + " · " + document.title.replace(/^.*? · /, "");
  if (current) current.shown();
  window.scrollTo(0, 0);
  holder.focus({ preventScroll: true });
}
async function route() {
  const address = location.hash.slice(1);
  if (address.startsWith("call=")) {
    let name = address.slice(5);
    try { name = decodeURIComponent(name); } catch { /* as it stands */ }
    await showCall(name);
    return;
  }
  const [part, query] = address.split("?");
  if (query !== undefined) {
    const wanted = Object.fromEntries(new URLSearchParams(query));
    if (wanted.agent !== undefined && wanted.agent !== "") showAgent(Number(wanted.agent));
    calls.set(wanted);
  }
  showRecord(part || null);
}
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.key === "/" && !byId("record").hidden) {
    event.preventDefault();
    byId("f-text").focus();
    byId("f-text").scrollIntoView({ block: "center" });
  }
  if (byId("call").hidden) return;
  const to = { j: "a[rel=next]", k: "a[rel=prev]", Escape: "a.back" }[event.key];
  const link = to && byId("call").querySelector(to + "[href]");
  if (link) link.click();
}
const THEMES = [["", "Auto", "as the system has them"], ["light", "Light", "light"], ["dark", "Dark", "dark"]];
function theme() {
  const root = document.documentElement, here = THEMES.findIndex(([name]) => name === (root.dataset.theme || ""));
  const [name, text, words] = THEMES[(here + 1) % THEMES.length];
  if (name) root.dataset.theme = name; else delete root.dataset.theme;
  byId("theme").textContent = text;
  byId("theme").setAttribute("aria-label", "Colours: " + words);
}

async function begin() {
  showAgent(0);
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button)));
  document.querySelectorAll(".agents button").forEach((button) => button.addEventListener("click", () => {
    showAgent(Number(button.dataset.agent));
    if (location.hash.startsWith("#call=")) location.hash = "#record";
    if (calls) calls.set({ ...calls.state(), agent: button.dataset.agent });
  }));
  byId("theme").addEventListener("click", theme);
  document.addEventListener("keydown", keys);
  document.addEventListener("click", (event) => {
    const again = event.target.closest("a[href^='#calls?']");
    // The address does not change, yet the filters may have: they are set anew.
    if (again && again.getAttribute("href") === location.hash) route();
    const link = event.target.closest("a[data-line]");
    if (!link) return;
    event.preventDefault();
    const line = byId("line-" + link.dataset.line);
    if (line) { line.scrollIntoView({ block: "center" }); line.focus({ preventScroll: true }); }
  });
  [calls, clips] = await Promise.all([unpack("data-columns").then((data) => new CallTable(data)), unpack("data-clips")]);
  const form = byId("filters");
  form.addEventListener("input", () => calls.apply());
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => calls.apply()));
  calls.set({ agent: "0" });
  // The pages of calls lie behind this script.
  if (document.readyState === "loading" && location.hash.startsWith("#call=")) {
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  }
  window.addEventListener("hashchange", route);
  window.addEventListener("resize", () => { if (current) current.shown(); });
  window.addEventListener("beforeprint", () => { calls.drawn = ""; calls.draw(true); });
  window.addEventListener("afterprint", () => { calls.drawn = ""; calls.draw(); });
  await route();
  document.documentElement.dataset.ready = "";
}
begin().catch((error) => {
  byId("count").textContent = "The calls cannot be shown by this browser (" + error.message + "). A current Chromium, Firefox or Safari can.";
});
