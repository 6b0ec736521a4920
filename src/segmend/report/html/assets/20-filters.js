// Filters the findings by severity, broker, topic, code and text; the state lives in location.hash,
// as in #severity=error,warning&broker=2&q=index, so that a filtered report can be linked to.
// Rows that are not printed are packed in the page; the first filter or "Show more" unpacks them.
(() => {
  "use strict";
  const form = document.querySelector(".filters");
  if (!form) return;
  const facets = JSON.parse(document.getElementById("data").textContent).findings;
  const chips = [...form.querySelectorAll("[data-severity]")];
  const fields = ["broker", "topic", "code", "q"].map((name) => form.elements[name]);
  const clear = form.querySelector("[type=reset]");
  const matches = document.getElementById("match-count");
  const nothing = document.getElementById("no-match");
  const PAGE = 60;
  const groups = [...document.querySelectorAll(".group")].map((element) => ({
    element,
    list: element.querySelector(".rows"),
    more: [...element.querySelectorAll(".more:has(button)")].find((each) => each.closest(".group") === element),
    waiting: canUnpack ? Number(element.dataset.packed) : 0,
    packed: [],
    added: [],
    limit: 0,
    badge: element.querySelector(".times"),
    inner: [...element.querySelectorAll(".group")],
    rows: [...element.querySelectorAll(".finding")].filter((row) => row.closest(".group") === element).map((row) => ({ row, facets: facets[row.dataset.id], text: null })),
  }));
  const whole = groups.reduce((sum, group) => sum + group.rows.length + group.waiting, 0);

  const severities = () => chips.filter((c) => c.getAttribute("aria-pressed") === "true").map((c) => c.dataset.severity);

  // A message that is the headline, and words of the broker common to a code, are printed once above the rows.
  function textOf(item) {
    if (item.text === null) {
      const group = item.row?.closest(".group") ?? item.group;
      const shared = [group.querySelector(".manual blockquote")];
      if (!(item.row ? item.row.querySelector(".what > p") : item.values[7])) shared.push(group.querySelector(".headline"));
      const own = item.row ? item.row.textContent : item.values.flat().join(" ");
      item.text = [own, ...shared.map((element) => element?.textContent ?? "")].join(" ").toLowerCase();
    }
    return item.text;
  }

  // The partition and the log dir, which a search after "=" means alone and whole.
  function placesOf(item) {
    const part = (selector) => item.row.querySelector(selector)?.textContent.trim();
    item.places ??= item.row ? [part(".where strong"), part(".where > span > code")] : [item.values[3], item.values[4]];
    return item.places;
  }

  function matcher() {
    const wanted = severities();
    const [broker, topic, code, q] = fields.map((field) => field.value);
    const exactly = q.startsWith("=") ? q.slice(1).trim() : null;
    const words = exactly === null ? q.toLowerCase().split(/\s+/).filter(Boolean) : [];
    return (item) =>
      (!wanted.length || wanted.includes(item.facets[0])) &&
      (!broker || item.facets[1] === broker) &&
      (!topic || item.facets[2] === topic) &&
      (!code || item.facets[3] === code) &&
      (exactly === null || placesOf(item).includes(exactly)) &&
      words.every((word) => textOf(item).includes(word) || item.facets[3].toLowerCase() === word);
  }

  const active = () => severities().length > 0 || fields.some((field) => field.value);

  function apply() {
    if (active() && groups.some((group) => group.waiting)) {
      unpack().then(() => { apply(); openMatching(); });
      return;
    }
    const fits = matcher();
    const filtered = active();
    let shown = 0;
    // A group within another comes after it: looked at from the end, it is known when the outer one is asked.
    for (const group of groups.toReversed()) {
      let here = 0;
      for (const item of group.rows) {
        item.row.hidden = !fits(item);
        here += item.row.hidden ? 0 : 1;
      }
      here += page(group, group.packed.filter(fits), filtered);
      group.element.hidden = here === 0 && group.inner.every((each) => each.hidden);
      const total = Number(group.badge.dataset.total).toLocaleString("en");
      const all = group.rows.length + group.packed.length;
      group.badge.textContent = filtered && here < all ? `${here.toLocaleString("en")} of ${total}` : total;
      shown += here;
    }
    const [some, all] = [shown, whole].map((count) => count.toLocaleString("en"));
    matches.textContent = filtered ? `${some} of ${all} findings` : `${all} finding${whole === 1 ? "" : "s"}`;
    clear.hidden = !filtered;
    nothing.hidden = shown > 0;
  }

  // The packed rows of a group that fit, as many as were asked for; a filter asks for a first page.
  function page(group, fitting, filtered) {
    for (const row of group.added) row.remove();
    const count = Math.max(group.limit, filtered ? PAGE : 0);
    group.added = fitting.slice(0, count).map((item) => (item.element ??= element(item.values)));
    group.list.append(...group.added);
    if (group.more && (group.waiting || group.packed.length)) {
      const left = group.waiting || fitting.length - group.added.length;
      group.more.hidden = left === 0;
      group.more.querySelector("button").textContent = `Show ${Math.min(PAGE, left)} more`;
      group.more.querySelector("span").textContent = `of ${left.toLocaleString("en")}`;
    }
    return fitting.length;
  }

  // A row as the template of the printed ones has it, without the parts that this one lacks.
  function element(values) {
    const [, broker, , place, dir, file, facts, message, effect, says, command, safety, cause] = values;
    const row = document.getElementById("finding-row").content.firstElementChild.cloneNode(true);
    const part = (selector, text) => {
      const found = row.querySelector(selector);
      if (text) found.lastChild.textContent = text;
      else found.remove();
      return found;
    };
    part(".where strong", place || "the log dir");
    row.querySelector(".where span").firstChild.textContent = `broker ${broker} `;
    part(".where span code", dir || " ");
    part(".where .file", file);
    part(".where .facts", facts.length ? " " : "").replaceChildren(...facts.map((fact) => {
      const span = document.createElement("span");
      span.textContent = fact;
      return span;
    }));
    part(".message", message);
    part(".effect", effect);
    part(".says", says);
    if (cause) part(".cause code", cause);
    else part(".cause", "");
    if (command) part(".next .command code", command);
    else part(".next", "");
    const badge = safety && document.getElementById("badges").content.querySelector(`.${safety}`);
    if (badge && command) row.querySelector(".next").append(badge.cloneNode(true));
    return row;
  }

  let unpacking = null;
  function unpack() {
    unpacking ??= (async () => {
      const found = await unpackedFrom("packed");
      if (!found) return;
      for (const group of groups) {
        group.packed = (found[group.element.dataset.number] ?? []).map((values) => ({
          values, group: group.element, row: null, text: null,
          facets: [values[0], values[1], values[2], group.element.dataset.code],
        }));
        group.waiting = 0;
      }
    })();
    return unpacking;
  }

  for (const group of groups) {
    if (group.more && !group.waiting) group.more.firstElementChild.remove();
    else group.more?.firstElementChild.addEventListener("click", async () => {
      await unpack();
      group.limit = group.added.length + PAGE;
      apply();
    });
  }

  function openMatching() {
    const few = groups.filter((group) => !group.element.hidden);
    if (active() && few.length <= 6) for (const group of few) group.element.open = true;
  }

  function write() {
    const state = new URLSearchParams();
    if (severities().length) state.set("severity", severities().join(","));
    for (const field of fields) if (field.value) state.set(field.name, field.value);
    const hash = state.toString().replaceAll("%2C", ",");
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function set(field, value) {
    field.value = value;
    // A broker or topic without a printed finding has no option yet; it must not silently mean "all".
    if (field.options && field.selectedIndex === -1) field.add(new Option(value, value, false, true));
  }

  function read() {
    const hash = location.hash.slice(1);
    // An anchor of the page leaves the filters alone; no hash at all, as when one goes back, clears them.
    if (hash && !hash.includes("=")) return false;
    const state = new URLSearchParams(hash);
    if (state.has("find")) return false;
    const wanted = (state.get("severity") ?? "").split(",");
    for (const chip of chips) chip.setAttribute("aria-pressed", String(wanted.includes(chip.dataset.severity)));
    for (const field of fields) set(field, state.get(field.name) ?? "");
    apply();
    openMatching();
    if (hash) document.getElementById("findings").scrollIntoView();
    return true;
  }

  function changed() {
    apply();
    openMatching();
    write();
  }

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      changed();
    });
  }
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const chip of chips) chip.setAttribute("aria-pressed", "false");
    for (const field of fields) field.value = "";
    changed();
  });
  addEventListener("hashchange", read);
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      // What is found is below the field: of a page that shows its head, all of that would be out of sight.
      const findings = document.getElementById("findings");
      if (findings.getBoundingClientRect().top > 0) findings.scrollIntoView({ behavior: "instant" });
      form.elements.q.focus({ preventScroll: true });
    } else if (event.key === "Escape" && document.activeElement === form.elements.q) {
      form.elements.q.value = "";
      changed();
    }
  });
  addEventListener("beforeprint", () => { for (const group of groups) group.element.open = true; });
  if (!read()) apply();
})();
