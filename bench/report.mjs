// report.mjs: what bench_matrix measured, as tables and plots.  No figure is typed by hand.
//     report.mjs FILE...                  the table, on the terminal
//     report.mjs --write FILE...          docs/reports/performance.md (between its marks), docs/reports/plots/*.svg and .json
//     report.mjs --check FILE...          is there a figure for every row?  Ends with `N passed, N failed`
//     report.mjs --about MAYFLYD NATS [REDIS]     the machine and the versions, as JSON
// Several FILEs are taken as one run.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expiryPlot, latencyPlot, ratioPlot } from "./plots.mjs";
import { GROUPS, LATENCIES, SETUPS } from "./rows.mjs";

const TOP = join(dirname(fileURLToPath(import.meta.url)), "..");
const NAMES = { "nats-synced": "nats, synced", nats: "nats", mayfly: "Mayfly", "mayfly-relaxed": "Mayfly, relaxed", redis: "Redis" };
const ROWS = GROUPS.flatMap((g) => g.rows);

// --- figures -----------------------------------------------------------------------------------------

function load(files) {
  const runs = files.map((f) => JSON.parse(readFileSync(f, "utf8")));
  return { ...runs[0], samples: runs.flatMap((r) => r.samples), rounds: runs.flatMap((r) => r.rounds), failed: runs.reduce((n, r) => n + r.failed, 0) };
}

const WORST = new Set(ROWS.filter((r) => r.worst).map((r) => r.id));

const figures = (run, row, metric, setup) => run.samples.filter((s) => s.row === row && s.metric === metric && s.setup === setup).map((s) => s.value);
const split = (id) => /^(.*)\/(.*)$/.exec(id).slice(1);

function middle(values) {
  const v = [...values].sort((a, b) => a - b);
  return v.length ? (v[(v.length - 1) >> 1] + v[v.length >> 1]) / 2 : undefined;
}

function median(run, row, metric, setup) {
  const v = figures(run, row, metric, setup);
  return v.length && WORST.has(`${row}/${metric}`) ? Math.max(...v) : middle(v);
}

// What share of the figure that it is compared with: they were taken in turns, so neighbours are compared.
const baseOf = (run, r, setup = "mayfly") => (r.base ? median(run, ...split(r.base), setup) : undefined);
function share(run, r) {
  if (!r.base) return undefined;
  const base = figures(run, ...split(r.base), "mayfly");
  return middle(figures(run, r.row, r.metric, "mayfly").map((v, i) => v / base[i]).filter(Number.isFinite));
}

// How many times as good as the other.
function ratio(run, r, vs) {
  const ours = median(run, r.row, r.metric, "mayfly");
  const theirs = median(run, r.row, r.metric, vs);
  if (!(ours > 0) || !(theirs > 0)) return undefined;
  return r.lower ? theirs / ours : ours / theirs;
}

// true, false, or undefined when it was not asked or not measured.
function reached(run, r, which) {
  const answers = r.bars
    .filter((b) => b[which] !== undefined)
    .map((b) => {
      const v = b.vs ? ratio(run, r, b.vs) : b.base ? share(run, r) : median(run, r.row, r.metric, "mayfly");
      if (v === undefined) return undefined;
      return b.vs || !r.lower ? v >= b[which] : v <= b[which];
    });
  if (answers.includes(undefined) || answers.length === 0) return undefined;
  return answers.every(Boolean);
}

function number(v) {
  if (v === undefined) return "";
  const digits = v !== 0 && Math.abs(v) < 100 ? (Math.abs(v) < 1 ? 3 : Math.abs(v) < 10 ? 2 : 1) : 0;
  return v.toLocaleString("en-US", { maximumFractionDigits: digits });
}

const times = (v) => (v === undefined ? "" : `${v >= 10 ? v.toFixed(0) : v >= 0.1 ? v.toFixed(1) : v.toFixed(2)} x`);
const bar = (r, which) =>
  r.bars
    .filter((b) => b[which] !== undefined)
    .map((b) => (b.vs ? `${b[which]} x ${NAMES[b.vs]}` : b.base ? `${b[which]} x without` : `${number(b[which])}${r.unit && r.unit !== "/s" ? ` ${r.unit}` : r.unit}`))
    .join(", ");
function verdict(run, r) {
  const must = reached(run, r, "must");
  const aim = reached(run, r, "aim");
  if (must === undefined && aim === undefined) return "";
  if (must === false) return "NO";
  return aim ? "aim" : "yes";
}

const OTHERS = ["nats-synced", "nats", "redis"];
const label = (r) => (r.unit ? `${r.name}, ${r.unit}` : r.name);

