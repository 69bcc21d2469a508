// operator.mjs [--accounts=100000] [--logins=20000] [--rounds=3] [--rows=TEXT,..] [--json=FILE]: operator mode of mayflyd beside
// nats-server, in turns: logins by user JWT, and a directory resolver with many accounts.
//
// Each server gets a copy of one directory of account JWTs.  Logins come from bench_operator, which signs each connection's nonce; it
// shares the processors with the server, and its own processor time is in no figure but "own".  Processor time is the server's.
import { execFile } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Key, Operator, token, UNLIMITED } from "../test/interop/lib/operator.mjs";
import { Server } from "../test/interop/lib/server.mjs";

const flags = new Map(process.argv.slice(2).map((a) => a.replace(/^--/, "").split("=")));
const ACCOUNTS = Number(flags.get("accounts") ?? 100000);
const LOGINS = Number(flags.get("logins") ?? 20000);
const ROUNDS = Number(flags.get("rounds") ?? 3);
const wanted = (flags.get("rows") ?? "").split(",").map((x) => new RegExp(x));
const KINDS = { nats: process.env.NATS_SERVER, mayfly: path.resolve(process.env.MAYFLYD ?? "build/mayflyd") };
if (!KINDS.nats) throw new Error("NATS_SERVER names no nats-server");
const GENERATOR = path.resolve(process.env.BUILD ?? "build", "bench/bench_operator");
const LOADED = Math.min(100, ACCOUNTS); // accounts that have users
const USERS = Math.min(5000, LOGINS); // of those accounts
const FIRST = Math.min(2000, ACCOUNTS - LOADED); // accounts that are used for the first time
const UPDATES = Math.min(5000, ACCOUNTS);
const TICKS = 100;
const run = promisify(execFile);
const work = fs.mkdtempSync(path.join(os.tmpdir(), "bench-operator-"));
process.on("exit", () => fs.rmSync(work, { recursive: true, force: true }));

// --- what both servers are given ---------------------------------------------------------------------

// The JWT of an account whose private key nobody needs.
const accountJwt = (operator, sub, i) => token({ name: `account ${i}`, sub, nats: { limits: UNLIMITED, default_permissions: { pub: {}, sub: {} }, type: "account", version: 2 } }, operator.key);

function seedOf(key) {
  const { d } = key.private.export({ format: "jwk" });
  return Buffer.from(d, "base64url").toString("hex");
}
const userLine = (account) => {
  const user = account.user("u", {}, { claims: { exp: Math.floor(Date.now() / 1000) + 86400 } });
  return `${user.jwt} ${seedOf(user.key)}\n`;
};

function prepare() {
  const operator = new Operator();
  const dir = path.join(work, "jwt");
  fs.mkdirSync(dir, { mode: 0o700 });
  const put = (key, jwt) => fs.writeFileSync(path.join(dir, `${key}.jwt`), jwt, { mode: 0o600 });
  const own = []; // accounts with users
  for (let i = 0; i < LOADED + FIRST; i++) own.push(operator.account(`account ${i}`));
  for (const a of [operator.system, ...own]) put(a.public, a.jwt());
  const others = [];
  for (let i = own.length; i < ACCOUNTS; i++) {
    const key = randomKey();
    others.push(key);
    put(key, accountJwt(operator, key, i));
  }
  const lines = (accounts, n) => Array.from({ length: n }, (_, i) => userLine(accounts[i % accounts.length])).join("");
  fs.writeFileSync(path.join(work, "users"), lines(own.slice(0, LOADED), USERS));
  fs.writeFileSync(path.join(work, "first"), lines(own.slice(LOADED), FIRST));
  return { operator, dir, own, keys: [...own.map((a) => a.public), ...others] };
}
// An account's key; any 32 bytes will do, as nothing of it signs.
function randomKey() {
  return Key.text("A", crypto.randomBytes(32));
}

// --- a server ----------------------------------------------------------------------------------------

class Wire {
  constructor(port) {
    this.socket = net.connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("error", () => {});
    this.take = () => {};
    this.socket.on("data", (d) => this.take(d));
  }
  write(text) {
    this.socket.write(text);
  }
  // Waits until the bytes read from now on satisfy test(text of the last 64 KB, number of bytes).
  until(test) {
    return new Promise((ok) => {
      let [tail, n] = ["", 0];
      this.take = (d) => {
        n += d.length;
        tail = (tail + d.toString("latin1")).slice(-65536);
        if (test(tail, n)) {
          this.take = () => {};
          ok(tail);
        }
      };
    });
  }
  static async system(s, operator) {
    const w = new Wire(s.port);
    const info = JSON.parse((await w.until((x) => x.includes("\r\n"))).replace(/^INFO /, ""));
    const login = operator.system.user("root").login(info, { verbose: false, protocol: 1, headers: true, no_responders: true });
    const there = w.until((x) => /PONG\r\n/.test(x));
    w.write(`CONNECT ${JSON.stringify(login)}\r\nPING\r\n`);
    await there;
    return w;
  }
  async flush() {
    const there = this.until((x) => x.includes("PONG\r\n"));
    this.write("PING\r\n");
    await there;
  }
  close() {
    this.socket.destroy();
  }
}

