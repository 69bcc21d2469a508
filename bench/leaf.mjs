// leaf.mjs [--rounds=3] [--rows=TEXT,..] [--messages=N] [--json=FILE]: two servers with a leaf link between them: two nats-servers, then two mayflyds,
// in turns.
//
// Each row gives wall time and the processor time of both servers together.  The load generator is this process, on raw sockets: it repeats
// one prepared block of commands and counts bytes, and its own processor time is in no figure.  The bar is the ratio of processor time,
// which other programs on the machine disturb least; for request-reply it is that of the round trips, too.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { Server } from "../test/interop/lib/server.mjs";
import { tlsBlock, certs } from "../test/interop/lib/certs.mjs";
import { freePort } from "../test/leaf/lib/ports.mjs";

const flags = new Map(process.argv.slice(2).map((a) => a.replace(/^--/, "").split("=")));
const rounds = Number(flags.get("rounds") ?? 3);
const wanted = (flags.get("rows") ?? "").split(",").map((x) => new RegExp(x));
const scale = Number(flags.get("messages") ?? 1000000);
const BAR = 1.5;
const KINDS = { nats: process.env.NATS_SERVER, mayfly: path.resolve(process.env.MAYFLYD ?? "build/mayflyd") };
const pause = (ms) => new Promise((ok) => setTimeout(ok, ms));
const TICKS = 100;

// Seconds of processor time, user and system.
function cpuOf(s) {
  const text = fs.readFileSync(`/proc/${s.proc.pid}/stat`, "utf8");
  const f = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(f[11]) + Number(f[12])) / TICKS;
}

// A client that counts bytes; what it looks for, it looks for in the last of them.
class Wire {
  constructor(port) {
    this.got = 0;
    this.tail = "";
    this.waiting = [];
    this.socket = net.connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("data", (d) => this.read(d));
    this.socket.on("error", () => {});
    this.write('CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n');
  }
  read(d) {
    this.got += d.length;
    if (this.onData) return this.onData(d);
    this.tail = (this.tail + d.toString("latin1")).slice(-65536);
    this.waiting = this.waiting.filter((w) => !w());
  }
  write(text) {
    return this.socket.write(text);
  }
  until(text) {
    return new Promise((ok) => {
      const look = () => {
        const at = this.tail.indexOf(text);
        if (at >= 0) ok(this.tail);
        return at >= 0;
      };
      if (!look()) this.waiting.push(look);
    });
  }
  async flush() {
    this.tail = "";
    this.write("PING\r\n");
    await this.until("PONG\r\n");
  }
  async ask(subject, body) {
    const inbox = `_INBOX.b${Math.random().toString(36).slice(2)}`;
    this.tail = "";
    this.write(`SUB ${inbox} 77\r\nPUB ${subject} ${inbox} ${Buffer.byteLength(body)}\r\n${body}\r\n`);
    await this.until(`MSG ${inbox}`);
    while (!/^\{.*\}\r\n/ms.test(this.tail.slice(this.tail.indexOf(`MSG ${inbox}`)).replace(/^.*?\r\n/s, ""))) {
      if (/HMSG .*NATS\/1\.0 503/s.test(this.tail)) return undefined;
      await pause(1);
    }
    this.write("UNSUB 77\r\n");
    const rest = this.tail.slice(this.tail.indexOf(`MSG ${inbox}`)).replace(/^.*?\r\n/s, "");
    return JSON.parse(rest.slice(0, rest.lastIndexOf("}") + 1));
  }
  // The same bytes n times, as fast as they are taken.
  async pour(block, n) {
    for (let i = 0; i < n; i++)
      if (!this.socket.write(block)) await new Promise((ok) => this.socket.once("drain", ok));
  }
  close() {
    this.socket.destroy();
  }
}