function cells(run, r) {
  return [
    label(r),
    ...["nats-synced", "nats", "redis", "mayfly", "mayfly-relaxed"].map((s) => number(median(run, r.row, r.metric, s))),
    ...OTHERS.map((s) => times(ratio(run, r, s))),
    number(baseOf(run, r)),
    share(run, r) === undefined ? "" : `${share(run, r).toFixed(2)} x`,
    bar(r, "must"),
    bar(r, "aim"),
    verdict(run, r),
  ];
}
const HEAD = ["", "nats, synced", "nats", "Redis", "Mayfly", "relaxed", "/ synced", "/ nats", "/ Redis", "without", "/ without", "must", "aim", "reached"];

// Rows that have a rate have their cost, too.
const costRows = (run) => ROWS.filter((r) => r.metric !== "cpu_us" && median(run, r.row, "cpu_us", "mayfly") !== undefined);
const COST_HEAD = ["", "nats, synced", "nats", "Redis", "Mayfly", "RSS: nats", "Redis", "Mayfly", "generator: nats", "Redis", "Mayfly"];
function costCells(run, r) {
  const of = (metric, setups) => setups.map((s) => number(median(run, r.row, metric, s)));
  const share = (s) => {
    const v = median(run, r.row, "generator", s);
    return v === undefined ? "" : `${(v * 100).toFixed(0)} %`;
  };
  return [
    r.name,
    ...of("cpu_us", ["nats-synced", "nats", "redis", "mayfly"]),
    ...of("rss_mb", ["nats", "redis", "mayfly"]),
    ...["nats", "redis", "mayfly"].map(share),
  ];
}

function latencyRows(run) {
  return LATENCIES.flatMap((l) =>
    SETUPS.filter((s) => median(run, l.row, `p50_${l.unit}`, s) !== undefined).map((s) => ({
      name: l.name,
      setup: s,
      unit: l.unit,
      v: ["p50", "p99", "max"].map((q) => median(run, l.row, `${q}_${l.unit}`, s)),
    })),
  );
}

// --- the machine -------------------------------------------------------------------------------------

function about([mayflyd, nats, redis]) {
  const version = (bin, flag) => execFileSync(bin, [flag], { encoding: "utf8" }).trim();
  const os = /PRETTY_NAME="(.*)"/.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
  const a = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} cores (${cpus()[0].model.trim()}), ${(totalmem() / 2 ** 30).toFixed(0)} GB, ${os}, Linux ${release()}`,
    mayfly: version(mayflyd, "-v"),
    nats: version(nats, "-v"),
  };
  if (redis) a.redis = `Redis ${/v=([\d.]+)/.exec(execFileSync(redis, ["-v"], { encoding: "utf8", argv0: "redis-server" }))?.[1]}, appendfsync always`;
  return a;
}

const quiet = (run) => {
  const others = Math.max(...run.rounds.map((r) => r.others));
  const load = run.rounds.map((r) => r.load.toFixed(1)).join(", ");
  const stolen = Math.max(...run.rounds.map((r) => r.stolen ?? 0));
  const syncs = run.rounds.filter((r) => r.sync_p50_us > 0).map((r) => `${r.sync_p50_us} (${r.sync_p99_us})`).join(", ");
  return `load average before each round ${load}; other processes took at most ${others.toFixed(2)} cores, the machine's host ${stolen.toFixed(2)}` +
    (syncs ? `; a page written and synced without any server took ${syncs} us, p50 (p99), before each round` : "") +
    (run.size === "full" ? "" : "; COUNTS WERE A FRACTION of what the rows say") +
    (others > 0.2 ? ": THE MACHINE WAS NOT QUIET, the figures mean little" : "");
};
const bound = (run) =>
  costRows(run)
    .filter((r) => median(run, r.row, "generator", "mayfly") > 0.9)
    .map((r) => r.name);

function summary(run) {
  const asked = ROWS.filter((r) => reached(run, r, "must") !== undefined);
  const below = asked.filter((r) => !reached(run, r, "must"));
  const aims = ROWS.filter((r) => reached(run, r, "aim"));
  const title = (r) => GROUPS.find((g) => g.rows.includes(r)).title;
  return { text: `${asked.length - below.length} of ${asked.length} bars reached, ${aims.length} aims`, below: below.map((r) => `${title(r)}: ${r.name}`) };
}

// --- terminal ----------------------------------------------------------------------------------------

function printTable(head, rows) {
  const all = [head, ...rows];
  const width = head.map((_, i) => Math.max(...all.map((r) => r[i].length)));
  const used = head.map((_, i) => i === 0 || rows.some((r) => r[i] !== ""));
  for (const r of all)
    console.log(r.map((c, i) => (i === 0 ? c.padEnd(width[i]) : c.padStart(width[i]))).filter((_, i) => used[i]).join("  ").trimEnd());
}

