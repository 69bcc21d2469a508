// run.mjs [PATTERN]: runs every scenario of this folder against the server named by MAYFLYD.
// Four at a time; prints ok or not ok for each, and ends with `N passed, N failed`.
// TRIES=N: what fails is run again, alone, up to N times in all.  For nats-server, whose own races we cannot
// mend: there a scenario must be possible.  mayflyd gets one try.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { binary, isMayfly } from "./lib/server.mjs";
import { Scene, scenarios } from "./lib/scenario.mjs";
import { within } from "./lib/wait.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const wanted = new RegExp(process.argv[2] ?? ".", "i");
const SCENARIO_MS = Number(process.env.SCENARIO_MS ?? 300000); // most need a second
const parallel = Number(process.env.PARALLEL ?? 4);
const tries = Number(process.env.TRIES ?? 1);

for (const f of fs.readdirSync(here).sort()) {
  if (!f.endsWith(".mjs") || f === "run.mjs") continue;
  const before = scenarios.length;
  await import(path.join(here, f));
  for (const s of scenarios.slice(before)) s.name = `${f.replace(".mjs", "")}: ${s.name}`;
}

let passed = 0;
let failed = 0;
const again = [];

async function run(s, attempt = 1) {
  const scene = new Scene();
  const start = Date.now();
  let error;
  try {
    await within(`the scenario's end`, s.fn(scene), SCENARIO_MS);
  } catch (e) {
    error = e;
  }
  try {
    await within("cleaning up", scene.end());
  } catch (e) {
    error ??= e;
  }
  const ms = Date.now() - start;
  if (error) {
    const last = attempt >= tries;
    if (last) failed++;
    else again.push([s, attempt + 1]);
    console.log(`${last ? "not ok" : "again"} ${s.name} # ${ms} ms`);
    console.log(String(error.stack ?? error).replace(/^/gm, "    "));
  } else {
    passed++;
    console.log(`ok ${s.name} # ${ms} ms`);
  }
}

process.on("unhandledRejection", (e) => {
  failed++;
  console.log(`not ok unhandled rejection\n${String(e?.stack ?? e).replace(/^/gm, "    ")}`);
});

process.on("uncaughtException", (e) => {
  failed++;
  console.log(`not ok uncaught exception\n${String(e?.stack ?? e).replace(/^/gm, "    ")}`);
});

if (!fs.existsSync(binary)) {
  console.log(`not ok no server: ${binary}\n0 passed, 1 failed`);
  process.exit(1);
}
if (isMayfly && !fs.existsSync(process.env.NATS_SERVER ?? "")) console.log("# NATS_SERVER names no nats-server: what carries backups between the two is left out");
const queue = scenarios.filter((s) => wanted.test(s.name));
await Promise.all(Array.from({ length: parallel }, async () => {
  for (let s; (s = queue.shift()); ) await run(s);
}));
for (let next; (next = again.shift()); ) await run(...next);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
