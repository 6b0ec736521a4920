// Copies a command. A page opened from a file may have no clipboard API; then the old way is taken.
(() => {
  "use strict";
  function theOldWay(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return theOldWay(text);
    }
  }
  addEventListener("click", async (event) => {
    const button = event.target.closest?.(".copy");
    if (!button) return;
    const done = await copy(button.previousElementSibling.textContent);
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    button.classList.toggle("done", done);
    setTimeout(() => { button.textContent = "Copy"; button.classList.remove("done"); }, 1600);
  });
})();
