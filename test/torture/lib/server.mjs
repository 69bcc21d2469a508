// server.mjs: one mayflyd of a trial: started, killed and started again on one folder or another.
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { LIMIT_MS, after, awake } from "./awake.mjs";
import { wrong } from "./trial.mjs";

export const pause = (ms) => new Promise((r) => setTimeout(r, ms));

const running = new Set(); // an interrupted trial leaves no server behind
process.on("exit", () => running.forEach((s) => s.proc.kill("SIGKILL")));
for (const s of ["SIGINT", "SIGTERM"]) process.on(s, () => process.exit(3));

export class Server {
  // dir: for its configuration and log; store: of its streams; limit: what bash's ulimit is told for it.
  constructor(trial, { dir = trial.dir, store = path.join(dir, "js"), env = {}, config = "", block = "", limit = "" } = {}) {
    // MAYFLY_TEST_CIPHER=chacha or aes: streams are encrypted.
    const cipher = process.env.MAYFLY_TEST_CIPHER;
    if (cipher) block += ` cipher: ${cipher}, key: "a key of torture, long enough"`;
    Object.assign(this, { trial, dir, store, env, config, block, limit });
    this.starts = 0;
    fs.mkdirSync(dir, { recursive: true });
  }

  async start(ms = LIMIT_MS) {
    const conf = path.join(this.dir, "server.conf");
    fs.writeFileSync(conf, `listen: "127.0.0.1:-1"\nports_file_dir: "${this.dir}"\njetstream { store_dir: "${this.store}" ${this.block} }\n${this.config}\n`);
    const text = (this.text = []);
    const line = [this.trial.mayflyd, "-c", conf];
    if (this.limit) line.unshift("bash", "-c", `ulimit ${this.limit} && exec "$0" "$@"`);
    const proc = (this.proc = spawn(line[0], line.slice(1), { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...this.env } }));
    running.add(this);
    this.gone = null;
    this.starts++;
    const log = fs.createWriteStream(path.join(this.dir, "server.log"), { flags: "a" });
    for (const s of [proc.stdout, proc.stderr])
      s.on("data", (d) => {
        text.push(d.toString("latin1"));
        if (text.length > 2000) text.splice(200, 1000);
        log.write(d);
      });
    this.ended = new Promise((ok) => {
      proc.on("error", (e) => ok((this.gone = { code: -1, signal: String(e) })));
      proc.on("close", (code, signal) => {
        running.delete(this);
        log.end();
        this.gone = { code, signal };
        ok(this.gone);
      });
    });
    const file = path.join(this.dir, `${path.basename(this.trial.mayflyd)}_${proc.pid}.ports`);
    for (const end = awake() + ms; ; await pause(3)) {
      if (this.gone) throw wrong("no-start", `the server ended at its start (${this.gone.code ?? this.gone.signal}): ${this.said()}`);
      if (awake() > end) throw wrong("no-start", `the server was not there within ${ms} ms: ${this.said()}`);
      try {
        const ports = JSON.parse(fs.readFileSync(file, "utf8"));
        this.port = Number(ports.nats[0].match(/:(\d+)/)[1]);
        this.http = ports.monitoring?.[0]; // where the configuration asks for it
        fs.rmSync(file);
        return this;
      } catch {
        // not there yet, or half written
      }
    }
  }

  said(n = 12) {
    return this.text.join("").trimEnd().split("\n").slice(-n).join("\n");
  }

  // A sanitizer's report, an assertion, or an end that nobody asked for: its text.
  report() {
    const all = this.text.join("");
    const m = all.match(/(ERROR: \w+Sanitizer|runtime error:|Assertion .* failed|stack smashing)[^]*/);
    if (m) return m[0].slice(0, 2000);
    if (this.gone && this.gone.signal && this.gone.signal !== "SIGKILL") return `ended by ${this.gone.signal}: ${this.said()}`;
    return null;
  }

  async kill() {
    if (!this.gone) this.proc.kill("SIGKILL");
    await this.ended;
  }
  async stop(ms = LIMIT_MS) {
    if (!this.gone) this.proc.kill("SIGTERM");
    const done = after(ms, () => this.proc.kill("SIGKILL"));
    await this.ended;
    done();
    return this.gone;
  }
}
