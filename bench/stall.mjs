// stall.mjs: sends each attack of stall_attacks.mjs, stall_api.mjs, stall_state.mjs and stall_large.mjs to a fresh server and prints how long a
// foreign client's PING waited; how long the loop ran while it waited, at worst (on a busy machine the better figure); and how
// long it ran until the answer was there (in all, not at once: PINGs are served in between).
//   node bench/stall.mjs [--table] [--minutes=M] [NAME...]
// --minutes: no attack begins after M minutes (--table: 10 unless given); those that were not reached are named at the end.
// --table: rows for docs/reports/stalls.md, of large state and of what was measured before it was mended; NAME: names that begin so; MAYFLYD: the server (build/mayflyd); PERF=DIR: perf records
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Pinger } from "../test/torture/lib/pinger.mjs";
import { Server, pause } from "../test/torture/lib/server.mjs";
import { Wire } from "../test/torture/lib/wire.mjs";
import { attacks as requests } from "./stall_attacks.mjs";
import { attacks as reads } from "./stall_api.mjs";
import { attacks as states } from "./stall_state.mjs";
import { attacks as larges } from "./stall_large.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const mayflyd = path.resolve(process.env.MAYFLYD ?? path.join(here, "../build/mayflyd"));
const args = process.argv.slice(2);
const table = args.includes("--table");
const only = args.filter((x) => !x.startsWith("--"));

async function perf(name, pid) {
  if (!process.env.PERF) return async () => {};
  const file = path.join(process.env.PERF, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.data`);
  const proc = spawn("perf", ["record", "-q", "-g", "-F", "15000", "-o", file, "-p", String(pid)], { stdio: "ignore" });
  const ended = new Promise((ok) => proc.on("close", ok));
  await pause(1500); // until it has begun; nothing is measured before that
  return () => {
    proc.kill("SIGINT");
    return ended;
  };
}

// Milliseconds that the loop's thread has run: what a PING waits for on a machine that has nothing else to do.
const ran = (pid) => Number(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;
const ms = (x) => x.toFixed(1).padStart(9);

// Turns of 10 ms and more by the server's own meter (wall time: on a busy machine also what others took), by cause.
async function stalls(server) {
  const text = await (await fetch(`${server.http}/metrics`)).text();
  return new Map([...text.matchAll(/^mayfly_stalls_total\{cause="(.*)"\} (\d+)/gm)].map((m) => [m[1], Number(m[2])]));
}
const newStalls = (a, b) => [...b].filter(([k, n]) => n > a.get(k)).map(([k, n]) => `${n - a.get(k)} ${k}`).join(", ");

async function measure(attack) {
  const dir = fs.mkdtempSync(path.join(process.env.TMPDIR ?? "/var/tmp", "stall-"));
  const server = await new Server({ dir, mayflyd }, { block: attack.block ?? "", config: `http: "127.0.0.1:-1"\n${attack.config ?? ""}` }).start();
  try {
    const w = await Wire.open(server.port, "attacker");
    const ready = await attack.setup?.(w);
    await w.flush();
    const pinger = await Pinger.open(server);
    const recorded = await perf(attack.name, server.proc.pid);
    const earlier = await stalls(server);
    await pinger.take();
    const before = ran(server.proc.pid);
    const said = await attack.attack(w, ready, server);
    await w.flush(600000);
    const busy = ran(server.proc.pid) - before;
    const { waits, cpu } = await pinger.take();
    await pinger.close();
    const causes = newStalls(earlier, await stalls(server));
    await recorded();
    w.close();
    if (server.gone) throw new Error(`the server ended: ${server.said()}`);
    const at = waits[Math.min(waits.length - 1, Math.floor(waits.length * 0.999))];
    if (table) return console.log(row(attack, waits.at(-1), at, cpu.at(-1), busy));
    console.log(`${attack.name.padEnd(46)} |${ms(waits.at(-1))} |${ms(at)} |${ms(cpu.at(-1))} |${ms(busy)} | ${causes.padEnd(24)} | ${String(said ?? "").slice(0, 90)}`);
  } finally {
    await server.kill();
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const before = (x) => (x === undefined ? "" : x >= 1000 ? `${(x / 1000).toFixed(1)} s` : `${x} ms`);
const row = (a, worst, at, cpu, busy) => `| ${a.name} | ${before(a.before)} | ${worst.toFixed(1)} | ${at.toFixed(1)} | ${cpu.toFixed(1)} | ${busy.toFixed(0)} |`;

if (table) console.log("| attack | a foreign PING before | worst, ms | p99.9, ms | loop ran, ms | in all, ms |\n|---|---|---|---|---|---|");
else console.log(`${"attack".padEnd(46)} | worst ms |  p99.9 ms |  loop ran |    in all | turns of 10 ms and more   | answer`);
const nothing = requests[0];
const minutes = Number(args.find((x) => x.startsWith("--minutes="))?.slice(10) ?? (table ? 10 : Infinity));
const began = performance.now(), missed = [];
for (const a of [nothing, ...[...requests, ...reads, ...states, ...larges].filter((x) => x.name !== nothing.name)]) {
  if (!only.some((x) => a.name.startsWith(x)) && (only.length > 0 || (table && a.before === undefined && !states.includes(a) && !larges.includes(a)))) continue;
  if (performance.now() - began > minutes * 60e3) missed.push(a.name);
  else await measure(a);
}
console.error(`${((performance.now() - began) / 1000).toFixed(0)} s${missed.length ? `; not reached: ${missed.join("; ")}` : ""}`);
