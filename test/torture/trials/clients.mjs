#!/usr/bin/env node
// clients.mjs: crowds, peers that never read, halves of commands, garbage, huge documents, thousands of consumers; beside
// them a load with its observer, and one well-behaved client whose requests must keep being answered; between them exact
// questions of what clients can count on (manners.mjs).
import fs from "node:fs";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { after } from "../lib/awake.mjs";
import { ATTACKS } from "../lib/attacks.mjs";
import { leftovers, manners } from "../lib/manners.mjs";
import { Server, pause } from "../lib/server.mjs";
import { TORTURE, run } from "../lib/trial.mjs";
import { Wire } from "../lib/wire.mjs";
import { World } from "../lib/world.mjs";

const LATE_MS = 10000; // an answer that takes longer is none: far beyond a machine's own stalls
// Twenty that never read may each keep max_pending, 64 MB, waiting: that is 1280 MB of the server's own memory.  Pages of
// the log that were read count as the process's, too, but are the kernel's to keep or drop; of them there are no more than
// the log has, and a log has about four segments of 64 MB more than what is alive in it.
const OWN_MB = 1500;
const LOG_MB = 500; // of one stream
const ALL_MB = OWN_MB + 2 * LOG_MB; // two streams have a log worth mentioning

// One request after the other: publish, exact read, API, ping; the times they took.
class Patient {
  constructor(world) {
    this.world = world;
    this.times = [];
  }
  async start() {
    this.wire = await Wire.open(this.world.server.port, "good");
    await this.wire.api("STREAM.CREATE.GOOD", { name: "GOOD", subjects: ["good.>"], allow_direct: true, max_msgs: 1000 });
    this.done = this.#work();
  }
  async #work() {
    for (let i = 0; !this.stopped; i++) {
      const from = performance.now();
      const m = await [() => this.wire.request("good.x", `n${i}`, null, LATE_MS), () => this.wire.request("$JS.API.DIRECT.GET.GOOD.good.x", "", null, LATE_MS),
        () => this.wire.request("$JS.API.STREAM.INFO.GOOD", "", null, LATE_MS)][i % 3]();
      if (m === null) {
        if (!this.stopped) this.world.find("starved", this.wire.closed ? `the well-behaved client was closed: ${this.wire.said}` : `no answer in ${LATE_MS} ms during ${this.world.attack}`);
        if (this.wire.closed) return;
      } else if (/"error"/.test(m.text()) || (m.status && i > 3)) this.world.find("refused", `the well-behaved client during ${this.world.attack}: ${m.head} ${m.text()}`);
      this.times.push(performance.now() - from);
      await pause(5);
    }
  }
  async stop() {
    this.stopped = true;
    await this.done;
    this.wire.close();
  }
}

const MB = (bytes) => Math.round(bytes / 1048576);

// What the server had at most: memory of its own, pages of mapped files, both together, and the log of one stream.
class Gauge {
  constructor(server) {
    Object.assign(this, { server, own: 0, mapped: 0, all: 0, log: 0, of: "" });
    this.timer = setInterval(() => this.memory(), 250);
  }
  memory() {
    let status = "";
    try {
      status = fs.readFileSync(`/proc/${this.server.proc.pid}/status`, "utf8");
    } catch {
      // it has ended, which others tell
    }
    const most = (key, name) => (this[key] = Math.max(this[key], MB(1024 * (status.match(`${name}:\\s+(\\d+)`)?.[1] ?? 0))));
    most("own", "RssAnon");
    most("mapped", "RssFile");
    most("all", "VmHWM");
  }
  logs() {
    const streams = path.join(this.server.store, "jetstream/$G/streams");
    for (const name of ["K", "T"]) {
      let bytes = 0;
      for (const file of fs.readdirSync(path.join(streams, name))) bytes += fs.statSync(path.join(streams, name, file), { throwIfNoEntry: false })?.size ?? 0;
      if (MB(bytes) > this.log) Object.assign(this, { log: MB(bytes), of: name });
    }
  }
  stop(find) {
    clearInterval(this.timer);
    this.memory();
    if (this.own > OWN_MB || this.all > ALL_MB) find("memory", `the server took ${this.summary()}`);
    if (this.log > LOG_MB) find("disk", `the log of ${this.of} was ${this.log} MB long`);
  }
  summary() {
    return `${this.all} MB (${this.own} of its own, ${this.mapped} of files, the longest log ${this.log})`;
  }
}

run("clients", async (t) => {
  const server = new Server(t);
  const world = new World(t, server, { hands: 2 });
  const { roll } = world;
  const names = Object.keys(ATTACKS);
  const tried = Object.fromEntries(names.map((n) => [n, 0]));
  const find = (kind, text) => world.find(kind, text);
  const passed = await leftovers(t, find);
  await world.begin();
  const good = new Patient(world);
  await good.start();
  const gauge = new Gauge(server);
  let asked = 0;
  const each = Math.min(5000, Math.max(500, t.seconds * 1000 / names.length));
  for (let i = roll(names.length); t.another(1500) && !server.gone; i++) {
    world.attack = "manners";
    world.load();
    asked += await manners(server.port, roll, find);
    world.attack = names[i % names.length];
    const ms = Math.min(each, t.left() - 1000);
    const worker = new Worker(path.join(TORTURE, "lib/attacks.mjs"), { workerData: { name: world.attack, port: server.port, seed: t.seed + i, ms } });
    let done;
    const made = await new Promise((ok) => {
      worker.on("message", ok);
      worker.on("error", (e) => ok(e.stack));
      done = after(ms + 60000, () => ok("it did not end"));
    });
    done();
    await worker.terminate();
    if (typeof made === "number") tried[world.attack] += made;
    else world.find("attack", `${world.attack}: ${made}`);
    await world.verifyLive();
    gauge.logs();
  }
  await good.stop();
  gauge.stop(find);
  world.load();
  await world.finish();
  const times = good.times.sort((a, b) => a - b);
  const at = (q) => times[Math.floor(times.length * q)]?.toFixed(1);
  return `${names.map((n) => `${tried[n]} ${n}`).join(", ")}; ${passed} came and went, ${asked} questions of manners; well-behaved client: ${times.length} requests, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${times.at(-1)?.toFixed(0)} ms; at most ${gauge.summary()}; ${world.summary()}`;
});
