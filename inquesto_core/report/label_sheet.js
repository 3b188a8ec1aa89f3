
"use strict";
(() => {
  const sheet = document.body.dataset.sheet;
  const key = "inquesto-labels-" + sheet;
  const items = [...document.querySelectorAll("fieldset[data-item]")];
  const labeller = document.getElementById("labeller");
  const progress = document.getElementById("progress");
  const kept = document.getElementById("kept");
  const note = (item) => item.querySelector(".note input");
  const chosen = (item) => item.querySelector("input:checked");
  let here = -1;

  function show() {
    const done = items.filter(chosen).length;
    progress.textContent = done + " of " + items.length + " answered";
  }
  function keep() {
    const answers = {};
    for (const item of items) {
      const at = chosen(item);
      const text = note(item).value;
      if (at || text) answers[item.dataset.item] = [at ? at.value : "", text];
    }
    try {
      localStorage.setItem(key, JSON.stringify({ labeller: labeller.value, answers }));
    } catch (error) {
      kept.textContent = "This browser keeps nothing: download the CSV before you close the page.";
    }
    show();
  }
  function restore() {
    let saved = null;
    try { saved = JSON.parse(localStorage.getItem(key)); } catch (error) { saved = null; }
    if (!saved || typeof saved !== "object") return;
    labeller.value = String(saved.labeller || "");
    for (const item of items) {
      const answer = (saved.answers || {})[item.dataset.item];
      if (!Array.isArray(answer)) continue;
      for (const input of item.querySelectorAll("input[type=radio]")) {
        input.checked = input.value === answer[0];
      }
      note(item).value = String(answer[1] || "");
    }
    kept.textContent = "Answers that this browser kept were taken up again.";
  }
  function go(at) {
    if (at < 0 || at >= items.length) return;
    if (here >= 0) items[here].classList.remove("here");
    here = at;
    items[at].classList.add("here");
    items[at].scrollIntoView({ block: "center" });
    (chosen(items[at]) || items[at].querySelector("input[type=radio]")).focus({ preventScroll: true });
  }
  function nextOpen() {
    for (let step = 1; step <= items.length; step += 1) {
      const at = (Math.max(here, -1) + step) % items.length;
      if (!chosen(items[at])) { go(at); return; }
    }
  }
  // A cell that a spreadsheet would take for a formula gets an apostrophe before it.
  function cell(text) {
    const plain = text.replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, " ");
    const safe = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(plain) ? "'" + plain : plain;
    return '"' + safe.replace(/"/g, '""') + '"';
  }
  function csv() {
    const lines = ["item,question,verdict,labeller,note"];
    for (const item of items) {
      const at = chosen(item);
      lines.push([item.dataset.item, item.dataset.question, at ? at.value : "",
        labeller.value.trim(), note(item).value].map(cell).join(","));
    }
    return lines.join("\r\n") + "\r\n";
  }
  function save() {
    if (!labeller.value.trim()) {
      labeller.focus();
      kept.textContent = "Please give your name first: the CSV says whose answers it holds.";
      labeller.setCustomValidity("Your name is needed.");
      labeller.reportValidity();
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    const name = labeller.value.trim().replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40) || "labeller";
    link.download = "labels-" + sheet + "-" + name + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  document.addEventListener("input", (event) => {
    if (event.target === labeller) labeller.setCustomValidity("");
    keep();
  });
  document.addEventListener("focusin", (event) => {
    const at = items.findIndex((item) => item.contains(event.target));
    if (at < 0 || at === here) return;
    if (here >= 0) items[here].classList.remove("here");
    here = at;
    items[at].classList.add("here");
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text]");
    if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
    const value = { t: "true", f: "false", u: "unsure" }[event.key];
    if (value && here >= 0) {
      items[here].querySelector("input[value=" + value + "]").checked = true;
      keep();
    } else if (event.key === "n") nextOpen();
    else if (event.key === "j") go(here + 1);
    else if (event.key === "k") go(here - 1);
    else return;
    event.preventDefault();
  });
  document.getElementById("next").addEventListener("click", nextOpen);
  document.getElementById("save").addEventListener("click", save);
  restore();
  show();
})();