function print(run) {
  for (const g of GROUPS) {
    const rows = g.rows.filter((r) => SETUPS.some((s) => median(run, r.row, r.metric, s) !== undefined));
    if (rows.length === 0) continue;
    console.log(`\n${g.title}`);
    printTable(HEAD, rows.map((r) => cells(run, r)));
  }
  if (costRows(run).length) {
    console.log("\nThe server's processor us for each, RSS in MB, and the load generator's share of one core");
    printTable(COST_HEAD, costRows(run).map((r) => costCells(run, r)));
  }
  if (latencyRows(run).length) {
    console.log("\nLatencies");
    printTable(["", "", "p50", "p99", "worst", ""], latencyRows(run).map((l) => [l.name, NAMES[l.setup], ...l.v.map(number), l.unit]));
  }
  const s = summary(run);
  console.log(`\n${run.size} size, ${run.rounds.length} round(s), ${quiet(run)}\n${s.text}`);
  for (const b of s.below) console.log(`  below: ${b}`);
  if (run.failed) console.log(`${run.failed} parts FAILED; see above`);
  if (bound(run).length) console.log(`The load generator took more than 90 % of a core, and may be the limit: ${bound(run).join("; ")}`);
}

// --- documents ---------------------------------------------------------------------------------------

function mdTable(head, rows) {
  const used = head.map((_, i) => i === 0 || rows.some((r) => r[i] !== ""));
  const line = (r) => `| ${r.filter((_, i) => used[i]).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function markdown(run) {
  const a = run.about ?? {};
  const s = summary(run);
  const out = [
    `${a.date ?? ""}; ${a.machine ?? ""}; ${[a.mayfly, a.nats, a.redis].filter(Boolean).join("; ")}. Medians of ${run.rounds.length} round(s) of ${run.size} size, ${quiet(run)}. **${s.text}.**`,
    "",
  ];
  for (const g of GROUPS) {
    const rows = g.rows.filter((r) => SETUPS.some((x) => median(run, r.row, r.metric, x) !== undefined));
    if (rows.length) out.push(`**${g.title}**`, "", mdTable(HEAD, rows.map((r) => cells(run, r))), "");
  }
  out.push("**Processor microseconds of the server for each, its RSS in MB, and the load generator's share of one core**", "");
  out.push(mdTable(COST_HEAD, costRows(run).map((r) => costCells(run, r))), "");
  out.push("**Latencies**", "");
  out.push(mdTable(["", "", "p50", "p99", "worst", ""], latencyRows(run).map((l) => [l.name, NAMES[l.setup], ...l.v.map(number), l.unit])), "");
  if (s.below.length) out.push(`Below the bar: ${s.below.join("; ")}.`, "");
  if (bound(run).length) out.push(`The load generator took more than 90 % of a core, so that the server may not have been the limit: ${bound(run).join("; ")}.`, "");
  return out.join("\n");
}

function write(run) {
  const doc = join(TOP, "docs/reports/performance.md");
  const plots = join(TOP, "docs/reports/plots");
  const text = readFileSync(doc, "utf8");
  const marks = /(<!-- matrix:begin[^>]*-->\n)[\s\S]*?(<!-- matrix:end -->)/;
  if (!marks.test(text)) throw new Error(`${doc} has no matrix:begin and matrix:end`);
  mkdirSync(plots, { recursive: true });
  const get = (row, metric, setup) => median(run, row, metric, setup);
  writeFileSync(join(plots, "ratios.svg"), ratioPlot(ROWS, (r, vs) => ratio(run, r, vs)));
  writeFileSync(join(plots, "latency.svg"), latencyPlot(latencyRows(run), NAMES));
  writeFileSync(join(plots, "expiry.svg"), expiryPlot(get, NAMES));
  writeFileSync(join(plots, "matrix.json"), `${JSON.stringify(run).replace(/\{"row"/g, '\n{"row"')}\n`);
  writeFileSync(doc, text.replace(marks, (_, begin, end) => `${begin}${markdown(run)}${end}`));
}

// --- is every row there? -----------------------------------------------------------------------------

function check(run) {
  let passed = 0;
  const missing = ROWS.flatMap((r) =>
    r.setups.filter((s) => median(run, r.row, r.metric, s) === undefined || (r.base && baseOf(run, r, s) === undefined)).map((s) => `${r.id} of ${s}`),
  );
  for (const r of ROWS) passed += r.setups.length;
  for (const m of missing) console.log(`not ok: no figure for ${m}`);
  const strange = run.samples.filter((s) => !Number.isFinite(s.value));
  for (const s of strange) console.log(`not ok: ${s.row} ${s.metric} of ${s.setup} is ${s.value}`);
  markdown(run);
  if (run.failed) console.log(`not ok: ${run.failed} parts failed`);
  const failed = missing.length + strange.length + run.failed;
  console.log(`${passed - missing.length} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

const [first, ...rest] = process.argv.slice(2);
if (first === "--about") console.log(JSON.stringify(about(rest)));
else if (first === "--write") write(load(rest));
else if (first === "--check") check(load(rest));
else if (first && !first.startsWith("--")) print(load([first, ...rest]));
else {
  console.error("usage: report.mjs [--write|--check] FILE... | --about MAYFLYD NATS_SERVER [REDIS_SERVER]");
  process.exitCode = 2;
}
