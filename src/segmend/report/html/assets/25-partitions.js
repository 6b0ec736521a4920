// Finds partitions among all that were read, and opens one for its offsets and segments. Both are packed
// in the page: the partitions are unpacked when their section is near, the segments when one is opened.
// location.hash has what was looked for, as in #find=orders-3.
(() => {
  "use strict";
  const box = document.getElementById("explorer");
  if (!box || !canUnpack) return;
  const PAGE = 25;
  const SEGMENTS = 50;
  const field = document.querySelector(".find").elements.find;
  const counted = document.getElementById("find-count");
  const body = box.querySelector("tbody");
  const more = box.querySelector(":scope > .more");
  const headings = [...box.querySelectorAll("th[data-sort]")];
  const known = (value) => value !== null && value !== undefined;
  const told = (value) => known(value) ? Number.isInteger(value) ? value.toLocaleString("en") : String(value) : "—";
  const part = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
  const plural = (number, noun) => `${told(number)} ${noun}${number === 1 ? "" : "s"}`;

  function size(bytes) {
    if (!known(bytes)) return "—";
    let [value, unit] = [Number(bytes), 0];
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    while (Math.abs(value) >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
    return `${value.toFixed(unit === 0 || Math.abs(value) >= 99.95 ? 0 : 1)} ${units[unit]}`;
  }

  function time(ms) {
    if (!known(ms) || ms === -1) return "no time";
    if (typeof ms !== "number" || ms < 0 || ms > 253402300799999) return `no date (${ms})`;
    return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  }

  // As a shell takes it.
  const quoted = (path) => /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'"'"'`)}'`;

  let rows = null;
  let found = [];
  let shown = 0;
  let largest = 1;

  let unpacking = null;
  const unpack = () => unpacking ??= unpackedFrom("packed-partitions").then((columns) => {
    const { topics, dirs, kinds, names, held } = columns;
    let first = 0;
    rows = columns.topic.map((topic, at) => {
      const row = { at, topic: topics[topic], first, held: held[at], kind: kinds[columns.kind[at]] };
      [row.broker, row.path] = dirs[columns.dir[at]];
      row.name = names[at] ?? `${row.topic}-${columns.partition[at]}`;
      row.place = `${row.topic}-${columns.partition[at]}`;
      for (const name of ["error", "warning", "info", "bytes", "segments", "records", "start", "end", "watermark", "recovery", "epoch", "oldest", "newest"]) row[name] = columns[name][at];
      row.damaged = row.error + row.warning > 0;
      row.worst = row.error * 1e12 + row.warning * 1e6 + row.info;
      row.text = `${row.name} broker ${row.broker} ${row.path} ${row.kind === "current" ? "" : row.kind}${row.damaged ? " damaged" : ""}`.toLowerCase();
      first += row.held;
      return row;
    });
    largest = rows.reduce((most, row) => Math.max(most, Number(row.bytes)), 1);
    box.hidden = false;
    search();
  });
  let segments = null;
  const unpackSegments = () => segments ??= unpackedFrom("packed-segments");

  // A number behind "broker" is that broker (of each cluster) and no other; a whole name or path is that one alone.
  function search() {
    const text = field.value.toLowerCase().trim();
    const broker = /(?:^|\s)broker (\d+)(?=\s|$)/.exec(text);
    const words = (broker ? text.replace(broker[0], " ") : text).split(/\s+/).filter(Boolean);
    const fits = (row) => (!broker || row.broker.split(" ", 1)[0] === broker[1]) && words.every((word) => row.text.includes(word));
    found = rows.filter(fits);
    const same = text && found.filter((row) => [row.name, row.place, row.path].some((each) => each.toLowerCase() === words.join(" ")));
    if (same && same.length) found = same;
    counted.textContent = text ? `${told(found.length)} of ${plural(rows.length, "replica")}` : plural(rows.length, "replica");
    order();
  }

  const collator = new Intl.Collator("en", { numeric: true });
  const keys = { name: (a, b) => a.at - b.at, dir: (a, b) => collator.compare(a.broker, b.broker) || collator.compare(a.path, b.path) };
  function order() {
    const heading = headings.find((each) => each.hasAttribute("aria-sort"));
    const by = heading.dataset.sort;
    const value = (row) => known(row[by]) ? Number(row[by]) : -Infinity;
    const sign = heading.getAttribute("aria-sort") === "ascending" ? 1 : -1;
    const compare = keys[by] ?? ((a, b) => value(a) - value(b) || 0);
    found.sort((a, b) => sign * compare(a, b) || a.at - b.at);
    body.replaceChildren();
    shown = 0;
    page();
  }

  function page() {
    body.append(...found.slice(shown, shown + PAGE).map(line));
    shown = Math.min(found.length, shown + PAGE);
    rest(more, found.length - shown, PAGE, found.length ? "" : "No partition matches.");
  }

  function rest(element, left, step, otherwise) {
    element.hidden = left === 0 && !otherwise;
    element.firstElementChild.hidden = left === 0;
    element.firstElementChild.textContent = `Show ${Math.min(step, left)} more`;
    element.querySelector("span").textContent = left ? `of ${told(left)}` : otherwise;
  }

  function line(row) {
    const element = part("partition-row");
    const cells = element.cells;
    element.dataset.at = row.at;
    cells[0].querySelector("code").textContent = row.name;
    const badge = cells[0].querySelector(".badge");
    if (["current", "cluster-metadata", ""].includes(row.kind)) badge.remove(); else badge.textContent = row.kind;
    cells[1].firstElementChild.textContent = row.broker;
    cells[1].lastElementChild.textContent = row.path;
    cells[2].append(...findings(row));
    for (const [n, text] of [told(row.segments), told(row.records), told(row.end), time(row.newest)].entries()) cells[n + 3].textContent = text;
    bar(cells[7], row.bytes, largest);
    return element;
  }

  function bar(cell, bytes, most) {
    cell.querySelector("i").style.width = `${Math.max(0, Math.min(100, 100 * Number(bytes) / most)) || 0}%`;
    cell.querySelector("b").textContent = size(bytes);
  }

  // Each severity leads to those findings.
  function findings(row) {
    const glyphs = document.getElementById("glyphs").content;
    const some = ["error", "warning", "info"].filter((severity) => row[severity]);
    if (!some.length) return [glyphs.querySelector(".none").cloneNode(true)];
    return some.map((severity) => {
      const link = glyphs.querySelector(`a.${severity}`).cloneNode(true);
      const state = new URLSearchParams({ severity, broker: row.broker, topic: row.topic, q: `=${row.place}` });
      link.href = `#${state}`;
      link.lastElementChild.textContent = told(row[severity]);
      link.setAttribute("aria-label", `${row[severity]} ${severity} findings of ${row.name} on broker ${row.broker}`);
      return link;
    });
  }

  async function open(row, element) {
    const inside = part("partition-inside");
    const facts = [
      ["Log start offset", told(row.start)], ["High watermark", told(row.watermark)], ["Log end offset", told(row.end)],
      ["Recovery point", told(row.recovery)], ["Last epoch", told(row.epoch)], ["Oldest record", time(row.oldest)], ["Newest record", time(row.newest)],
    ];
    inside.querySelector("dl").append(...facts.map(([name, value]) => {
      const pair = document.createElement("div");
      for (const [tag, text] of [["dt", name], ["dd", value]]) {
        const each = document.createElement(tag);
        each.textContent = text;
        pair.append(each);
      }
      return pair;
    }));
    inside.querySelector(".command code").textContent = `segmend show ${quoted(`${row.path}/${row.name}`)}`;
    element.after(inside);
    const columns = row.held ? await unpackSegments() : null;
    const every = Array.from({ length: row.held }, (_, n) => row.first + n);
    const most = every.reduce((top, at) => Math.max(top, Number(columns.bytes[at])), 1);
    const list = inside.querySelector("tbody");
    const rows = Number(row.segments) || 0;
    const otherwise = rows > row.held ? `${plural(rows - row.held, "segment")} ${row.held ? "more " : ""}only in the segments table; the command above lists them, where the log dir is at hand` : "";
    inside.querySelector("table").hidden = !row.held;
    function next() {
      const from = list.rows.length;
      list.append(...every.slice(from, from + SEGMENTS).map((at) => segment(columns, at, most)));
      rest(inside.querySelector(".more"), row.held - list.rows.length, SEGMENTS, otherwise);
    }
    inside.querySelector(".more button").addEventListener("click", next);
    next();
  }

  function segment(columns, at, most) {
    const row = document.createElement("tr");
    const name = document.createElement("th");
    name.scope = "row";
    name.append(Object.assign(document.createElement("code"), { textContent: columns.base[at] }));
    if (columns.problems[at]) name.append(Object.assign(document.createElement("span"), { className: "badge lossy", textContent: plural(columns.problems[at], "problem") }));
    row.append(name);
    for (const text of [told(columns.records[at]), time(columns.oldest[at]), time(columns.newest[at])]) row.insertCell().textContent = text;
    row.append(document.getElementById("partition-row").content.querySelector("td.bar").cloneNode(true));
    bar(row.lastElementChild, columns.bytes[at], most);
    return row;
  }

  body.addEventListener("click", (event) => {
    const button = event.target.closest(".fold");
    if (!button) return;
    const element = button.closest("tr");
    const opened = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!opened));
    if (opened) element.nextElementSibling.remove();
    else open(rows[element.dataset.at], element);
  });
  for (const heading of headings) {
    heading.firstElementChild.addEventListener("click", () => {
      const first = ["name", "dir"].includes(heading.dataset.sort) ? "ascending" : "descending";
      const other = first === "descending" ? "ascending" : "descending";
      const direction = heading.getAttribute("aria-sort") === first ? other : first;
      for (const each of headings) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction);
      order();
    });
  }
  more.firstElementChild.addEventListener("click", page);
  field.form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("focus", unpack);
  field.addEventListener("input", () => {
    unpack().then(search);
    history.replaceState(null, "", field.value ? `#${new URLSearchParams({ find: field.value })}` : location.pathname + location.search);
  });
  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    if (!state.has("find")) return;
    field.value = state.get("find");
    unpack().then(search);
    document.getElementById("partitions").scrollIntoView();
  }
  addEventListener("hashchange", read);
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key !== "p" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.select();
  });
  const near = new IntersectionObserver((seen) => {
    if (!seen.some((each) => each.isIntersecting)) return;
    near.disconnect();
    unpack();
  }, { rootMargin: "600px" });
  near.observe(document.getElementById("partitions"));
  read();
})();
