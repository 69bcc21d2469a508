// storm.mjs: rough weather: crowds, peers that never read, garbage, resets, signals under load.
//
//   node storm.mjs [--only TEXT] [--list] [SERVER...]
//
// Every scenario (storm/*.mjs) starts servers of its own, raw sockets do the rest, and each server
// must end in good order: status 0, and with sanitizers nothing to report and nothing leaked.
// Prints "ok" or "not ok" per scenario and "N passed, N failed"; exits 1 when one failed.
// SERVER (default: $MAYFLYD) may be nats-server: a few scenarios are about mayflyd alone.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { isMayfly, Lag, Server } from "./storm/kit.mjs";
import * as chaos from "./storm/chaos.mjs";
import * as crowds from "./storm/crowds.mjs";
import * as lies from "./storm/lies.mjs";
import * as signals from "./storm/signals.mjs";
import * as slow from "./storm/slow.mjs";
import * as starts from "./storm/starts.mjs";
import * as subs from "./storm/subs.mjs";

const SCENARIO_MS = 300000; // none should need more than 20 s with sanitizers, most need one or two
const all = [starts, slow, lies, signals, chaos, subs, crowds].flatMap((m) => m.scenarios);

// What a scenario is given.
class Scene {
  constructor(binary, ours) {
    this.binary = binary;
    this.ours = ours;
    this.servers = [];
    this.notes = [];
    this.hints = [];
    this.lag = new Lag();
    this.sanitized = readFileSync(binary).includes("__asan_init");
  }

  prepare(conf = "", options = {}) {
    const s = new Server(this.binary, conf, options);
    this.servers.push(s);
    return s;
  }

  async server(conf, options) {
    return this.prepare(conf, options).start();
  }

  // For scenarios that measure memory: a sanitizer must not keep what was freed.
  async thrifty(conf) {
    return this.server(conf, { env: { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ""}:quarantine_size_mb=1:` +
      "thread_local_quarantine_size_kb=16" } });
  }

  // A limit of memory, wider where sanitizers or Go's collector add their own.
  atMost(kb) {
    return kb * (this.sanitized ? 3 : 1) * (this.ours ? 1 : 30);
  }

  // A limit of time, in ms: of what the server does, not of what the machine keeps it from.
  soon(ms) {
    return ms + 3 * this.lag.look();
  }

  descriptors() {
    return Number(execFileSync("bash", ["-c", "ulimit -Hn"], { encoding: "utf8" }).replace("unlimited\n", "1e9"));
  }

  read(file) {
    try {
      return readFileSync(file, "utf8");
    } catch {
      return "";
    }
  }

  note(text) {
    this.notes.push(text);
  }

  onFailure(text) {
    this.hints.push(text);
  }

  end() {
    this.servers.forEach((s) => s.remove());
  }
}

// null, or why it failed.
async function play(scenario, scene) {
  let timer;
  try {
    await Promise.race([scenario.run(scene), new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${SCENARIO_MS} ms`)), SCENARIO_MS);
    })]);
    return null;
  } catch (e) {
    const said = scene.servers.slice(-3)
      .map((s) => `server status ${s.status ?? "running"}, log: ...${s.log.slice(-3000)}`);
    return [e.message, ...scene.hints, `we were served late by ${scene.lag.look()} ms at worst`, ...said].join("\n");
  } finally {
    clearTimeout(timer);
    scene.lag.stop();
    scene.end();
  }
}

async function main(argv) {
  const opts = { only: "", list: false, binaries: [] };
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === "--only") opts.only = argv[++i];
    else if (argv[i] === "--list") opts.list = true;
    else opts.binaries.push(argv[i]);
  }
  const chosen = all.filter((s) => s.name.includes(opts.only));
  if (opts.list) {
    chosen.forEach((s) => console.log(s.name));
    return 0;
  }
  if (opts.binaries.length === 0 && process.env.MAYFLYD) opts.binaries.push(process.env.MAYFLYD);
  if (opts.binaries.length === 0) {
    console.error("usage: node storm.mjs [--only TEXT] [--list] [SERVER...]");
    return 2;
  }
  let passed = 0, failed = 0;
  for (const binary of opts.binaries) {
    const ours = isMayfly(binary);
    for (const scenario of chosen.filter((s) => ours || !s.ours)) {
      const scene = new Scene(binary, ours);
      const from = Date.now();
      const why = await play(scenario, scene);
      const label = `${basename(binary)}: ${scenario.name} (${((Date.now() - from) / 1000).toFixed(1)} s)`;
      console.log(why === null ? `ok - ${label}` : `not ok - ${label}\n# ${why.trimEnd().replaceAll("\n", "\n# ")}`);
      scene.notes.forEach((n) => console.log(`#   ${n}`));
      if (why === null) passed++;
      else failed++;
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

// A socket that ends where nobody looks any more is no failure of the scenario.
process.on("unhandledRejection", (e) => console.log(`# unhandled: ${e.message}`));

main(process.argv.slice(2)).then((code) => process.exit(code), (e) => {
  console.error(`storm: ${e.stack}`);
  process.exit(2);
});
