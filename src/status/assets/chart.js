// chart.js: a curve of the last minutes, and columns of the time ahead, as SVG with a text for those who do not see it.
import { draw, make } from "./dom.js";

const TOP = 8;

// A round number at or above n: 1, 2 or 5 with zeros.
export function roundUp(n) {
  if (n <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].find((f) => f * unit >= n) * unit;
}

// samples: numbers or undefined, the newest last; size: how many the chart has room for.
export function drawCurve(place, samples, { size, title, words, format }) {
  const width = Math.max(160, place.clientWidth);
  const height = 84;
  const left = 46;
  const most = roundUp(Math.max(0, ...samples.filter((s) => s !== undefined)));
  const x = (i) => left + ((width - left - 4) * (i + size - samples.length)) / (size - 1);
  const y = (v) => TOP + (height - 2 * TOP) * (1 - v / most);
  const points = samples.map((v, i) => [x(i), y(v ?? 0)]);
  const line = points.map(([a, b], i) => `${i === 0 ? "M" : "L"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-labelledby": title, "aria-description": words });
  for (const v of [0, most / 2, most]) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width, y1: y(v), y2: y(v) }));
    svg.append(draw("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, format(v)));
  }
  if (points.length > 1) {
    svg.append(draw("path", { class: "area", d: `${line}L${points.at(-1)[0]} ${y(0)}L${points[0][0]} ${y(0)}Z` }));
    svg.append(draw("path", { class: "curve", d: line }));
  }
  place.replaceChildren(svg, make("p", { class: "hidden" }, words));
}

// columns: [{ value, title, marked }]; ticks: [{ at (0..1), text }]; flags: [{ column, title }].
export function drawColumns(place, columns, { title, words, ticks, flags, format }) {
  const width = Math.max(240, place.clientWidth);
  const height = 190;
  const [left, bottom] = [52, height - 22];
  const inner = width - left - 8;
  const most = roundUp(Math.max(0, ...columns.map((c) => c.value)));
  const top = 22;
  const y = (v) => bottom - ((bottom - top) * v) / most;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-labelledby": title, "aria-description": words });
  for (const v of [0, most / 2, most].filter(Number.isInteger)) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width, y1: y(v), y2: y(v) }));
    svg.append(draw("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, format(v)));
  }
  const step = inner / columns.length;
  columns.forEach((c, i) => {
    if (c.value === 0) return;
    const tall = Math.max(2, bottom - y(c.value)); // a few messages beside a million are still seen
    const rect = draw("rect", { class: c.marked ? "column cliff" : "column", x: left + i * step + step * 0.1, y: bottom - tall, width: step * 0.8, height: tall, rx: Math.min(2, step / 4) });
    rect.append(draw("title", {}, c.title));
    svg.append(rect);
  });
  for (const f of flags) {
    const at = left + (f.column + 0.5) * step;
    svg.append(draw("line", { class: "flagpole", x1: at, x2: at, y1: 12, y2: bottom }));
    svg.append(draw("path", { class: "flag", d: `M${at - 6} 2h12l-6 10z` }, draw("title", {}, f.title)));
  }
  for (const t of ticks)
    svg.append(draw("text", { x: left + inner * t.at, y: height - 5, "text-anchor": t.at === 0 ? "start" : t.at === 1 ? "end" : "middle" }, t.text));
  place.replaceChildren(svg);
}

// with, infinite, without, as one bar.
export function drawShare(cell, { withTtl, infinite, without }) {
  const all = withTtl + infinite + without;
  const key = `${withTtl} ${infinite} ${without}`;
  if (cell.dataset.share === key) return;
  cell.dataset.share = key;
  const svg = draw("svg", { viewBox: "0 0 100 8", width: "100%", height: 8, preserveAspectRatio: "none", "aria-hidden": "true" });
  if (all === 0) svg.append(draw("rect", { class: "empty", width: 100, height: 8 }));
  let at = 0;
  for (const [name, n] of [["with", withTtl], ["infinite", infinite], ["without", without]]) {
    if (n === 0) continue;
    const width = Math.max(2, (100 * n) / all);
    svg.append(draw("rect", { class: name, x: at, width, height: 8 }));
    at += width;
  }
  const words = all === 0 ? "no messages" : `${percent(withTtl, all)} with, ${percent(infinite, all)} infinite, ${percent(without, all)} without`;
  const shown = [[withTtl, "with"], [infinite, "infinite"], [without, "without"]].filter(([n]) => n > 0);
  cell.replaceChildren(svg, make("small", { title: words }, all === 0 ? "empty" : shown.map(([n, w]) => `${percent(n, all)} ${w}`.replaceAll(" ", "\u00a0")).join(", ")));
}

function percent(n, all) {
  const p = (100 * n) / all;
  return p > 0 && p < 1 ? "<1 %" : p < 100 && p > 99 ? ">99 %" : `${Math.round(p)} %`;
}
