// kit.mjs: a server process, and raw clients cheap enough to have ten thousand of them.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import http from "node:http";
import net from "node:net";
import { pressure } from "../../interop/lib/wait.mjs";

export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// For what never comes.  A machine may stall for many seconds, so it is far beyond what anything takes.
export const LIMIT_MS = 60000;

// Polls until fn() is neither false nor undefined, and returns that.
export async function until(what, fn, ms = LIMIT_MS) {
  for (const deadline = Date.now() + ms; ;) {
    const value = await fn();
    if (value !== undefined && value !== false && value !== null) return value;
    if (Date.now() > deadline) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await delay(10);
  }
}

export function check(condition, text) {
  if (!condition) throw new Error(text);
}

// How late this process was served at worst, in ms: then the others were, too.
export class Lag {
  constructor() {
    this.worst = 0;
    this.last = Date.now();
    this.timer = setInterval(() => this.look(), 10);
    this.before = pressure();
  }

  look() {
    this.worst = Math.max(this.worst, Date.now() - this.last - 10);
    this.last = Date.now();
    return this.worst;
  }

  stop() {
    clearInterval(this.timer);
    return this.look();
  }

  // The machine was the slow one: we, or others on it, were served late by more than this.
  busy(late) {
    return Math.max(this.look(), pressure() - this.before) > late;
  }
}

// For what has to be quick: a failure says nothing while this machine was the slow one.  When we or
// others were served late by more than `late` ms meanwhile, fn runs again, up to ten times.
export async function steadily(fn, late = 50) {
  for (let left = 10; ; left--) {
    const lag = new Lag();
    try {
      return await fn();
    } catch (e) {
      if (!lag.busy(late) || left === 0) throw e;
    } finally {
      lag.stop();
    }
  }
}

// fn(i) for i below n, at most `width` of them under way.
export async function each(n, width, fn) {
  let next = 0;
  const lane = async () => {
    while (next < n) await fn(next++);
  };
  await Promise.all(Array.from({ length: Math.min(n, width) }, lane));
}

// Configuration in which a login may take a minute, unless it says how long: a machine may stall.
export function patient(conf) {
  const others = conf.replace(/\$SYS \{[^}]*\}[^}]*\}/, ""); // a system account alone asks nobody for credentials
  if (/\baccounts\b[^]*\busers\b/.test(others) && !/\bauthorization\b/.test(conf)) conf += "\nauthorization { timeout: 60 }\n";
  return conf.replace(/\bauthorization\s*\{(?![^}]*\btimeout\b)/g, "$& timeout: 60, ");
}

// --- the server -----------------------------------------------------------------------------------
const running = new Set(); // so that an interrupted run leaves no server behind
process.on("exit", () => running.forEach((s) => s.remove()));
["SIGINT", "SIGTERM"].forEach((sig) => process.on(sig, () => process.exit(3)));

export class Server {
  // conf: configuration text, DIR is this server's folder.  shell: a command that runs before it,
  // `ulimit -n 64` for instance.
  constructor(binary, conf = "", { args = [], shell = null, env = {} } = {}) {
    this.binary = binary;
    this.dir = mkdtempSync(join(tmpdir(), "storm-"));
    this.args = args;
    this.shell = shell;
    this.env = env;
    this.log = "";
    this.forgotten = 0; // characters before those in log
    this.status = undefined; // exit code or signal
    this.configure(conf);
    running.add(this);
  }

  file(name) {
    return join(this.dir, name);
  }

  // A leading "!" leaves out the usual ports.
  configure(conf) {
    const head = `host: "127.0.0.1"\nport: -1\nhttp: "127.0.0.1:-1"\nports_file_dir: "${this.dir}"\n`;
    const text = conf.startsWith("!") ? conf.slice(1) : head + conf;
    writeFileSync(this.file("new.conf"), patient(text).replace(/\bDIR\b/g, () => this.dir) + "\n");
    renameSync(this.file("new.conf"), this.file("server.conf")); // it may be reading the old one
  }

