// spread.mjs [--leafs=10,100,1000] [--subjects=2]: what many leaf servers on one hub cost it, and what isolation saves.
//
// The leafs are played on raw sockets: each attaches with a name and a JetStream domain of its own and announces what an idle Mayfly announces
// (its API, its TTL API, its mark) and some subjects of its applications.  The hub is a nats-server, then a mayflyd.  Printed are the lines that the hub
// sends, its processor time until all is quiet, its memory, and the same for one more leaf that comes and goes.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { Server } from "../test/interop/lib/server.mjs";
import { freePort } from "../test/leaf/lib/ports.mjs";

const flags = new Map(process.argv.slice(2).map((a) => a.replace(/^--/, "").split("=")));
const sizes = (flags.get("leafs") ?? "10,100,1000").split(",").map(Number);
const subjects = Number(flags.get("subjects") ?? 2);
const KINDS = { nats: process.env.NATS_SERVER, mayfly: path.resolve(process.env.MAYFLYD ?? "build/mayflyd") };
const pause = (ms) => new Promise((ok) => setTimeout(ok, ms));
const QUIET_MS = 400;

function cpuOf(s) {
  const text = fs.readFileSync(`/proc/${s.proc.pid}/stat`, "utf8");
  const f = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(f[11]) + Number(f[12])) / 100;
}
const memoryOf = (s) => Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${s.proc.pid}/status`, "utf8"))[1]) / 1024;

let lines = 0; // LS+ and LS- that all leafs received
let last = 0;

class Leaf {
  constructor(port, i) {
    this.rest = "";
    this.ready = new Promise((ok) => (this.usable = ok));
    this.socket = net.connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("error", () => {});
    this.socket.on("data", (d) => this.read(d.toString("latin1"), i));
  }
  read(text, i) {
    const all = (this.rest + text).split("\r\n");
    this.rest = all.pop();
    for (const line of all) {
      if (line.startsWith("LS")) {
        lines++;
        last = performance.now();
      } else if (line.startsWith("PING")) this.socket.write("PONG\r\n");
      else if (line.includes('"connect_info":true')) {
        const own = [`$JS.edge${i}.API.>`, `$MAYFLY.edge${i}.TTL.>`, `$LDS.${String(i).padStart(22, "x")}`];
        for (let k = 0; k < subjects; k++) own.push(`edge${i}.app.${k}.>`);
        this.socket.write(own.map((s) => `LS+ ${s}\r\n`).join(""));
        this.usable();
      } else if (line.startsWith("INFO") && !this.told) {
        this.told = true;
        const name = `EDGE${i}`;
        this.socket.write(`CONNECT ${JSON.stringify({ version: "2.15.1", name, server_id: `N${name}`, cluster: name, domain: `edge${i}`, headers: true, jetstream: true, remote_account: "$G", protocol: 1 })}\r\n`);
      }
    }
  }
  close() {
    this.socket.destroy();
  }
}

async function quiet() {
  last = performance.now();
  while (performance.now() - last < QUIET_MS) await pause(20);
}

async function run(kind, n, isolated) {
  const port = await freePort();
  const hub = await new Server({
    program: KINDS[kind], monitor: true,
    config: `server_name: HUB\njetstream { store_dir: "DIR/js", domain: hub }\nleafnodes { listen: "127.0.0.1:${port}"\n compression: off\n isolate_leafnode_interest: ${isolated} }\n`,
  }).start();
  const leafs = [];
  const base = { memory: memoryOf(hub), cpu: cpuOf(hub) };
  lines = 0;
  for (let i = 0; i < n; i += 20) {
    for (let k = i; k < Math.min(n, i + 20); k++) leafs.push(new Leaf(port, k));
    await Promise.all(leafs.slice(i).map((l) => l.ready));
  }
  await quiet();
  const all = { lines, cpu: cpuOf(hub) - base.cpu, memory: memoryOf(hub) - base.memory };
  lines = 0;
  const before = cpuOf(hub);
  const ROUNDS = 10;
  for (let i = 0; i < ROUNDS; i++) {
    const one = new Leaf(port, n + i);
    await one.ready;
    await quiet();
    one.close();
    await quiet();
  }
  const more = { lines: lines / ROUNDS, ms: ((cpuOf(hub) - before) * 1000) / ROUNDS };
  for (const l of leafs) l.close();
  hub.proc.kill("SIGTERM");
  await hub.exited;
  fs.rmSync(hub.dir, { recursive: true, force: true });
  const p = (x, w, d = 0) => x.toFixed(d).padStart(w);
  console.log(`${kind.padEnd(8)}${p(n, 6)}  ${isolated ? "yes" : "no "}  ${p(all.lines, 10)}${p(all.cpu, 9, 2)}${p(all.memory, 9, 1)}${p(more.lines, 10)}${p(more.ms, 9, 1)}`);
}

console.log(`each leaf announces ${subjects + 3} subjects; the last two columns are of one more leaf that comes and goes`);
console.log("hub      leafs  isol.     lines    cpu s       MB     lines   cpu ms");
for (const n of sizes)
  for (const isolated of [false, true]) for (const kind of ["nats", "mayfly"]) await run(kind, n, isolated);
process.exit(0);
