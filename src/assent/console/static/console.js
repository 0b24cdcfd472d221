// Live parts, keyboard shortcuts and one-click sign-in links. Every page works without this file.
"use strict";
(() => {
  const body = document.body;

  // A one-time sign-in link: pressing the button for the person who opened the link.
  const once = document.querySelector("form[data-submit]");
  if (once) once.requestSubmit();

  // Live parts: an event says that something changed; the part is fetched anew from the page's own address.
  let waiting = 0;
  function refresh() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const part of document.querySelectorAll("[data-live-part]")) {
        if (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) continue;
        htmx.ajax("GET", part.dataset.livePart || location.href, { target: "#" + part.id, select: "#" + part.id, swap: "outerHTML" });
      }
    }, 150);
  }
  if (body.dataset.live && document.querySelector("[data-live-part]")) {
    const source = new EventSource(body.dataset.live);
    let first = true;
    source.addEventListener("changed", () => { if (!first) refresh(); first = false; });
    addEventListener("pagehide", () => source.close());
  }

  // Keyboard: J and K move, Enter opens, A approves, R denies with a reason, X selects, Escape goes back.
  const off = document.getElementById("keys-off");
  if (off) {
    off.checked = localStorage.getItem("assent-keys") === "off";
    off.addEventListener("change", () => localStorage.setItem("assent-keys", off.checked ? "off" : "on"));
  }
  let at = -1;
  function move(by) {
    const items = [...document.querySelectorAll("[data-keys] > li")];
    if (!items.length) return;
    at = Math.min(Math.max(at + by, 0), items.length - 1);
    items.forEach((item, index) => item.classList.toggle("at", index === at));
    items[at].querySelector("a")?.focus();
  }
  const press = (selector) => document.querySelector(selector)?.click();
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => press("[data-key=approve]"),
    r: () => document.querySelector("[data-key=reason]")?.focus(),
    x: () => press("[data-keys] > li.at input[type=checkbox]"),
    escape: () => press("[data-key=back]"),
  };
  addEventListener("keydown", (event) => {
    if (localStorage.getItem("assent-keys") === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
    if (typing && event.key !== "Escape") return;
    const action = keys[event.key.toLowerCase()];
    if (action) { if (typing) event.target.blur(); else { event.preventDefault(); action(); } }
  });
})();
