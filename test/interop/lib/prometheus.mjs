// prometheus.mjs: a strict reader of Prometheus' text format 0.0.4: refuses what a scraper might.

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = '([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\\\\n]|\\\\["\\\\n])*)"';
const VALUE = "[+-]?(?:\\d+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?|Inf)|NaN";
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (${VALUE})$`);

function fail(line, why) {
  throw new Error(`${why}: ${line}`);
}

function readLabels(text, line) {
  const labels = {};
  for (const [, key, raw] of (text ?? "").matchAll(new RegExp(LABEL, "g"))) {
    if (key in labels) fail(line, `label ${key} twice`);
    labels[key] = raw.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
  }
  return labels;
}

// A Map from name to { help, type, samples: [{ labels, value }] }, or an error.
export function parseMetrics(text) {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const families = new Map();
  const seen = new Set();
  let current;
  for (const line of text.slice(0, -1).split("\n")) {
    const comment = line.match(new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`));
    if (comment) {
      const [, what, name, rest] = comment;
      if (what === "HELP") {
        if (families.has(name)) fail(line, "a second group of one name");
        families.set(name, (current = { name, help: rest, samples: [] }));
      } else {
        if (current?.name !== name || current.type || current.samples.length) fail(line, "TYPE out of place");
        if (!["counter", "gauge", "histogram", "summary", "untyped"].includes(rest)) fail(line, "unknown type");
        current.type = rest;
      }
      continue;
    }
    const m = line.match(SAMPLE) ?? fail(line, "neither comment nor sample");
    const part = current?.type === "histogram" && m[1].match(/^(.+)_(bucket|sum|count)$/)?.[1];
    if ((m[1] !== current?.name && part !== current?.name) || !current.type) fail(line, "a sample outside its group");
    const key = `${m[1]} ${m[2] ?? ""}`;
    if (seen.has(key)) fail(line, "a series twice");
    seen.add(key);
    current.samples.push({ name: m[1], labels: readLabels(m[2], line), value: Number(m.at(-1).replace("Inf", "Infinity")) });
  }
  for (const f of families.values()) if (!f.samples.length) throw new Error(`${f.name} has no sample`);
  return families;
}
