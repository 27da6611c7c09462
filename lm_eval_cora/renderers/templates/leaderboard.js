(() => {
  const folded = (text) => text.trim().toLocaleLowerCase();

  function matches(select, value) {
    return !select.value || select.value === value;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const [search, task, settings, count, filters] =
      ["search", "task", "settings", "count", "filters"].map((id) => document.getElementById(id));
    const boards = [...document.querySelectorAll(".board")];
    const overview = document.getElementById("overview");
    const names = new Map();
    for (const row of document.querySelectorAll("[data-model]")) {
      names.set(row, folded(row.querySelector("th").textContent));
    }

    function filter() {
      const wanted = folded(search.value);
      const shown = new Set();
      for (const board of boards) {
        let rows = 0;
        const fits = matches(task, board.dataset.task) && matches(settings, board.dataset.settings);
        for (const row of board.querySelectorAll("[data-model]")) {
          row.hidden = !names.get(row).includes(wanted);
          if (!row.hidden && fits) {
            rows += 1;
            shown.add(names.get(row));
          }
        }
        board.hidden = !fits || !rows;
        board.dataset.fits = fits;
      }
      if (overview) {
        for (const cell of overview.querySelectorAll("[data-board]")) {
          cell.hidden = boards[cell.dataset.board - 1].dataset.fits !== "true";
        }
        for (const row of overview.querySelectorAll("[data-model]")) {
          row.hidden = !shown.has(names.get(row));
        }
        overview.hidden = !shown.size;
      }
      count.textContent = `${shown.size} model${shown.size === 1 ? "" : "s"}`;
    }

    for (const input of [search, task, settings]) {
      input.addEventListener("input", filter);
    }
    filters.hidden = false;
    // The browser may have kept the fields of an earlier visit.
    filter();
  });
})();
