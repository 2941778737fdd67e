// Fills the page from the server's snapshot. The page names its figures; this file finds them.
"use strict";

const EVERY_MS = 5000;
const LATE_MS = 20000;
const ROWS_MAX = 200;
const NONE = "–";

const whole = new Intl.NumberFormat("en");
const fine = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const shown = {
  count: (value) => whole.format(value),
  rate: (value) => fine.format(value),
  percent: (value) => fine.format(100 * value) + " %",
  ms: (value) => fine.format(value),
};

const find = (id) => document.getElementById(id);
const share = (part, all) => (all > 0 ? Math.min(1, part / all) : 0);

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

/** Puts one value in place of each `data-figure`, a path into the stats. */
function fillFigures(stats) {
  for (const place of document.querySelectorAll("[data-figure]")) {
    const at = (from, key) => (from === null || from === undefined ? from : from[key]);
    const value = place.dataset.figure.split(".").reduce(at, stats);
    // A state that no node is in, and a percentile of nothing.
    const absent = place.dataset.as ? NONE : "0";
    place.textContent = value === null || value === undefined ? absent : shown[place.dataset.as || "count"](value);
  }
}

const bar = (part) => ({ bar: part });

/** Rows of a table: each cell is a text, a number, or a bar. */
function fillTable(id, rows, none) {
  const body = find(id).tBodies[0];
  const made = rows.slice(0, ROWS_MAX).map((cells) => {
    const row = element("tr");
    const heads = [...(find(id).tHead?.rows[0].cells ?? [])];
    cells.forEach((cell, at) => {
      const narrow = heads[at]?.className ?? "";
      if (cell !== null && typeof cell === "object") {
        const made = element("td", undefined, narrow);
        const line = made.appendChild(element("i"));
        line.style.setProperty("--share", (100 * cell.bar).toFixed(1) + "%");
        row.append(made);
      } else {
        const text = typeof cell === "number" ? whole.format(cell) : cell ?? NONE;
        row.append(element("td", text, narrow));
      }
    });
    return row;
  });
  if (rows.length === 0 || rows.length > ROWS_MAX) {
    const more = rows.length === 0 ? none : `and ${whole.format(rows.length - ROWS_MAX)} more`;
    const cell = element("td", more, "none");
    cell.colSpan = 9;
    const row = element("tr");
    row.append(cell);
    made.push(row);
  }
  body.replaceChildren(...made);
}

/** The last minutes as a line, zero at the foot. */
function drawLine(svg, points) {
  const value = (point) => point[svg.dataset.line];
  const known = points.filter((point) => value(point) !== null);
  const top = Math.max(1e-9, ...points.map((point) => point[svg.dataset.top] ?? value(point) ?? 0));
  const first = points[0]?.at_ms ?? 0;
  const span = Math.max(1, (points.at(-1)?.at_ms ?? 0) - first);
  const spot = (point) => `${((point.at_ms - first) / span * 100).toFixed(2)} ${(39 - 37 * value(point) / top).toFixed(2)}`;
  const line = known.length > 1 ? "M" + known.map(spot).join("L") : "";
  const ends = known.length > 1 ? [known[0], known.at(-1)].map((point) => spot(point).split(" ")[0]) : [];
  svg.setAttribute("viewBox", "0 0 100 40");
  svg.setAttribute("preserveAspectRatio", "none");
  const path = (d, name) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
    made.setAttribute("d", d);
    made.setAttribute("class", name);
    return made;
  };
  const under = line && `${line}L${ends[1]} 40L${ends[0]} 40Z`;
  svg.replaceChildren(path(under, "under"), path(line, "over"));
}

function drawFleet(nodes) {
  const squares = nodes.map((node) => {
    const square = element("i", undefined, ["ready", "full"].includes(node.state) ? "" : "idle");
    square.title = `${node.node_id}: ${node.running} of ${node.max_jobs}, ${node.state}`;
    square.style.setProperty("--share", 100 * share(node.running, node.max_jobs) + "%");
    return square;
  });
  find("fleet").replaceChildren(...squares);
}

function span(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? units.at(-1);
  return `${Math.floor(seconds / size)} ${unit}`;
}

const percent = (value) => (value === null ? null : `${Math.round(value)} %`);

