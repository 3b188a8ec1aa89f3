// Elements are made here, and only from text: no string is ever read as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

async function unpack(id) {
  const packed = new Blob([bytesOf(byId(id).textContent)]).stream();
  const plain = packed.pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(plain).text());
}

function clock(ms, digits = 3) {
  if (ms === null || ms === undefined) return "–";
  const rest = Math.max(ms, 0);
  const seconds = Math.floor(rest / 1000) % 60;
  const text = Math.floor(rest / 60000) + ":" + String(seconds).padStart(2, "0");
  return digits ? text + "." + String(Math.floor(rest % 1000)).padStart(3, "0").slice(0, digits) : text;
}
const severity = (level) => el("span", { class: "sev s" + level }, "S" + level);
const plural = (n, one, many) => n + " " + (n === 1 ? one : many);
