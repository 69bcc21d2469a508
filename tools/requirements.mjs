// requirements.mjs [--check [--allow-open]]: which test shows which requirement of TTL policies.
//
// docs/reports/requirements.tsv has the requirements.  A test belongs to a row by its name: R000_01_...
// stands for R000-01, and a name may hold several.  Tests are functions of C files without argument and texts
// in quotes of .mjs files, under test/ and bench/.
//
// Without an argument: writes docs/reports/requirements.md, and turns open rows that have a test now
// into rows with a test.  --check changes nothing and fails if a row has neither a test nor a reason, if
// a test names a row that does not exist, or if requirements.md is not what would be written.
// --allow-open also accepts rows listed as open, as long as they have no test: that list only shrinks.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const top = process.env.REQUIREMENTS_TOP ?? path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const TABLE = "docs/reports/requirements.tsv";
const REPORT = "docs/reports/requirements.md";
const SEEDS = [
  ["R000", 89, "Defaults for client data"],
  ["R001", 17, "Buckets of a rate limiter"],
  ["R003", 35, "Drafts"],
  ["R004", 20, "Synced configuration"],
];
const check = process.argv.includes("--check");
const allowOpen = process.argv.includes("--allow-open");
const unknown = process.argv.slice(2).find((a) => a !== "--check" && a !== "--allow-open");
if (unknown !== undefined || (allowOpen && !check)) {
  process.stderr.write("usage: requirements.mjs [--check [--allow-open]]\n");
  process.exit(2);
}
const bad = [];

// --- tests -----------------------------------------------------------------------------------------

function* sources(dir) {
  for (const f of readdirSync(path.join(top, dir), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = `${dir}/${f.name}`;
    if (f.isDirectory() && f.name !== "node_modules") yield* sources(name);
    else if (/\.(c|mjs)$/.test(f.name)) yield name;
  }
}

const ID = /(?<![A-Za-z0-9])R(\d{3})_(\d{2})(?=_)/g;
const NAMES = { ".c": /^(?:static )?void (\w*R\d{3}_\d{2}_\w+)\(void\)/gm, ".mjs": /(["'`])((?:(?!\1).)*R\d{3}_\d{2}_(?:(?!\1).)*)\1/g };

function collect() {
  const tests = new Map(); // id -> ["file: name"]
  for (const file of [...sources("test"), ...sources("bench")])
    for (const m of readFileSync(path.join(top, file), "utf8").matchAll(NAMES[path.extname(file)])) {
      const name = m[2] ?? m[1];
      for (const [, seed, row] of name.matchAll(ID)) {
        const id = `R${seed}-${row}`;
        if (!tests.has(id)) tests.set(id, []);
        tests.get(id).push({ file, name });
      }
    }
  return tests;
}

// --- rows ------------------------------------------------------------------------------------------

function readRows() {
  const expected = SEEDS.flatMap(([seed, n]) => Array.from({ length: n }, (_, i) => `${seed}-${String(i + 1).padStart(2, "0")}`));
  const rows = readFileSync(path.join(top, TABLE), "utf8").split("\n").filter((l) => l !== "" && !l.startsWith("#")).map((l) => l.split("\t"));
  rows.forEach((r, i) => {
    if (r.length !== 3 || r.some((c) => c === "" || c.includes("|"))) bad.push(`${TABLE}: ${r[0]}: three columns are needed, none empty, without |`);
    if (r[0] !== expected[i]) bad.push(`${TABLE}: ${r[0]} where ${expected[i] ?? "the end"} is expected`);
  });
  if (rows.length < expected.length) bad.push(`${TABLE}: ${expected[rows.length]} is missing`);
  return rows.map(([id, text, state]) => ({ id, text, state }));
}

function judge(rows, tests) {
  for (const id of tests.keys())
    if (!rows.some((r) => r.id === id)) bad.push(`${tests.get(id)[0].file}: ${tests.get(id)[0].name}: there is no ${id}`);
  for (const r of rows) {
    const has = tests.has(r.id);
    if (r.state === "test" && !has) bad.push(`${r.id} has no test: name one ${r.id.replace("-", "_")}_...`);
    if (r.state === "open" && check && has) bad.push(`${r.id} is listed as open but has a test: run node tools/requirements.mjs`);
    if (r.state === "open" && check && !allowOpen && !has) bad.push(`${r.id} is open`);
    if (r.state === "open" && !check && has) r.state = "test";
  }
}

// --- the report ------------------------------------------------------------------------------------

function shown(r, tests) {
  const of = tests.get(r.id) ?? [];
  const lines = of.map((t) => `\`${t.name.replaceAll("|", "\\|")}\` (${t.file})`);
  if (r.state === "open" && of.length === 0) lines.push("**open**");
  else if (r.state !== "test" && r.state !== "open") lines.unshift(r.state);
  return lines.join("<br>");
}

function report(rows, tests) {
  const tested = rows.filter((r) => tests.has(r.id)).length;
  const open = rows.filter((r) => r.state === "open" && !tests.has(r.id)).length;
  const out = [
    "# Requirements of TTL policies, and the tests that show them", "",
    "Made by `node tools/requirements.mjs` from `requirements.tsv` and the names of the tests. Do not edit it.", "",
    `${rows.length} requirements: ${tested} with tests, ${rows.length - tested - open} met elsewhere, ${open} open.`, "",
  ];
  for (const [seed, , title] of SEEDS) {
    out.push(`## ${seed}: ${title}`, "", "| id | requirement | shown by |", "|---|---|---|");
    for (const r of rows.filter((x) => x.id.startsWith(seed))) out.push(`| ${r.id} | ${r.text} | ${shown(r, tests)} |`);
    out.push("");
  }
  return out.join("\n");
}

function writeTable(rows) {
  const file = path.join(top, TABLE);
  const head = readFileSync(file, "utf8").split("\n").filter((l) => l.startsWith("#"));
  writeFileSync(file, `${[...head, ...rows.map((r) => `${r.id}\t${r.text}\t${r.state}`)].join("\n")}\n`);
}

const rows = readRows();
const tests = collect();
judge(rows, tests);
const text = report(rows, tests);
if (check) {
  let old = "";
  try {
    old = readFileSync(path.join(top, REPORT), "utf8");
  } catch (e) {
    if (e.code !== "ENOENT") throw e;
  }
  if (old !== text) bad.push(`${REPORT} is stale: run node tools/requirements.mjs`);
} else if (bad.length === 0) {
  writeTable(rows);
  writeFileSync(path.join(top, REPORT), text);
}
for (const b of bad) process.stdout.write(`requirements: ${b}\n`);
process.stdout.write(`requirements: ${text.split("\n")[4]}\n`);
process.exit(bad.length === 0 ? 0 : 1);
