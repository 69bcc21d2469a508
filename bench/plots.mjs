// plots.mjs: small SVG drawings, readable on a light and on a dark page, without any library.

const WIDTH = 820;
const STYLE = `<style>
svg { font: 12px system-ui, sans-serif; --ink: #1f2328; --soft: #d0d7de; --page: #ffffff; --a: #0969da; --b: #bc4c00; --c: #8250df; --d: #57606a; --e: #1a7f37 }
@media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --soft: #30363d; --page: #0d1117; --a: #58a6ff; --b: #f0883e; --c: #bc8cff; --d: #8b949e; --e: #3fb950 } }
text { fill: var(--ink) } .r { text-anchor: end } .m { text-anchor: middle } .t { font-weight: 600; font-size: 14px }
.g { stroke: var(--soft) } .one { stroke: var(--ink); stroke-dasharray: 3 3 }
.a { fill: var(--a) } .b { fill: var(--b) } .c { fill: var(--c) } .d { fill: var(--d) } .e { fill: var(--e) }
</style>`;
const COLOURS = { "nats-synced": "d", nats: "a", mayfly: "e", "mayfly-relaxed": "c", redis: "b" };

const esc = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;");
const text = (x, y, s, cls = "") => `<text x="${x}" y="${y}"${cls ? ` class="${cls}"` : ""}>${esc(s)}</text>`;
const rect = (x, y, w, h, cls, title) =>
  `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(1, w).toFixed(1)}" height="${h}" class="${cls}"><title>${esc(title)}</title></rect>`;
const short = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 0.1 ? v.toFixed(2) : v.toPrecision(1));

