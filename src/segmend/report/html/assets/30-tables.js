// Sorts a table by the column whose heading is clicked; the values are in data-v.
(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true });
  const value = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const asNumber = (text) => { const number = parseFloat(text); return Number.isNaN(number) ? -Infinity : number; };
  const compare = {
    number: (a, b) => asNumber(a) - asNumber(b),
    text: (a, b) => collator.compare(a, b),
  };

  function sort(table, heading) {
    const column = heading.cellIndex;
    const first = heading.dataset.sort === "number" ? "descending" : "ascending";
    const other = first === "descending" ? "ascending" : "descending";
    const direction = heading.getAttribute("aria-sort") === first ? other : first;
    for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const order = compare[heading.dataset.sort];
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort((a, b) => sign * order(value(a, column), value(b, column))));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows[0]?.querySelector(".empty, td.empty")) continue;
    for (const heading of table.querySelectorAll("th[data-sort]")) {
      heading.firstElementChild.addEventListener("click", () => sort(table, heading));
    }
  }
})();