function cpuOf(s) {
  const text = fs.readFileSync(`/proc/${s.proc.pid}/stat`, "utf8");
  const f = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(f[11]) + Number(f[12])) / TICKS;
}
const rssOf = (s) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${s.proc.pid}/status`, "utf8"))[1]) / 1024;

async function server(kind, given) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "bench-operator-"));
  await run("cp", ["-a", given.dir, path.join(dir, "jwt")]);
  const config = `operator: "${given.operator.jwt()}"\nresolver: { type: full, dir: "DIR/jwt", allow_delete: true, limit: ${ACCOUNTS + 1000} }\nmax_connections: 100000\nauthorization { timeout: 60 }\n`;
  return new Server({ program: KINDS[kind], dir, config, monitor: true });
}
async function end(s) {
  s.proc.kill("SIGTERM");
  await s.exited;
  fs.rmSync(s.dir, { recursive: true, force: true });
}

async function logins(s, users, threads, n) {
  const before = cpuOf(s);
  const { stdout } = await run(GENERATOR, [String(s.port), path.join(work, users), String(threads), String(n)]);
  const r = JSON.parse(stdout);
  return { ...r, rate: r.logins / r.s, cpu_us: ((cpuOf(s) - before) * 1e6) / r.logins, own_us: (r.own_cpu_s * 1e6) / r.logins };
}

// --- all figures of one server -----------------------------------------------------------------------

const quantile = (a, q) => a.toSorted((x, y) => x - y)[Math.min(a.length - 1, Math.floor(a.length * q))];

// One update after the other, each waits for its answer; then 64 at a time.
async function updates(s, given) {
  const w = await Wire.system(s, given.operator);
  w.write("SUB _INBOX.up 1\r\n");
  await w.flush();
  const keys = given.keys.slice(-UPDATES);
  const jwts = keys.map((key, i) => accountJwt(given.operator, key, `${i} again`));
  const send = (jwt) => w.write(`PUB $SYS.REQ.CLAIMS.UPDATE _INBOX.up ${jwt.length}\r\n${jwt}\r\n`);
  const times = [];
  for (const jwt of jwts.slice(0, Math.ceil(UPDATES / 10))) {
    const from = performance.now();
    const answer = w.until((x) => /"code":\d+.*\r\n/s.test(x));
    send(jwt);
    if (!(await answer).includes('"code":200')) throw new Error("an update was refused");
    times.push(performance.now() - from);
  }
  const from = performance.now();
  let [sent, got, rest] = [0, 0, ""];
  await new Promise((ok) => {
    w.take = (d) => {
      const text = rest + d.toString("latin1");
      got += text.split('"code":200').length - 1;
      rest = text.slice(-9);
      while (sent < jwts.length && sent - got < 64) send(jwts[sent++]);
      if (got >= jwts.length) ok();
    };
    while (sent < Math.min(64, jwts.length)) send(jwts[sent++]);
  });
  w.close();
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), rate: jwts.length / ((performance.now() - from) / 1000) };
}

async function listAndPack(s, given) {
  const w = await Wire.system(s, given.operator);
  w.write("SUB _INBOX.list 1\r\nSUB _INBOX.pack 2\r\n");
  await w.flush();
  let from = performance.now();
  let done = w.until((x, n) => n > ACCOUNTS * 50 && /\}\r\n(PING\r\n)?$/.test(x));
  w.write("PUB $SYS.REQ.CLAIMS.LIST _INBOX.list 0\r\n\r\n");
  await done;
  const list = performance.now() - from;
  from = performance.now();
  done = w.until((x, n) => n > ACCOUNTS * 100 && /MSG _INBOX\.pack 2 +0\r\n\r\n/.test(x));
  w.write("PUB $SYS.REQ.CLAIMS.PACK _INBOX.pack 0\r\n\r\n");
  await done;
  w.close();
  return { list, pack: performance.now() - from };
}

async function measure(kind, given) {
  console.error(`# ${kind}: a copy of the directory`);
  const s = await server(kind, given);
  const r = {};
  try {
    const from = performance.now();
    await s.start();
    const w = await Wire.system(s, given.operator);
    r.start = performance.now() - from;
    // The list has all of them when the directory was read.
    w.write("SUB _INBOX.all 1\r\n");
    await w.flush();
    const listed = w.until((x, n) => n > ACCOUNTS * 50 && /\}\r\n(PING\r\n)?$/.test(x));
    w.write("PUB $SYS.REQ.CLAIMS.LIST _INBOX.all 0\r\n\r\n");
    await listed;
    w.close();
    r.ready = performance.now() - from;
    r.startCpu = cpuOf(s) * 1000;
    r.rss = rssOf(s);
    console.error(`# ${kind}: ready, logins`);
    r.first = await logins(s, "first", 1, FIRST);
    r.rssUsed = rssOf(s);
    await logins(s, "users", 4, Math.min(LOADED, USERS)); // loads their accounts
    r.many = await logins(s, "users", 32, LOGINS);
    r.one = await logins(s, "users", 1, Math.ceil(LOGINS / 4));
    console.error(`# ${kind}: updates`);
    r.update = await updates(s, given);
    Object.assign(r, await listAndPack(s, given));
    r.rssEnd = rssOf(s);
  } finally {
    await end(s);
  }
  return r;
}

