#!/usr/bin/env node
// run.mjs: all trials, sharing the time and the cores; at the end what was tried and what was found.
//
//   run.mjs --minutes=M [--only=TRIAL,...] [--seed=S] [--jobs=N] [--log=DIR] --mayflyd=PATH
//
// Exit 1 when something was found, 2 when a trial that was asked for by name could not run here.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after } from "./lib/awake.mjs";
import { TOP, TORTURE } from "./lib/trial.mjs";

// Shares of the time.  A trial that is not listed gets one.
const WEIGHT = { "store-crash": 1.5, "store-shared": 1.5, "store-shared-nth": 0.5, "store-stream": 0.5, "store-flip": 1, "store-twin": 0.3, "store-nth": 0.7, "store-model": 1, "store-kill": 0.7, stalls: 0.7, kill: 2, power: 2.5, lifetimes: 2, fuzz: 2 };

const flags = Object.fromEntries(process.argv.slice(2).map((a) => a.match(/^--([a-z]+)=(.*)$/s)?.slice(1) ?? [a, ""]));
const minutes = Number(flags.minutes ?? 60);
const seed = Number(flags.seed ?? Date.now() % 1_000_000_007);
const jobs = Number(flags.jobs ?? Math.min(2, os.availableParallelism()));
const logs = path.resolve(flags.log ?? path.join(TOP, ".dev/torture"));
const known = fs.readdirSync(path.join(TORTURE, "trials")).filter((f) => f.endsWith(".mjs")).map((f) => f.slice(0, -4)).sort();
const only = flags.only ? flags.only.split(",") : known;
const unknown = only.filter((n) => !known.includes(n));
if (!(minutes > 0) || !Number.isSafeInteger(seed) || unknown.length > 0 || !flags.mayflyd) {
  console.error(`torture: ${unknown.length ? `no trial ${unknown}` : "bad arguments"}; trials: ${known.join(" ")}`);
  process.exit(2);
}

// Lanes of about the same weight; within a lane the trials fill the whole time.
function plan() {
  const lanes = Array.from({ length: Math.min(jobs, only.length) }, () => ({ weight: 0, trials: [] }));
  const weight = (n) => WEIGHT[n] ?? 1;
  for (const name of [...only].sort((a, b) => weight(b) - weight(a))) {
    const lane = lanes.reduce((x, y) => (y.weight < x.weight ? y : x));
    lane.weight += weight(name);
    lane.trials.push({ name, weight: weight(name), state: "waits", finds: [], tried: "" });
  }
  for (const lane of lanes)
    for (const x of lane.trials) x.seconds = Math.max(1, Math.round((minutes * 60 * x.weight) / lane.weight));
  return lanes;
}

const lanes = plan();
const trials = lanes.flatMap((l) => l.trials).sort((a, b) => only.indexOf(a.name) - only.indexOf(b.name));
const began = Date.now();
const clock = (ms) => `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}`;
const finds = () => trials.reduce((n, x) => n + (x.count ?? x.finds.length), 0);
const wipe = () => process.stdout.isTTY && process.stdout.write("\r\x1b[K");

function progress() {
  const now = trials.filter((x) => x.state === "runs").map((x) => `${x.name} ${Math.round((Date.now() - x.from) / 1000)}/${x.seconds} s`);
  const done = trials.filter((x) => x.state === "ended").length;
  const line = `torture ${clock(Date.now() - began)} of ${clock(minutes * 60000)}: ${now.join(", ")}; ${done} of ${trials.length} done, ${finds()} found`;
  process.stdout.write(`\r\x1b[K${line.slice(0, (process.stdout.columns ?? 100) - 1)}`);
}

// An interrupted run ends its trials, which end their servers.
const children = new Set();
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    for (const p of children) p.kill("SIGTERM");
    process.exit(3);
  });

function start(x) {
  x.state = "runs";
  x.from = Date.now();
  const dir = fs.mkdtempSync(path.join(process.env.TMPDIR ?? "/var/tmp", `torture-${x.name}-`));
  const log = fs.createWriteStream(path.join(logs, `${x.name}.log`));
  const file = path.join(TORTURE, "trials", `${x.name}.mjs`);
  const p = spawn(process.execPath, [file, `--seconds=${x.seconds}`, `--seed=${seed}`, `--mayflyd=${flags.mayflyd}`, `--dir=${dir}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(p);
  return new Promise((ok) => {
    let rest = "";
    const take = (d) => {
      log.write(d);
      const lines = (rest + d).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (line !== "") x.last = line;
        if (!line.startsWith("FOUND ")) continue;
        x.finds.push(line);
        wipe();
        console.log(`${x.name}: ${line}`);
      }
    };
    p.stdout.on("data", take);
    p.stderr.on("data", (d) => log.write(d));
    // A trial stops by itself; one that hangs is a find too.
    const done = after((x.seconds + 120) * 1000, () => {
      x.hung = true;
      p.kill("SIGKILL");
    });
    p.on("close", (code, signal) => {
      done();
      children.delete(p);
      log.end();
      x.code = x.hung ? "did not stop" : (code ?? signal);
      settle(x);
      if (x.code === 0 || x.code === 2) fs.rmSync(dir, { recursive: true, force: true });
      ok();
    });
  });
}

function settle(x) {
  x.state = "ended";
  x.took = Math.round((Date.now() - x.from) / 1000);
  const m = x.last?.match(/^[\w-]+: (.*), (\d+) found$/);
  x.tried = m ? m[1] : (x.last?.match(/could not run here: (.*)/)?.[0] ?? "");
  x.count = m ? Number(m[2]) : x.finds.length;
  if (![0, 1, 2].includes(x.code) || (x.code !== 2 && !m)) {
    x.count = Math.max(1, x.count);
    x.finds.push(`FOUND no-end: the trial ended by ${x.code} without its last line`);
  }
  wipe();
  console.log(`${clock(Date.now() - began)} ${x.name}: ${x.tried || x.finds.at(-1)}${x.code === 2 ? "" : `, ${x.count} found`}`);
}

fs.mkdirSync(logs, { recursive: true });
console.log(`torture: ${trials.length} trials, ${minutes} minutes, ${lanes.length} at a time, --seed=${seed}, ${flags.mayflyd}; logs in ${path.relative(process.cwd(), logs) || "."}`);
const ticker = process.stdout.isTTY ? setInterval(progress, 500) : null;
await Promise.all(lanes.map(async (lane) => {
  for (const x of lane.trials) await start(x);
}));
clearInterval(ticker);
wipe();

const width = Math.max(...trials.map((x) => x.name.length));
console.log(`\n${"trial".padEnd(width)}  seconds  found  what was tried`);
for (const x of trials)
  console.log(`${x.name.padEnd(width)}  ${String(x.took).padStart(7)}  ${x.code === 2 ? "    -" : String(x.count).padStart(5)}  ${x.tried}`);
for (const x of trials) for (const f of x.finds) console.log(`${x.name}: ${f}`);
console.log(`torture: --seed=${seed}, ${clock(Date.now() - began)} minutes, ${finds()} found`);
process.exit(finds() > 0 ? 1 : flags.only && trials.some((x) => x.code === 2) ? 2 : 0);
