// forecast.js: how many messages expire when, of all streams or of one, with cliffs marked.
import { addJob, pace, query, readPage, REST_MS } from "./read.js";
import { byId, make, setText, Table, watchSight } from "./dom.js";
import { drawColumns } from "./chart.js";
import * as text from "./text.js";

const PARTS = 48;
export const spans = { "1h": 3600e3, "24h": 86400e3, "7d": 7 * 86400e3, "30d": 30 * 86400e3 };
let latest;
let cost = 0;
let missing = false;
let table;

export function chosenSpan() {
  return document.querySelector("input[name=within]:checked").value;
}

export function describe(f, span) {
  const soon = f.buckets.reduce((n, b) => n + b.msgs, 0);
  const bytes = f.buckets.reduce((n, b) => n + b.bytes, 0);
  const about = f.bytes_sampled ? "about " : "";
  const first = soon === 0 ? "No message expires in this time." : `${text.plural(soon, "message")} (${about}${text.bytes(bytes)}) ${soon === 1 ? "expires" : "expire"} within ${text.duration(span)}.`;
  return `${first} Later: ${text.count(f.later)}. Never, on purpose: ${text.count(f.infinite)}. Without TTL: ${text.count(f.without)}.`;
}

function describeCliff(c, span) {
  return `${text.account(c)} › ${c.stream}: ${text.count(c.msgs)} messages expire within one minute at ${text.clock(c.at, span)}`;
}

export function drawForecast(place, f, span, title) {
  const from = text.milliseconds(f.from);
  const step = span / f.buckets.length;
  const columnOf = (c) => Math.max(0, Math.floor((text.milliseconds(c.at) - from) / step));
  const cliffs = f.cliffs.filter((c) => columnOf(c) < f.buckets.length);
  const marked = new Set(cliffs.map(columnOf));
  const columns = f.buckets.map((b, i) => ({
    value: b.msgs, marked: marked.has(i),
    title: `${text.clock(from + i * step, span)} to ${text.clock(b.to, span)}: ${text.plural(b.msgs, "message")}, ${text.bytes(b.bytes)}`,
  }));
  const labels = place.clientWidth < 480 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  drawColumns(place, columns, {
    title, words: describe(f, span), format: text.count,
    ticks: labels.map((a) => ({ at: a, text: a === 0 ? "now" : text.clock(from + a * span, span) })),
    flags: cliffs.map((c) => ({ column: columnOf(c), title: describeCliff(c, span) })),
  });
}

function show() {
  if (latest === undefined) return;
  const { f, span } = latest;
  drawForecast(byId("forecast-chart"), f, span, "forecast-title");
  setText(byId("forecast-words"), describe(f, span));
  const cliffs = f.cliffs.map((c) => describeCliff(c, span)).join("\n");
  const list = byId("cliffs");
  if (list.dataset.shown !== cliffs) {
    list.dataset.shown = cliffs;
    list.replaceChildren(...f.cliffs.map((c) => make("li", {}, `Cliff: ${describeCliff(c, span)}`)));
  }
  if (byId("forecast-details").open) showTable(f, span);
}

function showTable(f, span) {
  table ??= new Table(byId("forecast-table"), {
    label: "Expiry forecast", empty: "", keyOf: (b) => b.i,
    columns: [
      { title: "Until", fill: (cell, b) => setText(cell, text.clock(b.to, b.span)) },
      { title: "Messages", class: "number", fill: (cell, b) => setText(cell, text.count(b.msgs)) },
      { title: "Bytes", class: "number", fill: (cell, b) => setText(cell, text.bytes(b.bytes)) },
    ],
  });
  table.show(f.buckets.map((b, i) => ({ ...b, i, span })));
}

async function readForecast() {
  const within = chosenSpan();
  const { json } = await readPage(`ttlz${query({ limit: 1, offset: 1e9, forecast: PARTS, within })}`);
  missing = json?.forecast === undefined;
  if (missing) {
    setText(byId("forecast-words"), "This server has no JetStream, so nothing expires.");
    return;
  }
  cost = json.cost_ms ?? 0;
  if (within !== chosenSpan()) return;
  latest = { f: json.forecast, span: spans[within] };
  show();
}

export function addForecast() {
  const job = addJob({ read: readForecast, every: () => (missing ? REST_MS : pace(1, cost)), wanted: () => sight.is });
  const sight = watchSight(byId("forecast-chart"), () => job.now());
  byId("within").addEventListener("change", job.now);
  byId("forecast-details").addEventListener("toggle", show);
  addEventListener("resize", show);
}
