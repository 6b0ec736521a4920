// Tooltips, the highlight of a topic across plots, and the switch between the two time scales.
(() => {
  "use strict";
  const tip = document.getElementById("tip");
  function place(x, y) {
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > innerHeight ? Math.max(8, y - height - 12) : y + 18}px`;
  }
  function show(target, x, y) {
    tip.textContent = target.dataset.tip || target.getAttribute("aria-label");
    tip.hidden = false;
    place(x, y);
  }
  const hide = () => { tip.hidden = true; };
  addEventListener("pointermove", (event) => {
    const target = event.target.closest?.("[data-tip]");
    if (target) show(target, event.clientX, event.clientY); else hide();
  });
  addEventListener("focusin", (event) => {
    const target = event.target.closest?.("[data-tip]");
    if (!target?.matches(":focus-visible")) return;
    const box = target.getBoundingClientRect();
    show(target, box.left, box.bottom - 12);
  });
  addEventListener("focusout", hide);
  addEventListener("scroll", hide, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  const topics = [...document.querySelectorAll("[data-topic]")];
  function light(colour) {
    document.body.classList.toggle("dimmed", Boolean(colour));
    for (const element of topics) element.classList.toggle("lit", element.dataset.topic === colour);
  }
  for (const line of document.querySelectorAll(".legend li")) {
    for (const on of ["pointerenter", "focus"]) line.addEventListener(on, () => light(line.dataset.topic));
    for (const off of ["pointerleave", "blur"]) line.addEventListener(off, () => light(null));
  }

  const gantt = document.getElementById("gantt");
  const scales = [...document.querySelectorAll(".switch [data-scale]")];
  for (const button of scales) {
    button.addEventListener("click", () => {
      gantt.dataset.scale = button.dataset.scale;
      for (const other of scales) other.setAttribute("aria-pressed", String(other === button));
    });
  }
})();
