// run.mjs [--only=TEXT,..] [--pair=HUB-LEAF] [--hub=KIND] [--leaf=KIND] [--quick] [--list]: scenarios of the leaf link, with real servers.
//
// HUB accepts and LEAF dials; each is nats or mayfly.  NATS_SERVER and MAYFLYD name the programs.  TEXT is a part of a scenario's name, or a
// regular expression.  --quick: the selection of ./dev test.  PARALLEL (2) scenarios at a time; prints ok or not ok for each, and ends
// with `N passed, N failed`.  TRIES=N as in test/interop/run.mjs.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { within } from "../interop/lib/wait.mjs";
import { PROGRAMS, scenarios, Setup } from "./lib/setup.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const flags = new Map(process.argv.slice(2).map((a) => a.replace(/^--/, "").split(/=(.*)/s)));
for (const k of flags.keys())
  if (!["only", "pair", "hub", "leaf", "quick", "list"].includes(k)) refuse(`unknown argument ${k}`);
const [pairHub, pairLeaf] = (flags.get("pair") ?? "nats-nats").split("-");
const pair = { hub: flags.get("hub") ?? pairHub, leaf: flags.get("leaf") ?? pairLeaf };
const SCENARIO_MS = Number(process.env.SCENARIO_MS ?? 300000);
const parallel = Number(process.env.PARALLEL ?? 2);
const tries = Number(process.env.TRIES ?? 1);

function refuse(why) {
  console.log(`not ok ${why}\n0 passed, 1 failed`);
  process.exit(2);
}

for (const f of fs.readdirSync(here).sort()) {
  if (!f.endsWith(".mjs") || f === "run.mjs" || f === "soak.mjs") continue;
  const before = scenarios.length;
  await import(path.join(here, f));
  for (const s of scenarios.slice(before)) s.name = `${f.replace(".mjs", "")}: ${s.name}`;
}

const wanted = (flags.get("only") ?? "").split(",").map((p) => new RegExp(p, "i"));
const fits = (s) => (s.cluster ? pair.hub === "nats" : true) && ["hub", "leaf"].every((place) => !s[place] || s[place] === pair[place]);
const queue = scenarios.filter((s) => wanted.some((w) => w.test(s.name)) && fits(s) && (!flags.has("quick") || s.quick));
if (flags.has("list")) {
  for (const s of queue) console.log(`${s.quick ? "quick " : "      "}${s.name}`);
  process.exit(0);
}
for (const [place, kind] of Object.entries(pair))
  if (!fs.existsSync(PROGRAMS[kind] ?? "")) refuse(`no server for the ${place}: ${kind} is ${PROGRAMS[kind]}`);

let passed = 0;
let failed = 0;
const again = [];
async function run(s, attempt = 1) {
  const t = new Setup(pair);
  const start = Date.now();
  let error;
  try {
    await within("the scenario's end", s.fn(t), SCENARIO_MS);
  } catch (e) {
    error = e;
  }
  try {
    await within("cleaning up", t.end());
  } catch (e) {
    error ??= e;
  }
  const ms = Date.now() - start;
  if (!error) {
    passed++;
    return console.log(`ok ${s.name} # ${ms} ms`);
  }
  const last = attempt >= tries;
  if (last) failed++;
  else again.push([s, attempt + 1]);
  console.log(`${last ? "not ok" : "again"} ${s.name} # ${ms} ms`);
  console.log(String(error.stack ?? error).replace(/^/gm, "    "));
}

for (const event of ["unhandledRejection", "uncaughtException"])
  process.on(event, (e) => {
    failed++;
    console.log(`not ok ${event}\n${String(e?.stack ?? e).replace(/^/gm, "    ")}`);
  });

console.log(`# hub ${pair.hub}, leaf ${pair.leaf}: ${queue.length} scenarios`);
await Promise.all(Array.from({ length: parallel }, async () => {
  for (let s; (s = queue.shift()); ) await run(s);
}));
for (let next; (next = again.shift()); ) await run(...next);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
