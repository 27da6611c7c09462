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

  // Unfold the <details> element that a link points to.
  function unfold() {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
    }
  }

  apply();
  window.addEventListener("hashchange", unfold);
  document.addEventListener("DOMContentLoaded", () => {
    makeThemeButton();
    unfold();
    document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
  });
})();