function fillTables(stats, cluster) {
  const pools = stats.pools.toSorted((a, b) => b.running - a.running || b.sessions - a.sessions);
  fillTable("pools", pools.map((pool) => [
    pool.pair.replace(":", " → "), bar(share(pool.slots - pool.free, pool.slots)), pool.running,
    pool.free, pool.slots, pool.nodes || "none", pool.sessions,
  ]), "No node has registered yet.");

  const causes = [...Object.entries(stats.jobs.refused_by_cause), ...Object.entries(stats.jobs.failed_by_cause)];
  const met = causes.filter(([, count]) => count > 0).toSorted((a, b) => b[1] - a[1]);
  fillTable("causes", met.map(([cause, count]) => [cause.replaceAll("_", " "), count]), "Nothing so far.");

  fillTable("instances", cluster.instances.map((instance) => [
    String(instance.identity.instance), instance.identity.hostname, instance.identity.version,
    span((cluster.made_at_ms - instance.identity.started_at_ms) / 1000), instance.nodes,
    instance.sessions, instance.in_flight,
    instance.resident_bytes === null ? null : `${whole.format(Math.round(instance.resident_bytes / 1048576))} MiB`,
  ]), "");

  const nodes = cluster.nodes.toSorted((a, b) => b.running / b.max_jobs - a.running / a.max_jobs);
  fillTable("nodes", nodes.map((node) => [
    node.node_id, node.state, bar(share(node.running, node.max_jobs)), node.running, node.max_jobs,
    percent(node.cpu_percent), percent(node.gpu_percent), percent(node.mem_percent),
    `${span(node.heard_s_ago)} ago`,
  ]), "No node has registered yet.");

  const types = Object.entries(stats.nodes.type_node_counts);
  const busy = stats.nodes.type_in_use_counts;
  fillTable("services", types.map(([type, count]) => [type, count, busy[type]]), "");

  const all = stats.nodes.connected_nodes;
  fillTable("models", stats.models.map((model) => [
    model.model_id, model.version, model.kind, bar(share(model.nodes, all)), model.nodes,
  ]), "No node has named a model.");

  const use = (row) => row.sessions_speaking + row.sessions_hearing;
  const most = Math.max(0, ...stats.languages.map(use));
  fillTable("languages", stats.languages.toSorted((a, b) => use(b) - use(a)).map((row) => [
    row.language, bar(share(use(row), most)), row.sessions_speaking, row.sessions_hearing,
    row.asr_nodes, row.tts_nodes,
  ]), "No node and no session yet.");
}

let made = 0;
let heard = 0;

function tellPulse() {
  const live = Date.now() - heard < LATE_MS;
  find("pulse").classList.toggle("live", live);
  document.body.classList.toggle("lost", heard > 0 && !live);
  if (heard > 0) find("pulse").textContent = live ? "live" : `no answer for ${span((Date.now() - heard) / 1000)}`;
}

async function refresh() {
  const read = async (path) => {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer.json();
  };
  const paths = ["/api/v1/stats", "/api/v1/cluster", "/api/v1/history"];
  const [stats, cluster, history] = await Promise.all(paths.map(read));
  heard = Date.now();
  if (stats.made_at_ms === made) return;
  made = stats.made_at_ms;
  fillFigures(stats);
  fillTables(stats, cluster);
  drawFleet(cluster.nodes);
  document.querySelectorAll("svg.line").forEach((svg) => drawLine(svg, history.points));
  const { hostname, instance } = stats.instance;
  find("where").textContent = `${hostname} · instance ${instance}${stats.draining ? " · draining" : ""}`;
  // Says which snapshot the page shows.
  document.body.dataset.made = made;
}

async function follow() {
  // A hidden page asks for nothing; it is brought up to date when it is looked at.
  if (!document.hidden) {
    try {
      await refresh();
    } catch {
      // Shown by the pulse once it lasts.
    }
    tellPulse();
  }
  setTimeout(follow, EVERY_MS);
}

function openView() {
  const path = location.pathname;
  for (const section of document.querySelectorAll("[data-view]")) {
    section.hidden = !section.dataset.view.split(" ").includes(path);
  }
  document.querySelector(`nav a[href="${path}"]`)?.setAttribute("aria-current", "page");
}

openView();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh().then(tellPulse, tellPulse);
});
follow();