async function pair(kind, mode) {
  const program = KINDS[kind];
  const leafPort = await freePort();
  const compression = mode === "s2" ? "s2_fast" : "off";
  const tls = mode === "tls" ? tlsBlock("", 10) : "";
  const store = (domain) => `jetstream { store_dir: "DIR/js", domain: ${domain}, max_file_store: 20GB }\n`;
  const hub = await new Server({ program, monitor: true, config: `server_name: HUB\n${store("hub")}leafnodes { listen: "127.0.0.1:${leafPort}"\ncompression: ${compression}\n${tls} }\n` }).start();
  const client = mode === "tls" ? `tls { ca_file: "${certs().ca}.pem", timeout: 10 }` : "";
  const leaf = await new Server({
    program, monitor: true,
    config: `server_name: LEAF\n${store("lf")}leafnodes { remotes [ { url: "nats-leaf://${mode === "tls" ? "localhost" : "127.0.0.1"}:${leafPort}", compression: ${compression}\n${client} } ] }\n`,
  }).start();
  const w = { hub, leaf, down: { from: hub, to: leaf, domain: "hub" }, up: { from: leaf, to: hub, domain: "lf" } };
  for (;;) {
    const z = await hub.page("/leafz");
    if (z.json.leafnodes === 1) break;
    await pause(20);
  }
  await pause(1500); // first PINGs, pending interest
  return w;
}
const end = async (w) => {
  for (const s of [w.leaf, w.hub]) {
    s.proc.kill("SIGTERM");
    await s.exited;
    fs.rmSync(s.dir, { recursive: true, force: true });
  }
};

async function measure(w, fn) {
  const cpu = () => cpuOf(w.hub) + cpuOf(w.leaf);
  const before = cpu();
  const start = performance.now();
  const extra = await fn();
  const s = (performance.now() - start) / 1000;
  return { s, cpu: cpu() - before, ...extra };
}

// --- rows ------------------------------------------------------------------------------------------

async function interest(from, subject) {
  const c = new Wire(from.port);
  for (;;) {
    c.tail = "";
    c.write(`SUB _INBOX.probe 9\r\nPUB ${subject} _INBOX.probe 0\r\n\r\nPING\r\n`);
    await c.until("PONG\r\n");
    if (!/ 503/.test(c.tail)) break;
    await pause(10);
  }
  c.close();
}

const messages = (way, size) => async (w) => {
  const { from, to } = w[way];
  const n = Math.ceil((size > 100 ? scale / 4 : scale) / 500) * 500;
  const sub = new Wire(to.port);
  sub.write("SUB m.x 1\r\n");
  await sub.flush();
  await interest(from, "m.x");
  await sub.flush();
  const pub = new Wire(from.port);
  await pub.flush();
  const one = `MSG m.x 1 ${size}\r\n`.length + size + 2;
  const payload = Array.from({ length: size }, (_, i) => "0123456789abcdef key=value;"[(i * 7) % 27]).join("");
  const block = Buffer.from(`PUB m.x ${size}\r\n${payload}\r\n`.repeat(500));
  return measure(w, async () => {
    const base = sub.got;
    sub.onData = () => {};
    const arrived = (async () => {
      while (sub.got - base < n * one) await pause(2);
    })();
    await pub.pour(block, n / 500);
    await arrived;
    pub.close();
    sub.close();
    return { n };
  });
};

const mirror = (way) => async (w) => {
  const { from, to, domain } = w[way];
  const n = Math.ceil(scale / 1000) * 1000;
  const [a, b] = [new Wire(from.port), new Wire(to.port)];
  await a.ask("$JS.API.STREAM.CREATE.O", JSON.stringify({ name: "O", subjects: ["o.>"], storage: "file" }));
  const block = Buffer.from(Array.from({ length: 1000 }, (_, i) => `PUB o.${i} 64\r\n${"x".repeat(64)}\r\n`).join(""));
  // Without publish acks a nats-server drops what its queue of the stream does not hold.
  for (let sent = 0; sent < n; ) {
    const blocks = Math.min(4, (n - sent) / 1000);
    await a.pour(block, blocks);
    sent += blocks * 1000;
    while ((await a.ask("$JS.API.STREAM.INFO.O", "")).state.messages < sent) await pause(1);
  }
  const r = await measure(w, async () => {
    await b.ask("$JS.API.STREAM.CREATE.M", JSON.stringify({ name: "M", storage: "file", mirror: { name: "O", external: { api: `$JS.${domain}.API`, deliver: "" } } }));
    for (let have = 0; have < n; ) {
      have = (await b.ask("$JS.API.STREAM.INFO.M", ""))?.state?.messages ?? 0;
      if (have < n) await pause(20);
    }
    return { n };
  });
  a.close();
  b.close();
  return r;
};

