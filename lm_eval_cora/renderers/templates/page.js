"use strict";
(() => {
  // The media of the dark style sheet decide where the dark theme applies.
  const MEDIA = { auto: "screen and (prefers-color-scheme: dark)", light: "not all", dark: "screen" };
  const KEY = "lm-eval-cora-theme";

  // A page opened from a file may have no storage. The choice of the theme is then lost on reload.
  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function store(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // See stored().
    }
  }

  const known = Object.keys(MEDIA);
  let theme = known.includes(stored()) ? stored() : "auto";

  function apply() {
    document.getElementById("dark").media = MEDIA[theme];
  }

  function makeThemeButton() {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = `Theme: ${theme}`; };
    button.addEventListener("click", () => {
      theme = known[(known.indexOf(theme) + 1) % known.length];
      store(theme);
      apply();
      label();
    });
    label();
    button.hidden = false;
  }

  // Compare numbers by value and texts alphabetically. Undefined numbers come last in both orders.
  function compare(one, other, sign) {
    const numeric = "value" in one.dataset || "value" in other.dataset;
    if (!numeric) {
      return sign * one.textContent.localeCompare(other.textContent, undefined, { numeric: true });
    }
    const [left, right] = [one, other].map((cell) => parseFloat(cell.dataset.value));
    if (isNaN(left) || isNaN(right)) {
      return isNaN(left) - isNaN(right);
    }
    return sign * (left - right);
  }

  function sort(table, header) {
    const order = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of header.parentElement.cells) {
      other.setAttribute("aria-sort", other === header ? order : "none");
    }
    const sign = order === "ascending" ? 1 : -1;
    const column = header.cellIndex;
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => compare(one.cells[column], other.cells[column], sign));
    table.tBodies[0].append(...rows);
  }

  function makeSortable(table) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(table, header));
    }
  }

  // Unfold the <details> elements around a place that a link points to, and the place itself.
  function unfold() {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      // It is not encoded.
    }
    const target = document.getElementById(name);
    const folded = target && target.closest("details");
    for (let each = folded; each; each = each.parentElement.closest("details")) {
      each.open = true;
    }
    if (folded) {
      target.scrollIntoView();
    }
  }

  // Paper has everything that the page folds, apart from the answers to single questions and the numbers of charts.
  function unfoldForPaper() {
    const folded = document.querySelectorAll("details:is(.fold, .more, .glossary):not([open])");
    folded.forEach((each) => { each.open = true; });
    window.addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }), { once: true });
  }

  // Mark the part of the menu that is in view, and keep its name in view.
  function follow(menu) {
    const links = [...menu.querySelectorAll("a")];
    const parts = links.map((link) => document.getElementById(link.hash.slice(1)));
    let current = -1;
    const mark = () => {
      const begun = parts.map((part) => part.getBoundingClientRect().top < innerHeight / 3);
      const atEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
      const now = atEnd ? links.length - 1 : Math.max(0, begun.lastIndexOf(true));
      if (now !== current) {
        links[current]?.removeAttribute("aria-current");
        links[now].setAttribute("aria-current", "location");
        menu.scrollLeft = links[now].offsetLeft - 48;
        current = now;
      }
    };
    window.addEventListener("scroll", mark, { passive: true });
    mark();
  }

  // A copy of a chart for other programs. They have no variables, so it gets the fallback of each: the light theme.
  function standalone(chart, title) {
    const copy = chart.cloneNode(true);
    const [, , width, height] = chart.getAttribute("viewBox").split(" ");
    copy.setAttribute("width", `${width}pt`);
    copy.setAttribute("height", `${height}pt`);
    copy.setAttribute("font-family", "sans-serif");
    copy.removeAttribute("class");
    copy.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));
    for (const element of copy.querySelectorAll("[style]")) {
      const style = element.getAttribute("style").replace(/var\(--[\w-]+, (#[0-9a-f]{6})\)/g, "$1");
      element.setAttribute("style", style.replaceAll("system-ui, sans-serif", "sans-serif"));
    }
    for (const element of copy.querySelectorAll("use")) {
      element.setAttributeNS("http://www.w3.org/1999/xlink", "xlink:href", element.getAttribute("href"));
    }
    const name = document.createElementNS("http://www.w3.org/2000/svg", "title");
    name.textContent = title;
    copy.prepend(name);
    return new XMLSerializer().serializeToString(copy);
  }

  function makeDownload(button) {
    const figure = button.closest("figure");
    const title = figure.querySelector("figcaption").textContent.trim();
    button.addEventListener("click", () => {
      const svg = standalone(figure.querySelector("svg"), title);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
      link.download = `${title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80) || "figure"}.svg`;
      link.click();
      // The browser still reads the file after the click.
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    });
    button.hidden = false;
  }

  apply();
  window.addEventListener("hashchange", unfold);
  window.addEventListener("beforeprint", unfoldForPaper);
  // A link to the place of the address does not change it, but its target may be folded again.
  document.addEventListener("click", (event) => event.target.closest("a[href^='#']") && setTimeout(unfold));
  document.addEventListener("DOMContentLoaded", () => {
    makeThemeButton();
    unfold();
    document.querySelectorAll("nav").forEach(follow);
    document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
    document.querySelectorAll("button.download").forEach(makeDownload);
  });
})();
