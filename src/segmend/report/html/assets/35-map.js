// The map of brokers and log dirs is one stop of the Tab key; arrow keys go on to the cell beside.
(() => {
  "use strict";
  const map = document.querySelector(".map");
  if (!map) return;
  const cells = [...map.querySelectorAll("a.cell")];
  for (const cell of cells.slice(1)) cell.tabIndex = -1;
  const middle = (cell) => { const box = cell.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; };
  // The nearest cell in that direction; what lies aside of it counts as further away.
  function beside(from, [right, down]) {
    const [x, y] = middle(from);
    let [best, least] = [null, Infinity];
    for (const cell of cells) {
      const [ahead, aside] = ((dx, dy) => right ? [dx * right, Math.abs(dy)] : [dy * down, Math.abs(dx)])(middle(cell)[0] - x, middle(cell)[1] - y);
      if (ahead > 2 && ahead + 4 * aside < least) [best, least] = [cell, ahead + 4 * aside];
    }
    return best;
  }
  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  map.addEventListener("keydown", (event) => {
    const next = ways[event.key] && event.target.matches("a.cell") && beside(event.target, ways[event.key]);
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
})();
