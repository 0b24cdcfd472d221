// Live parts, keyboard shortcuts and one-click sign-in links. Every page works without this file.
"use strict";
(() => {
  const body = document.body;

  // A one-time sign-in link: pressing the button for the person who opened the link.
  const once = document.querySelector("form[data-submit]");
  if (once) once.requestSubmit();

  // On a phone the navigation shows where the person is, and filters that are not used are folded.
  document.querySelector(".side nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  if (matchMedia("(max-width: 46rem)").matches) document.querySelectorAll("[data-fold=phone]").forEach((box) => { box.open = false; });

  // Live parts: an event says that something changed; the part is fetched anew from the page's own address. What a
  // person has typed or selected in it stays.
  let waiting = 0;
  function refresh() {
    clearTimeout(waiting);
    waiting = setTimeout(() => document.querySelectorAll("[data-live-part]").forEach(renew), 150);
  }
  const fields = (part) => part.querySelectorAll("input[name]:not([type=hidden]), textarea[name], select[name]");
  const place = (field) => field.name + (field.type === "checkbox" || field.type === "radio" ? "=" + field.value : "");
  // A press on a link counts only if the link is still there when it ends: nothing is replaced while one is held.
  let pressed = Promise.resolve();
  addEventListener("pointerdown", () => {
    pressed = new Promise((ended) => ["pointerup", "pointercancel", "dragend", "blur"].forEach((name) =>
      addEventListener(name, () => setTimeout(ended), { once: true, capture: true })));
  }, true);
  async function fetched(part) {
    const answer = await fetch(part.dataset.livePart || location.href, { headers: { accept: "text/html" } });
    const page = answer.ok && !answer.redirected ? await answer.text() : "";
    await pressed;
    return new DOMParser().parseFromString(page, "text/html").getElementById(part.id);
  }
  async function renew(part) {
    if (part.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), textarea, select")) return;
    const kept = new Map();
    const keep = (field) => kept.set(place(field), { checked: field.checked, value: field.value });
    fields(part).forEach(keep);
    part.addEventListener("input", (event) => keep(event.target)); // also what changes while the new part is fetched
    const fresh = await fetched(part).catch(() => null); // the next change tries again
    if (!fresh || !part.isConnected) return;
    const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    part.replaceWith(fresh);
    for (const field of fields(fresh)) {
      if (!kept.has(place(field))) continue;
      if (field.type === "checkbox" || field.type === "radio") field.checked = kept.get(place(field)).checked;
      else field.value = kept.get(place(field)).value;
    }
    mark(focused);
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
  const items = () => [...document.querySelectorAll("[data-keys] > li")];
  function move(by) {
    const all = items();
    if (!all.length) return;
    at = Math.min(Math.max(at + by, 0), all.length - 1);
    all.forEach((item, index) => item.classList.toggle("at", index === at));
    all[at].querySelector("a")?.focus();
  }
  // After a part was fetched anew, the place of the keyboard is where the same link is now.
  function mark(href) {
    const found = items().findIndex((item) => href && item.querySelector("a")?.getAttribute("href") === href);
    if (found >= 0) { at = found; move(0); } else if (at >= items().length) at = items().length - 1;
  }
  const press = (selector) => document.querySelector(selector)?.click();
  // One key never approves a critical call: the first press says what the second one does.
  let armed = null;
  function approve(button) {
    if (!button || !button.dataset.twice || button === armed) { armed = null; button?.click(); return; }
    const words = button.textContent;
    armed = button;
    button.textContent = button.dataset.twice;
    button.focus();
    setTimeout(() => { armed = null; button.textContent = words; }, 4000);
  }
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => approve(document.querySelector("[data-key=approve]")),
    r: () => document.querySelector("[data-key=reason]")?.focus(),
    x: () => press("[data-keys] > li.at input[type=checkbox]"),
    "/": () => document.querySelector("[data-key=search]")?.focus(),
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
