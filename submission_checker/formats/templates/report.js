"use strict";
(() => {
  const form = document.getElementById("filters");
  const fields = ["submitter", "division", "rule", "severity", "text"];
  const cards = [...document.querySelectorAll("article.finding")];
  const groups = [...document.querySelectorAll("section.group")];
  const words = new Map();
  for (const element of document.querySelectorAll(".only-script")) element.hidden = false;

  const wordsOf = (card) => {
    if (!words.has(card)) words.set(card, card.textContent.toLowerCase().replace(/\s+/g, " "));
    return words.get(card);
  };
  const wanted = () => Object.fromEntries(fields.map((name) => [name, form.elements[name].value]));

  function apply() {
    const want = wanted();
    const text = want.text.trim().toLowerCase().replace(/\s+/g, " ");
    let shown = 0;
    for (const card of cards) {
      const hit = ["submitter", "division", "rule", "severity"].every((name) => !want[name] || card.dataset[name] === want[name])
        && (!text || wordsOf(card).includes(text));
      card.hidden = !hit;
      shown += hit;
    }
    for (const group of groups) group.hidden = !group.querySelector("article.finding:not([hidden])");
    const all = cards.length === 1 ? "1 finding" : `${cards.length} findings`;
    document.getElementById("shown").textContent = shown === cards.length ? all : `${shown} of ${all}`;
  }

  function remember() {
    const set = Object.entries(wanted()).filter(([, value]) => value);
    history.replaceState(null, "", set.length ? `#?${new URLSearchParams(set)}` : "#findings");
  }

  function reveal(card) {
    if (card.hidden) { form.reset(); apply(); }
    const details = card.querySelector("details");
    if (details) details.open = true;
    card.scrollIntoView();
    card.focus({ preventScroll: true });
  }

  // The address says what is shown: #?submitter=...&rule=... filters, #f-... is one finding, anything else a place.
  function follow() {
    const hash = location.hash;
    if (hash.startsWith("#?")) {
      const query = new URLSearchParams(hash.slice(2));
      for (const name of fields) {
        const field = form.elements[name];
        field.value = query.get(name) ?? "";
        if (field.selectedIndex === -1) field.value = "";
      }
      apply();
      document.getElementById("findings").scrollIntoView();
      document.getElementById("findings").focus({ preventScroll: true });
      return;
    }
    let target = null;
    try { target = document.getElementById(decodeURIComponent(hash.slice(1))); } catch { /* no such place */ }
    if (target && target.matches("article.finding")) reveal(target);
  }

  for (const event of ["input", "change"]) form.addEventListener(event, () => { apply(); remember(); });
  form.addEventListener("reset", () => setTimeout(() => { apply(); remember(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", follow);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, button")) return;
    if (event.key === "/") {
      event.preventDefault();
      form.elements.text.focus();
    } else if (event.key === "j" || event.key === "k") {
      const visible = cards.filter((card) => !card.hidden);
      const at = visible.indexOf(document.activeElement?.closest("article.finding"));
      const next = visible[event.key === "j" ? at + 1 : Math.max(at - 1, 0)];
      if (next) { next.scrollIntoView({ block: "nearest" }); next.focus({ preventScroll: true }); }
    }
  });

  const allRules = document.getElementById("all-rules");
  if (allRules) allRules.addEventListener("change", () => {
    document.querySelector("table.map").classList.toggle("all", allRules.checked);
  });

  const theme = document.getElementById("theme");
  const root = document.documentElement;
  const store = (value) => { try { return value ? localStorage.setItem("theme", value) : localStorage.getItem("theme"); } catch { return null; } };
  const known = store();
  if (known === "light" || known === "dark") root.dataset.theme = known;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = getComputedStyle(root).colorScheme === "dark"
      || (getComputedStyle(root).colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset.theme = dark ? "light" : "dark";
    store(root.dataset.theme);
  });

  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  window.addEventListener("afterprint", () => { for (const details of opened) details.open = false; });

  apply();
  follow();
})();