const requests = (way) => async (w) => {
  const { from, to } = w[way];
  const n = Math.max(1000, scale / 100);
  const service = new Wire(to.port), client = new Wire(from.port);
  service.write("SUB svc 1\r\n");
  await service.flush();
  await interest(from, "svc");
  const reply = /^MSG svc 1 (\S+) /;
  service.onData = (d) => {
    const m = reply.exec(d.toString("latin1"));
    if (m) service.socket.write(`PUB ${m[1]} 2\r\nok\r\n`);
  };
  client.write("SUB _INBOX.q.* 2\r\n");
  await client.flush();
  await interest(to, "_INBOX.q.1");
  await pause(100);
  const times = [];
  let next;
  client.onData = () => next?.();
  const r = await measure(w, async () => {
    for (let i = 0; i < n; i++) {
      const t = process.hrtime.bigint();
      await new Promise((ok) => {
        next = ok;
        client.socket.write(`PUB svc _INBOX.q.${i} 2\r\nhi\r\n`);
      });
      times.push(Number(process.hrtime.bigint() - t) / 1000);
    }
    return { n };
  });
  times.sort((x, y) => x - y);
  service.close();
  client.close();
  return { ...r, median: times[Math.floor(n / 2)], p99: times[Math.floor(n * 0.99)] };
};

const announce = async (w) => {
  const n = Math.max(1000, scale / 10);
  const c = new Wire(w.leaf.port);
  await c.flush();
  const before = (await w.hub.page("/leafz")).json.leafs[0].subscriptions;
  const text = Array.from({ length: n }, (_, i) => `SUB devices.${i % 1000}.sensor.${i} ${i + 1}\r\n`).join("");
  const r = await measure(w, async () => {
    c.write(text);
    while ((await w.hub.page("/leafz")).json.leafs[0].subscriptions < before + n) await pause(5);
    return { n };
  });
  c.close();
  return r;
};

const rows = [];
for (const mode of ["plain", "tls", "s2"])
  for (const size of [16, 1024])
    for (const way of ["down", "up"]) rows.push([`messages ${mode} ${size} B ${way}`, mode, messages(way, size)]);
for (const way of ["down", "up"]) rows.push([`mirror catch-up ${way}`, "plain", mirror(way)]);
for (const way of ["down", "up"]) rows.push([`request-reply ${way}`, "plain", requests(way)]);
rows.push(["subscriptions announced", "plain", announce]);

const median = (a) => [...a].sort((x, y) => x - y)[Math.floor(a.length / 2)];
const out = [];
let bad = 0;
console.log("down: hub to leaf; up: leaf to hub.  us: processor time of both servers for one message, request or subscription");
console.log("row                           nats /s   mayfly /s  rate    nats us  mayfly us   cpu   bar");
for (const [name, mode, fn] of rows.filter(([n]) => wanted.some((x) => x.test(n)))) {
  const got = { nats: [], mayfly: [] };
  for (let i = 0; i < rounds; i++)
    for (const kind of i % 2 ? ["mayfly", "nats"] : ["nats", "mayfly"]) {
      const w = await pair(kind, mode);
      try {
        got[kind].push(await fn(w));
      } finally {
        await end(w);
      }
    }
  const rate = (k) => median(got[k].map((r) => r.n / r.s));
  const us = (k) => median(got[k].map((r) => (r.cpu * 1e6) / r.n));
  const ratio = rate("mayfly") / rate("nats"), cpu = us("nats") / us("mayfly");
  const reached = cpu >= BAR;
  bad += !reached;
  const p = (x, n, d = 0) => x.toFixed(d).padStart(n);
  let line = `${name.padEnd(27)}${p(rate("nats"), 10)}${p(rate("mayfly"), 12)}${p(ratio, 6, 2)}${p(us("nats"), 11, 2)}${p(us("mayfly"), 11, 2)}${p(cpu, 6, 2)}   ${reached ? "yes" : "NO"}`;
  if (got.nats[0].median) line += `   median ${p(median(got.nats.map((r) => r.median)), 0, 1)} > ${p(median(got.mayfly.map((r) => r.median)), 0, 1)} us, p99 ${p(median(got.nats.map((r) => r.p99)), 0, 1)} > ${p(median(got.mayfly.map((r) => r.p99)), 0, 1)} us`;
  console.log(line);
  out.push({ name, ratio, cpu, ...got });
}
if (flags.get("json")) fs.writeFileSync(flags.get("json"), JSON.stringify(out, null, 1));
console.log(`${out.length - bad} of ${out.length} rows reach ${BAR} x`);
process.exit(bad ? 1 : 0);