  spawn() {
    const argv = [this.binary, "-c", this.file("server.conf"), ...this.args];
    const command = this.shell === null ? argv
      : ["bash", "-c", `${this.shell} && exec "$@"`, "bash", ...argv];
    this.child = spawn(command[0], command.slice(1),
      { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...this.env } });
    this.child.stderr.on("data", (d) => {
      const all = this.log + d;
      this.log = all.slice(-200000);
      this.forgotten += all.length - this.log.length;
    });
    this.child.on("close", (code, signal) => (this.status = signal ?? code));
    this.child.on("error", (e) => ((this.log += e), (this.status = -1)));
    return this;
  }

  async start() {
    this.spawn();
    this.ports = await until("the ports file", () => {
      check(this.status === undefined, `it did not start:\n${this.log}`);
      return this.readPorts();
    });
    this.port = portOf(this.ports.nats);
    this.http = portOf(this.ports.monitoring);
    this.ws = portOf(this.ports.websocket);
    return this;
  }

  readPorts() {
    const file = readdirSync(this.dir).find((f) => f.endsWith(".ports"));
    try {
      return file && JSON.parse(readFileSync(this.file(file), "utf8"));
    } catch {
      return undefined; // half written: look again
    }
  }

  signal(name) {
    this.child.kill(name);
  }

  async said(pattern) {
    return until(`${pattern} in its log`, () => this.log.match(pattern) ?? undefined);
  }

  // Reloads and returns what it said about it.
  async reload(conf) {
    const from = this.forgotten + this.log.length;
    if (conf !== undefined) this.configure(conf);
    this.signal("SIGHUP");
    return until("an answer to SIGHUP", () => this.log.slice(Math.max(0, from - this.forgotten))
      .match(/Reloaded server configuration|\[ERR\].*reload.*\n/i)?.[0]);
  }

  // Kilobytes of memory in use.
  rss() {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.child.pid}/status`, "utf8"))[1]);
  }

  openFiles() {
    return readdirSync(`/proc/${this.child.pid}/fd`).length;
  }

  // A page.  A request's head has five seconds: when all stood still for so long, we ask again.
  async get(path) {
    for (;;) {
      const from = Date.now();
      try {
        return await this.ask(path);
      } catch (e) {
        if (Date.now() - from < 4000 || this.status !== undefined || !/hang up|ECONNRESET/.test(e.message)) throw e;
      }
    }
  }

  ask(path) {
    return new Promise((resolve, reject) => {
      const q = http.get({ port: this.http, host: "127.0.0.1", path, agent: false, timeout: LIMIT_MS },
        (r) => {
          let text = "";
          r.on("data", (d) => (text += d));
          r.on("end", () => resolve({ status: r.statusCode, text }));
          r.on("error", reject);
        });
      q.on("timeout", () => q.destroy(new Error(`${path}: no answer in ${LIMIT_MS} ms`)));
      q.on("error", reject);
    });
  }

  async json(path) {
    return JSON.parse((await this.get(path)).text);
  }

  async healthy() {
    const h = await this.get("/healthz");
    check(h.status === 200 && JSON.parse(h.text).status === "ok", `/healthz: ${h.status} ${h.text}`);
  }

  // Waits until only n clients are left, as the server sees it.
  async clientsLeft(n) {
    await until(`${n} connections in /varz`, async () => (await this.json("/varz")).connections === n);
  }

  // Ends it, and complains unless it goes in good order: status 0 and no sanitizer's report.
  async stop(signal = "SIGTERM", expected = 0) {
    if (this.status === undefined && signal !== null) this.signal(signal);
    await until(`its end after ${signal}`, () => this.status !== undefined);
    this.remove();
    const report = /(\w+: \w+Sanitizer|runtime error:|Assertion)[^]*/.exec(this.log);
    check(report === null, `its last words:\n${report?.[0].slice(0, 6000)}`);
    check(this.status === expected, `exit status ${this.status}:\n${this.log.slice(-2000)}`);
  }

  remove() {
    running.delete(this);
    if (this.status === undefined) this.child?.kill("SIGKILL");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const portOf = (urls) => urls === undefined ? 0
  : Number(new URL(urls[0].replace(/^[a-z]+:/, "http:")).port);

// Is it ours?  (A link of another name may lead to it.)
export function isMayfly(binary) {
  return /mayfly/.test(execFileSync(binary, ["-v"], { encoding: "utf8" })) ||
    basename(binary).includes("mayfly");
}

// --- clients --------------------------------------------------------------------------------------
const OPTIONS = { verbose: false, pedantic: false, headers: true, no_responders: true };

export const connectLine = (more = {}) => `CONNECT ${JSON.stringify({ ...OPTIONS, ...more })}\r\n`;

// All bytes are kept in `text` (but for the server's own PINGs, the first of which comes after two
// seconds) unless `count` is set: then messages are counted and forgotten.
export class Client {
  constructor(port, { connect, from } = {}) {
    this.text = "";
    this.ended = false;
    this.messages = 0;
    this.bytes = 0;
    this.sock = net.connect({ port, host: "127.0.0.1", localAddress: from, noDelay: true });
    this.sock.on("data", (d) => this.take(d));
    this.sock.on("error", (e) => (this.error = e));
    this.sock.on("close", () => {
      this.ended = true;
      this.wake?.();
    });
    if (connect !== null) this.sock.write(connectLine(connect) + "PING\r\n");
  }

  take(d) {
    this.bytes += d.length;
    if (this.counter) this.counter(d);
    else this.keep(d.toString("latin1"));
    this.wake?.();
  }

  keep(text) {
    const from = Math.max(0, this.text.length - 7);
    this.text += text;
    if (this.text.indexOf("PING\r\n", from) >= 0) this.text = this.text.replace(/(^|\n)PING\r\n/g, "$1");
  }

  // Resolves when test() holds; rejects when the connection ends before or the time is up.
  wait(what, test) {
    return new Promise((resolve, reject) => {
      const done = (fn, arg) => {
        clearTimeout(timer);
        this.wake = null;
        fn(arg);
      };
      const look = () => {
        const value = test();
        if (value) done(resolve, value);
        else if (this.ended)
          done(reject, new Error(`closed while waiting for ${what}: ${this.text.slice(-300)}`));
      };
      const timer = setTimeout(() => done(reject,
        new Error(`waited ${LIMIT_MS} ms for ${what}, had: ${this.text.slice(-300)}`)), LIMIT_MS);
      this.wake = look;
      look();
    });
  }

  async expect(text) {
    const at = await this.wait(JSON.stringify(text), () => this.text.indexOf(text) + 1);
    this.text = this.text.slice(at - 1 + text.length);
  }

  // The PONG of the CONNECT that was sent at once.
  async ready() {
    await this.expect("PONG\r\n");
    return this;
  }

  send(bytes) {
    return this.sock.write(bytes);
  }

  // Waits while the kernel and the other side take no more.
  async drain(ms = LIMIT_MS) {
    await until("the server to read", () => this.sock.writableLength < 65536 || this.ended, ms);
  }

  async ping() {
    this.send("PING\r\n");
    await this.expect("PONG\r\n");
  }

  async closed() {
    await until("the server to close", () => this.ended);
    return this.text;
  }

  // From now on MSG and HMSG are counted by their framing, and their bytes forgotten.
  count(onMessage = null) {
    let carry = null;
    const parse = (d) => {
      let buf = carry === null ? d : Buffer.concat([carry, d]), at = 0;
      for (;;) {
        const eol = buf.indexOf("\r\n", at);
        if (eol < 0) break;
        if (buf[at] !== 77 && buf[at] !== 72) { // neither MSG nor HMSG
          const line = buf.toString("latin1", at, eol);
          if (line === "PING") this.sock.write("PONG\r\n");
          this.text += line + "\r\n";
          at = eol + 2;
          continue;
        }
        const size = Number(buf.toString("latin1", buf.lastIndexOf(32, eol) + 1, eol));
        const end = eol + 2 + size + 2;
        if (end > buf.length) break;
        this.messages++;
        if (onMessage) onMessage(buf.subarray(eol + 2, end - 2));
        at = end;
      }
      carry = at === buf.length ? null : Buffer.from(buf.subarray(at));
    };
    this.counter = parse;
    if (this.text !== "") {
      const had = Buffer.from(this.text, "latin1");
      this.text = "";
      parse(had);
    }
    return this;
  }

  // A peer that does not read: the kernel's buffers fill up, then ours on the server.
  deaf() {
    this.sock.pause();
    return this;
  }

  // RST instead of FIN.
  reset() {
    this.sock.resetAndDestroy();
  }

  close() {
    this.sock.destroy();
  }
}

export async function connected(port, options) {
  return new Client(port, options).ready();
}
