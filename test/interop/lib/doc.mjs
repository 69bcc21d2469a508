// doc.mjs: the blocks of a guide in Markdown, and shown answers beside real ones.
import assert from "node:assert/strict";

const INDENT = "    ";

// Blocks in fences and indented ones, in their order: { heading, lang, text, line }.  An indented one has
// no lang.  heading: the nearest one above, without its marks.  text: the bytes of the block.
export function blocks(markdown) {
  const out = [];
  const lines = markdown.split("\n");
  let heading = "";
  for (let i = 0; i < lines.length; i++) {
    const h = /^#+ (.*)$/.exec(lines[i]);
    const fence = /^```(\w*)$/.exec(lines[i]);
    if (h) heading = h[1];
    assert.ok(fence || !lines[i].startsWith("```"), `line ${i + 1}: a fence has one word at most`);
    const line = i + 2;
    const text = [];
    if (fence) {
      for (i++; lines[i] !== "```"; i++) {
        assert.ok(i < lines.length, `line ${line - 1}: the block has no end`);
        text.push(lines[i]);
      }
      out.push({ heading, lang: fence[1], text: `${text.join("\n")}\n`, line });
    } else if (lines[i].startsWith(INDENT) && lines[i - 1]?.trim() === "") {
      for (; i < lines.length && lines[i].startsWith(INDENT); i++) text.push(lines[i].slice(INDENT.length));
      i--;
      out.push({ heading, lang: undefined, text: `${text.join("\n")}\n`, line: line - 1 });
    }
  }
  return out;
}

// The rows of the first table behind a heading, without its head: arrays of cells.
export function table(markdown, heading) {
  const from = markdown.search(new RegExp(`^#+ ${heading}$`, "m"));
  assert.ok(from >= 0, `there is a heading ${heading}`);
  const rows = [];
  for (const l of markdown.slice(from).split("\n")) {
    if (l.startsWith("|")) rows.push(l.slice(1, -1).split(/(?<!\\)\|/).map((c) => c.trim()));
    else if (rows.length > 0) break;
  }
  return rows.slice(2);
}

// --- answers -----------------------------------------------------------------------------------------

const REST = "..."; // as a member: there are others; as a text: any value
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const VARIES = /\.(\w+_ms|size|\w*bytes\w*)$/; // numbers that depend on the moment or on the lengths of records

// JSON as guides write it: {...,"a":1,...}.
export const shown = (text) =>
  JSON.parse(text.replace(/(?<=[[{,\s])\.\.\.(?=\s*[,}])/g, `"${REST}":0`).replace(/(?<=[[,\s])\.\.\.(?=\s*\])/g, `"${REST}"`));

// The real answer has the members that are shown, in their types; texts and counts are equal, unless values is false.
export function sameShape(want, real, { where = "answer", values = true } = {}) {
  const told = () => `${where}: shown ${JSON.stringify(want)}, real ${JSON.stringify(real)}`;
  if (want === REST) return;
  assert.equal(kind(real), kind(want), told());
  if (Array.isArray(want)) {
    if (!want.includes(REST)) assert.equal(real.length, want.length, told());
    want.filter((x) => x !== REST).forEach((x, i) => sameShape(x, real[i], { where: `${where}[${i}]`, values }));
  } else if (kind(want) === "object") {
    const { [REST]: open, ...members } = want;
    for (const k of Object.keys(members)) assert.ok(k in real, `${where}: there is no ${k} in ${JSON.stringify(real)}`);
    if (open === undefined) assert.deepEqual(Object.keys(real), Object.keys(members), `${where}: other members`);
    for (const [k, v] of Object.entries(members)) sameShape(v, real[k], { where: `${where}.${k}`, values });
  } else if (kind(want) === "string" && TIME.test(want)) assert.match(real, TIME, told());
  else if (values && (kind(want) !== "number" || !VARIES.test(where))) assert.equal(real, want, told());
}
const kind = (x) => (x === null ? "null" : Array.isArray(x) ? "array" : typeof x);

// Printed lines as shown: `...` stands for anything within a line.
export function sameText(want, real) {
  const one = (l) => l.split(REST).map((s) => s.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*");
  return new RegExp(`^${want.trimEnd().split("\n").map(one).join("\n")}$`).test(real.trimEnd());
}
