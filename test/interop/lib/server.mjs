// server.mjs: one server process in a temporary folder, on ports that the kernel chose.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { until } from "./wait.mjs";

export const binary = path.resolve(process.env.MAYFLYD ?? "build/mayflyd");
// The same scenarios run against nats-server, to prove that they ask for the right thing.
export const isMayfly = path.basename(binary).includes("mayfly");

export class Server {
  // config: text of the configuration; the word DIR in it is replaced by this server's folder (not the letters: nkeys are
  // random).
  // program: another server than the one under test.  args: further command-line flags.  listen: false leaves port and folder to config and args.
  // port: of clients, where a restart must find it free: what the kernel chose, it may give to others meanwhile.
  constructor({ config = "", args = [], monitor = false, listen = true, port = -1, dir, env, program = binary } = {}) {
    this.dir = dir ?? fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-"));
    this.config = config;
    this.args = args;
    this.head = listen ? `listen: "127.0.0.1:${port}"\nports_file_dir: "${this.dir}"\n` : "";
    if (monitor) this.head += `http: "127.0.0.1:-1"\n`;
    this.confFile = path.join(this.dir, "server.conf");
    this.env = env;
    this.program = program;
    this.text = "";
    this.exited = null;
  }

  file(name) {
    return path.join(this.dir, name);
  }

  // Writes the configuration, with the ports fixed once they are known, and returns its path.
  writeConfig(config = this.config) {
    this.config = config;
    fs.writeFileSync(this.confFile, this.head + patient(config).replace(/\bDIR\b/g, () => this.dir));
    return this.confFile;
  }

  spawn(args) {
    this.text = "";
    this.proc = spawn(this.program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...this.env },
    });
    for (const s of [this.proc.stdout, this.proc.stderr]) {
      s.setEncoding("utf8");
      s.on("data", (d) => (this.text += d));
    }
    this.exited = new Promise((resolve) => {
      this.proc.on("error", (e) => resolve({ code: -1, signal: String(e) }));
      // "close": after the last byte of output.
      this.proc.on("close", (code, signal) => {
        this.gone = { code, signal };
        resolve(this.gone);
      });
    });
    this.gone = null;
  }

  async start(extra = []) {
    this.writeConfig();
    this.spawn(["-c", this.confFile, ...this.args, ...extra]);
    this.ports = await until("the ports file", () => {
      if (this.gone) throw new Error(`server ended at once (${this.gone.code}): ${this.text}`);
      return readJson(this.portsFile());
    });
    this.url = this.ports.nats.find((u) => u.includes("127.0.0.1")) ?? this.ports.nats[0];
    this.port = Number(new URL(this.url.replace(/^\w+/, "http")).port);
    this.http = this.ports.monitoring?.find((u) => u.includes("127.0.0.1"));
    this.ws = this.ports.websocket?.find((u) => u.includes("127.0.0.1"));
    return this;
  }

  portsFile() {
    return this.file(`${path.basename(this.program)}_${this.proc.pid}.ports`);
  }

  // Again, with the same ports.
  async restart() {
    await this.stop();
    await this.startAgain();
  }
  async startAgain() {
    this.head = this.head.replace('listen: "127.0.0.1:-1"', `listen: "127.0.0.1:${this.port}"`);
    await this.start();
  }

  signal(name) {
    this.proc.kill(name);
  }

  reload(config) {
    this.writeConfig(config);
    this.signal("SIGHUP");
  }

  log() {
    return this.text;
  }

  async logged(pattern, what = `log line ${pattern}`) {
    return until(what, () => this.text.match(pattern));
  }

  // A request's head has five seconds: when all stood still for so long, it is asked again.
  async fetch(p) {
    for (;;) {
      const from = Date.now();
      try {
        const r = await fetch(this.http + p);
        return [r, await r.text()];
      } catch (e) {
        if (Date.now() - from < 4000 || this.gone) throw e;
      }
    }
  }

  async page(p) {
    const [r, text] = await this.fetch(p);
    let json;
    try {
      json = JSON.parse(text);
    } catch {
      // not every page is JSON
    }
    return { status: r.status, headers: r.headers, text, json };
  }

  async varz() {
    return (await this.page("/varz")).json;
  }

  // Orderly stop; complains about a bad exit or a sanitizer's report.
  async stop(signal = "SIGTERM") {
    if (this.proc && !this.gone) this.signal(signal);
    return this.waitExit();
  }
  async waitExit(code = 0) {
    if (!this.proc) return null;
    const gone = await until("the server to exit", () => this.gone);
    this.checkReports();
    if (!this.killed && gone.code !== code)
      throw new Error(`server exit code ${gone.code} ${gone.signal ?? ""}, not ${code}: ${tail(this.text)}`);
    return gone;
  }

  checkReports() {
    const m = this.text.match(/(ERROR: \w+Sanitizer|runtime error:|Assertion .* failed|DATA RACE)[^]*/);
    if (m) throw new Error(`server report: ${m[0].slice(0, 3000)}`);
  }

  async kill() {
    if (!this.proc || this.gone) return;
    this.killed = true;
    this.signal("SIGKILL");
    await this.exited;
  }

  remove() {
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

// Runs the binary to its end: { code, text }.
export async function runBinary(args, options = {}) {
  const s = new Server({ ...options, listen: false });
  try {
    s.spawn(args.map((a) => a.replace(/\bDIR\b/g, () => s.dir)));
    const gone = await until(`${args.join(" ")} to end`, () => s.gone);
    s.checkReports();
    return { code: gone.code, text: s.text };
  } finally {
    await s.kill();
    s.remove();
  }
}

// A login may take a minute, not two seconds, unless the scenario says how long: a machine may stall.
function patient(config) {
  if (/\baccounts\b/.test(config) && !/\bauthorization\b/.test(config)) config += "\nauthorization { timeout: 60 }\n";
  return config.replace(/\bauthorization\s*\{(?![^}]*\btimeout\b)/g, "$& timeout: 60, ");
}

function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    return undefined; // not there yet, or half written
  }
}

function tail(text) {
  return text.split("\n").slice(-15).join("\n");
}