function svg(height, title, body) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img"><title>${esc(title)}</title>
${STYLE}
<rect width="${WIDTH}" height="${height}" fill="var(--page)"/>
${text(12, 22, title, "t")}
${body.join("\n")}
</svg>
`;
}

// A logarithmic axis from x0 to x1 with a line for each power of ten.
function axis(values, x0, x1, y0, y1, unit) {
  const lo = Math.floor(Math.log10(Math.min(...values)));
  const hi = Math.max(lo + 1, Math.ceil(Math.log10(Math.max(...values))));
  const at = (v) => x0 + ((Math.log10(v) - lo) / (hi - lo)) * (x1 - x0);
  const marks = [];
  for (let p = lo; p <= hi; p++) {
    const x = at(10 ** p).toFixed(1);
    marks.push(`<line x1="${x}" y1="${y0}" x2="${x}" y2="${y1}" class="g"/>`);
    marks.push(text(x, y1 + 16, `${(10 ** p).toLocaleString("en-US", { maximumFractionDigits: 6 })}${unit}`, "m"));
  }
  return { at, marks, lo: 10 ** lo };
}

function legend(items, y) {
  let x = 12;
  return items.flatMap(([cls, name]) => {
    const out = [rect(x, y - 10, 12, 12, cls, name), text(x + 17, y, name)];
    x += 40 + name.length * 7;
    return out;
  });
}

// How many times as good Mayfly is, row by row.
export function ratioPlot(rows, ratio) {
  const against = [["nats-synced", "nats-server, synced"], ["nats", "nats-server, not synced"], ["redis", "Redis"]];
  const lines = rows
    .filter((r) => r.metric === "rate" || r.metric === "p50_us")
    .map((r) => ({ r, bars: against.map(([s]) => [s, ratio(r, s)]).filter(([, v]) => v > 0) }))
    .filter((l) => l.bars.length);
  const values = lines.flatMap((l) => l.bars.map(([, v]) => v));
  const height = 78 + lines.reduce((h, l) => h + 10 + l.bars.length * 11, 0);
  const ax = axis([...values, 0.5, 10], 330, WIDTH - 60, 54, height - 24, " x");
  const body = [...legend(against.map(([s, n]) => [COLOURS[s], n]), 44), ...ax.marks];
  let y = 60;
  for (const { r, bars } of lines) {
    body.push(text(322, y + bars.length * 5.5 + 4, r.name, "r"));
    for (const [s, v] of bars) {
      const from = Math.min(ax.at(1), ax.at(v));
      body.push(rect(from, y, Math.abs(ax.at(v) - ax.at(1)), 9, COLOURS[s], `${r.name}: ${short(v)} x ${s}`));
      body.push(text((Math.max(ax.at(1), ax.at(v)) + 4).toFixed(1), y + 9, short(v)));
      y += 11;
    }
    y += 10;
  }
  body.push(`<line x1="${ax.at(1).toFixed(1)}" y1="50" x2="${ax.at(1).toFixed(1)}" y2="${height - 24}" class="one"/>`);
  return svg(height, "Mayfly (every ack on disk), times as good as the other", body);
}

// p50, p99 and worst as three dots on a line.
export function latencyPlot(rows, names) {
  const us = rows.map((l) => ({ ...l, v: l.v.map((v) => Math.max(v, 0.001) * (l.unit === "ms" ? 1000 : 1)) }));
  const height = 78 + us.length * 18;
  if (us.length === 0) return svg(60, "Latencies", []);
  const ax = axis(us.flatMap((l) => l.v), 330, WIDTH - 40, 54, height - 24, " us");
  const body = [text(12, 44, "p50, p99 and worst; each bar from p50 to worst"), ...ax.marks];
  us.forEach((l, i) => {
    const y = 62 + i * 18;
    const [p50, p99, max] = l.v.map((v) => ax.at(v));
    body.push(text(322, y + 8, `${l.name}: ${names[l.setup]}`, "r"));
    body.push(rect(p50, y + 2, max - p50, 4, COLOURS[l.setup], `${l.v.map(short).join(" / ")} us`));
    for (const [x, r] of [[p50, 5], [p99, 4], [max, 3]])
      body.push(`<circle cx="${x.toFixed(1)}" cy="${y + 4}" r="${r}" class="${COLOURS[l.setup]}"/>`);
  });
  return svg(height, "Latencies", body);
}

// How late a key dies: p50, p99 and worst of each server, in three loads.
export function expiryPlot(get, names) {
  const loads = [
    ["expiry.plain", "500,000 due in one second", "s", 1000],
    ["expiry.marked", "the same with markers", "s", 1000],
    ["expiry.spread", "20,000 due each second", "ms", 1],
  ];
  const rows = loads.flatMap(([row, name, unit, scale]) =>
    ["nats", "redis", "mayfly"]
      .map((s) => ({ name, setup: s, v: ["p50", "p99", "max"].map((q) => get(row, `lag_${q}_${unit}`, s) * scale) }))
      .filter((l) => l.v.every((v) => Number.isFinite(v))),
  );
  if (rows.length === 0) return svg(60, "Expiry lag", []);
  const height = 78 + rows.length * 20;
  const ax = axis(rows.flatMap((l) => l.v.map((v) => Math.max(v, 0.01))), 330, WIDTH - 40, 54, height - 24, " ms");
  const body = [text(12, 44, "how long after its deadline a key is seen dead: to p50, to p99, to the worst"), ...ax.marks];
  rows.forEach((l, i) => {
    const y = 60 + i * 20;
    const ends = l.v.map((v) => ax.at(Math.max(v, 0.01)));
    body.push(text(322, y + 11, `${l.name}: ${names[l.setup]}`, "r"));
    const from = ax.at(ax.lo);
    body.push(rect(from, y + 5, ends[2] - from, 4, COLOURS[l.setup], `worst ${short(l.v[2])} ms`));
    body.push(rect(from, y + 3, ends[1] - from, 8, COLOURS[l.setup], `p99 ${short(l.v[1])} ms`));
    body.push(rect(from, y, ends[0] - from, 14, COLOURS[l.setup], `p50 ${short(l.v[0])} ms`));
  });
  return svg(height, "Expiry lag", body);
}