// --- rows --------------------------------------------------------------------------------------------

// name, unit, digits, value of a run, larger is better, bar (undefined: shown only)
const ROWS = [
  ["logins, 32 at a time", "/s", 0, (r) => r.many.rate, true, 1.5],
  ["  processor time of a login", "us", 1, (r) => r.many.cpu_us, false],
  ["  the generator's own", "us", 1, (r) => r.many.own_us, false],
  ["  p50", "us", 0, (r) => r.many.p50_us, false],
  ["  p99", "us", 0, (r) => r.many.p99_us, false, 1.0],
  ["logins, one at a time: p50", "us", 0, (r) => r.one.p50_us, false],
  ["  p99", "us", 0, (r) => r.one.p99_us, false, 1.0],
  ["first login of an account: p50", "us", 0, (r) => r.first.p50_us, false],
  ["  p99", "us", 0, (r) => r.first.p99_us, false, 1.0],
  ["start to the first login", "ms", 0, (r) => r.start, false, 1.0],
  ["  to a list of all accounts", "ms", 0, (r) => r.ready, false],
  ["  processor time until then", "ms", 0, (r) => r.startCpu, false],
  ["memory after the start", "MB", 1, (r) => r.rss, false, 1.0],
  [`  with ${FIRST} accounts loaded`, "MB", 1, (r) => r.rssUsed, false],
  ["  at the end", "MB", 1, (r) => r.rssEnd, false],
  ["updates, 64 at a time", "/s", 0, (r) => r.update.rate, true],
  ["  one at a time: p50", "ms", 3, (r) => r.update.p50, false],
  ["  p99", "ms", 3, (r) => r.update.p99, false],
  ["list", "ms", 1, (r) => r.list, false],
  ["pack", "ms", 1, (r) => r.pack, false],
].filter(([name]) => wanted.some((x) => x.test(name)));

const median = (a) => a.toSorted((x, y) => x - y)[Math.floor(a.length / 2)];
const p = (x, n, d = 0) => x.toFixed(d).padStart(n);
console.error(`# ${ACCOUNTS} accounts are made`);
const given = prepare();
const got = { nats: [], mayfly: [] };
for (let i = 0; i < ROUNDS; i++)
  for (const kind of i % 2 ? ["mayfly", "nats"] : ["nats", "mayfly"]) got[kind].push(await measure(kind, given));

console.log(`${ACCOUNTS} accounts in a directory, ${USERS} users of ${LOADED} of them; mayflyd syncs each update to the disk, nats-server does not`);
console.log("row                                 nats     mayfly  unit  ratio   bar");
let [bad, bars] = [0, 0];
for (const [name, unit, digits, value, more, bar] of ROWS) {
  const [a, b] = [median(got.nats.map(value)), median(got.mayfly.map(value))];
  const ratio = more ? b / a : a / b;
  const reached = bar === undefined ? "" : ratio >= bar ? `${bar} yes` : `${bar} NO`;
  bars += bar !== undefined;
  bad += reached.endsWith("NO");
  console.log(`${name.padEnd(31)}${p(a, 10, digits)}${p(b, 11, digits)}  ${unit.padEnd(4)}${p(ratio, 7, 2)}   ${reached}`);
}
if (flags.get("json")) fs.writeFileSync(flags.get("json"), JSON.stringify({ accounts: ACCOUNTS, logins: LOGINS, ...got }, null, 1));
console.log(`${bars - bad} of ${bars} bars are reached`);
process.exit(bad ? 1 : 0);
