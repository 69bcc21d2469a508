// watchers.mjs: many watchers are made at once on a bucket with very many keys: how long until each has its answer
// and its first message, and how long a stranger's PING takes meanwhile.
//
//     node bench/watchers.mjs --server=PATH [--keys=1000000] [--watchers=1000] [--restart]
//
// --restart: the watchers are stock nats.js KV watchers (updates only, a connection each, the client's own ways of coming
// back); the server is killed with -9 and started again, and an update is put every 100 ms until each has seen one.  Where the
// client is not installed (test/interop/node_modules), `./dev test --only=interop` does it.
//
// The PINGs come from a process of their own; idle ones are shown too, because a busy machine delays them as well.
import { fork, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";

const option = (name, value) => {
  const given = process.argv.find((a) => a.startsWith(`--${name}=`));
  return given === undefined ? value : given.slice(name.length + 3);
};
const pause = (ms) => new Promise((ok) => setTimeout(ok, ms));

// A client that knows requests, PINGs and whether messages came.
class Client {
  constructor(port) {
    this.buffer = Buffer.alloc(0);
    this.answers = new Map();
    this.pongs = [];
    this.messages = 0;
    this.next = 1;
    this.inbox = `_in.${Math.random().toString(36).slice(2)}`;
    this.socket = net.connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("data", (data) => this.read(data));
    this.socket.on("error", () => {}); // a server that is killed
    this.socket.write(`CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\nSUB ${this.inbox}.* 1\r\n`);
  }
  ping() {
    return new Promise((ok) => {
      this.pongs.push(ok);
      this.socket.write("PING\r\n");
    });
  }
  async ask(subject, body) {
    const id = String(this.next++);
    const answer = new Promise((ok) => this.answers.set(id, ok));
    this.socket.write(`PUB ${subject} ${this.inbox}.${id} ${Buffer.byteLength(body)}\r\n${body}\r\n`);
    const got = JSON.parse(await answer);
    if (got.error) throw new Error(`${subject}: ${JSON.stringify(got.error)}`);
    return got;
  }
  read(data) {
    this.buffer = this.buffer.length === 0 ? data : Buffer.concat([this.buffer, data]);
    let at = 0;
    for (let end; (end = this.buffer.indexOf("\r\n", at)) >= 0; ) {
      const words = this.buffer.toString("latin1", at, end).split(" ");
      let next = end + 2;
      if (words[0] === "MSG" || words[0] === "HMSG") {
        const size = Number(words[words.length - 1]);
        if (this.buffer.length < next + size + 2) break;
        this.message(words, this.buffer.subarray(next, next + size));
        next += size + 2;
      } else if (words[0] === "PONG") this.pongs.shift()?.();
      else if (words[0] === "PING") this.socket.write("PONG\r\n");
      else if (words[0] === "-ERR") throw new Error(words.join(" "));
      at = next;
    }
    this.buffer = this.buffer.subarray(at);
  }
  message(words, body) {
    if (words[2] !== "1") {
      if (words[0] === "MSG" && ++this.messages === 1) {
        this.first?.();
        this.socket.pause(); // the others must not wait for this process
      }
      return;
    }
    const id = words[1].slice(this.inbox.length + 1);
    this.answers.get(id)?.(body.toString());
    this.answers.delete(id);
  }
}

async function ping_for_ever(port) {
  const client = new Client(port);
  let worst = 0;
  process.on("message", () => {
    process.send(worst);
    worst = 0;
  });
  for (;;) {
    const start = performance.now();
    await client.ping();
    worst = Math.max(worst, performance.now() - start);
    await pause(2);
  }
}

async function start_server(program, dir, port = -1) {
  const ports = fs.mkdtempSync(path.join(dir, "ports-"));
  const server = spawn(program, ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", path.join(dir, "data"), "--ports_file_dir", ports], { stdio: "ignore" });
  for (const until = Date.now() + 30000; Date.now() < until; await pause(20)) {
    const file = fs.readdirSync(ports)[0];
    const text = file === undefined ? "" : fs.readFileSync(path.join(ports, file), "utf8");
    if (text.trimEnd().endsWith("}")) return { server, port: Number(new URL(JSON.parse(text).nats[0]).port) };
  }
  throw new Error(`${program} does not start`);
}

async function fill(client, keys, rounds) {
  for (let i = 0; i < keys * rounds; ) {
    let text = "";
    for (let k = 0; k < 5000 && i < keys * rounds; k++, i++) text += `PUB $KV.b.g${i % 2}.k${i % keys} 5\r\nvalue\r\n`;
    client.socket.write(text);
    await client.ping();
  }
  while ((await client.ask("$JS.API.STREAM.INFO.KV_b", "")).state.last_seq < keys * rounds) await pause(50);
}

async function watch(port, pings, watchers, filter) {
  const clients = Array.from({ length: watchers }, () => new Client(port));
  await Promise.all(clients.map((c) => c.ping()));
  await pings();
  const start = performance.now();
  const firsts = clients.map((c) => new Promise((ok) => (c.first = ok)));
  const made = await Promise.all(
    clients.map((c, i) => {
      const name = `w${i}`;
      const config = {
        name, filter_subject: filter, deliver_subject: `w.${i}`, deliver_policy: "last_per_subject", ack_policy: "none",
        max_deliver: 1, flow_control: true, idle_heartbeat: 60e9, inactive_threshold: 300e9, num_replicas: 1, mem_storage: true,
      };
      c.socket.write(`SUB w.${i} 2\r\n`);
      return c.ask(`$JS.API.CONSUMER.CREATE.KV_b.${name}.${filter}`, JSON.stringify({ stream_name: "KV_b", config }));
    }),
  );
  const made_ms = performance.now() - start, made_ping = await pings();
  await Promise.race([Promise.all(firsts), pause(120000)]);
  const first_ms = performance.now() - start, first_ping = await pings();
  for (const c of clients) c.socket.destroy();
  return { pending: made[0].num_pending, made_ms, made_ping, first_ms, first_ping };
}

const bucket = (history) => JSON.stringify({
  name: "KV_b", subjects: ["$KV.b.>"], max_msgs_per_subject: history, discard: "new", allow_rollup_hdrs: true,
  deny_delete: true, allow_direct: true, storage: "file", num_replicas: 1,
});

// Stock watchers, each on a connection of its own: seen(i, value) of what comes.
async function stock_watchers(port, n, seen) {
  const from = createRequire(new URL("../test/interop/run.mjs", import.meta.url));
  const { connect } = await import(from.resolve("@nats-io/transport-node"));
  const { Kvm } = await import(from.resolve("@nats-io/kv"));
  for (let i = 0; i < n; i++) {
    const nc = await connect({ servers: `127.0.0.1:${port}`, maxReconnectAttempts: -1 });
    const kv = await new Kvm(nc).open("b");
    const watch = await kv.watch({ key: ">", include: "updates" });
    (async () => {
      for await (const e of watch) seen(i, Number(e.string()));
    })().catch(() => {});
  }
}

async function restart(program, keys, watchers) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "watchers-"));
  let { server, port } = await start_server(program, dir);
  const gone = () => new Promise((ok) => (server.once("exit", ok), server.kill("SIGKILL")));
  try {
    let client = new Client(port), told = 0, left = 0;
    await client.ask("$JS.API.STREAM.CREATE.KV_b", bucket(1));
    await fill(client, keys, 1);
    const last = new Array(watchers).fill(0);
    await stock_watchers(port, watchers, (i, value) => (last[i] = Math.max(last[i], value)));
    const put = () => client.ask("$KV.b.g0.told", String(++told));
    // Until each has seen something that was put from now on.
    const all_see = async (most_ms) => {
      const from = told, start = performance.now();
      for (;;) {
        await put();
        await pause(100);
        left = last.filter((x) => x <= from).length;
        if (left === 0 || performance.now() - start > most_ms) return performance.now() - start;
      }
    };
    const before = await all_see(60000);
    const killed = performance.now();
    await gone();
    ({ server } = await start_server(program, dir, port));
    const ready = performance.now() - killed;
    client = new Client(port);
    const s = (ms) => (ms / 1000).toFixed(1);
    const back = await all_see(120000);
    console.log(`${path.basename(program)}: ${watchers} stock nats.js watchers on ${keys} keys: all saw an update after ${s(before)} s; killed with -9, ready again after ${s(ready)} s, ` +
      (left === 0 ? `all saw updates ${s(back)} s later` : `${left} saw none within ${s(back)} s`));
  } finally {
    await gone();
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

async function run(program, row, keys, watchers) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "watchers-"));
  const { server, port } = await start_server(program, dir);
  const pinger = fork(process.argv[1], [`--ping=${port}`]);
  const pings = () => new Promise((ok) => { pinger.once("message", ok); pinger.send(""); });
  try {
    const client = new Client(port);
    await client.ask("$JS.API.STREAM.CREATE.KV_b", bucket(row.history));
    await fill(client, keys, row.rounds);
    await pings();
    await pause(1000);
    const idle = await pings();
    const r = await watch(port, pings, watchers, row.filter);
    const ms = (x) => x.toFixed(x < 10 ? 1 : 0);
    console.log(`${path.basename(program)}: ${row.name}: ${watchers} made in ${ms(r.made_ms)} ms (${r.pending} pending each), longest PING ${ms(r.made_ping)} ms; ` +
      `first message everywhere after ${ms(r.first_ms)} ms, longest PING ${ms(r.first_ping)} ms; idle before ${ms(idle)} ms`);
  } finally {
    pinger.kill();
    server.kill("SIGKILL");
    await new Promise((ok) => server.once("exit", ok));
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const rows = [
  { name: "the whole bucket", filter: "$KV.b.>", history: 1, rounds: 1 },
  { name: "a half of it", filter: "$KV.b.g1.>", history: 1, rounds: 1 },
  { name: "the whole bucket, all keys written twice", filter: "$KV.b.>", history: 5, rounds: 2 },
];

if (option("ping")) await ping_for_ever(Number(option("ping")));
if (process.argv.includes("--restart")) await restart(option("server"), Number(option("keys", 1e6)), Number(option("watchers", 250)));
else for (const row of rows) await run(option("server"), row, Number(option("keys", 1e6)), Number(option("watchers", 1000)));
process.exit(0);
