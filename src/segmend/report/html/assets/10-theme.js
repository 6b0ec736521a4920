// Light, dark, or what the system says. The choice is kept where the browser lets a file keep things.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const key = "segmend-theme";
  const remembered = () => { try { return localStorage.getItem(key); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(key, theme); } catch { /* private mode */ } };
  const systemDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const show = (theme) => { if (theme === "light" || theme === "dark") root.dataset.theme = theme; };
  show(remembered());
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : systemDark();
    const next = dark ? "light" : "dark";
    show(next);
    remember(next);
  });
})();
