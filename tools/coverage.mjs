// coverage.mjs BUILD [--gaps] [--min=PERCENT] [FOLDER...]: what the tests have run, by folder and file.
//
// BUILD was configured with --enable-coverage and CFLAGS=-O0 and its tests were run: gcov says from its
// notes (.gcno) and counts (.gcda) how often each line ran and each branch was taken.  A branch is
// one way out of a condition as gcov sees it at -O0: `if (a && b)` has four, a switch one per case.
// All of them count, those for errors, damage and lack of memory too, with one exception: the lines
// of an assert(), whose other way out is a bug of ours and ends the program.  A file's own macro that
// ends in abort() is an assert by another name: those of the walkers of invariants are.
// Functions in headers are counted once, with the sum of what all who include them have run.
//
// --gaps lists every branch never taken and every line never run.  --min fails below that share of the
// branches of all the folders together or of one of them.
import { execFile } from "node:child_process";
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const top = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const CORE = ["store", "ttl", "markers", "stream", "proto", "router"];

const args = process.argv.slice(2);
const names = args.filter((a) => !a.startsWith("--"));
const build = path.resolve(names.shift() ?? "build-cov");
const folders = names.length > 0 ? names.map((f) => f.replace(/^src\//, "").replace(/\/$/, "")) : CORE;
const gaps = args.includes("--gaps");
const min = Number(args.find((a) => a.startsWith("--min="))?.slice(6) ?? 0);
const unknown = args.find((a) => a.startsWith("--") && a !== "--gaps" && !a.startsWith("--min="));
if (unknown !== undefined || Number.isNaN(min)) fail(`unknown argument ${unknown ?? "--min"}`);

function fail(why) {
  process.stderr.write(`coverage: ${why}\n`);
  process.exit(2);
}

const gcov = (note) => new Promise((resolve) =>
  execFile("gcov", ["--json-format", "--stdout", "--branch-probabilities", note],
    { cwd: build, maxBuffer: 256 << 20 },
    (err, out) => (err ? fail(`gcov ${note}: ${err.message.split("\n")[1]}; run the tests again`) : resolve(out.split("\n").filter(Boolean).map((l) => JSON.parse(l))))));

// --- collecting ----------------------------------------------------------------------------------

const files = new Map(); // path below top -> Map(line -> { count, arms: [count] })

// A condition of a header stands in every object; gcov names its branches by line and function.
function add(file) {
  const abs = path.resolve(build, file.file);
  const name = path.relative(top, abs);
  if (!folders.some((f) => name.startsWith(`src/${f}/`))) return;
  if (!files.has(name)) files.set(name, new Map());
  const lines = files.get(name);
  for (const l of file.lines) {
    if (!lines.has(l.line_number)) lines.set(l.line_number, { count: 0, parts: new Map() });
    const line = lines.get(l.line_number);
    line.count += l.count;
    if (l.branches.length === 0) continue;
    const key = `${l.function_name}/${l.branches.length}`;
    const arms = line.parts.get(key) ?? l.branches.map(() => 0);
    l.branches.forEach((b, i) => (arms[i] += b.count));
    line.parts.set(key, arms);
  }
}

function notes(folder) {
  const dir = path.join(build, "src", folder);
  if (!existsSync(dir)) fail(`no folder ${dir}`);
  return readdirSync(dir).filter((f) => f.endsWith(".gcno")).map((f) => path.join(dir, f));
}

async function collect() {
  const todo = folders.flatMap(notes);
  if (todo.length === 0) fail(`nothing in ${build} was built with --enable-coverage`);
  await Promise.all(Array.from({ length: availableParallelism() }, async () => {
    for (let note; (note = todo.pop()) !== undefined;)
      for (const unit of await gcov(note)) unit.files.forEach(add);
  }));
}

// --- counting ------------------------------------------------------------------------------------

// Line numbers that belong to an assert(), to its closing parenthesis.
function asserts(source) {
  const found = new Set();
  const macros = source.join("\n").matchAll(/^#define (\w+)\((?:.*\\\n)*.*/gm);
  const names = [...macros].filter((m) => /\babort\(\)/.test(m[0])).map((m) => m[1]);
  const start = new RegExp(`^\\s*(${["assert", ...names].join("|")})\\(`);
  for (let i = 0; i < source.length; i++) {
    if (!start.test(source[i])) continue;
    for (let depth = 0; i < source.length; i++) {
      found.add(i + 1);
      for (const c of source[i]) depth += c === "(" ? 1 : c === ")" ? -1 : 0;
      if (depth <= 0) break;
    }
  }
  return found;
}

const none = () => ({ lines: 0, run: 0, branches: 0, taken: 0 });
const plus = (a, b) => Object.keys(a).forEach((k) => (a[k] += b[k]));
const share = (of, all) => (all === 0 ? 100 : (100 * of) / all);

function measure(name) {
  const source = readFileSync(path.join(top, name), "utf8").split("\n");
  const left_out = asserts(source);
  const sum = none();
  const missed = [];
  for (const [number, line] of [...files.get(name)].sort((a, b) => a[0] - b[0])) {
    const text = source[number - 1]?.trim() ?? "";
    sum.lines++;
    if (line.count > 0) sum.run++;
    else missed.push(`${number}: never run         ${text}`);
    if (left_out.has(number)) continue;
    const arms = [...line.parts.values()].flat();
    const taken = arms.filter((n) => n > 0).length;
    sum.branches += arms.length;
    sum.taken += taken;
    if (taken < arms.length && line.count > 0)
      missed.push(`${number}: branches ${arms.map((n) => (n > 0 ? "+" : "-")).join("")}   ${text}`);
  }
  return { name, ...sum, missed };
}

// --- showing -------------------------------------------------------------------------------------

const row = (name, s) => console.log(
  `${name.padEnd(34)} ${String(s.run).padStart(6)} /${String(s.lines).padStart(6)} ${share(s.run, s.lines).toFixed(1).padStart(6)} %` +
  ` ${String(s.taken).padStart(6)} /${String(s.branches).padStart(6)} ${share(s.taken, s.branches).toFixed(1).padStart(6)} %`);
const rule = (text) => console.log(`\n${text.padEnd(34)} ${"lines run".padStart(23)} ${"branches taken".padStart(23)}`);

await collect();
if (files.size === 0) fail(`${build} was not made from the sources in ${top}`);
const measured = [...files.keys()].sort().map(measure);
const totals = new Map(folders.map((f) => [f, none()]));
const all = none();
for (const m of measured) {
  const part = { lines: m.lines, run: m.run, branches: m.branches, taken: m.taken };
  plus(totals.get(m.name.split("/")[1]), part);
  plus(all, part);
}
rule("file");
for (const m of measured) row(m.name, m);
rule("files with most branches missed");
const worst = [...measured].sort((a, b) => (b.branches - b.taken) - (a.branches - a.taken));
for (const m of worst.slice(0, 10).filter((w) => w.taken < w.branches)) row(m.name, m);
if (gaps)
  for (const m of measured.filter((g) => g.missed.length > 0))
    console.log(`\n${m.name}\n${m.missed.map((t) => `  ${t}`).join("\n")}`);
rule("folder");
for (const [f, s] of totals) row(`src/${f}`, s);
row("together", all);
const low = [...totals, ["all together", all]].filter(([, s]) => share(s.taken, s.branches) < min);
for (const [f, s] of low) console.log(`coverage: ${f}: ${share(s.taken, s.branches).toFixed(1)} % of branches, ${min} % wanted`);
process.exit(low.length > 0 ? 1 : 0);
