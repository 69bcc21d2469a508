// tool.mjs: the tool `mayfly` as scripts and as people run it: with pipes, and in a terminal.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import path from "node:path";
import { binary } from "./server.mjs";
import { LIMIT_MS, until } from "./wait.mjs";

export const tool = process.env.MAYFLY ?? path.join(path.dirname(binary), "mayfly");
const report = /(ERROR: \w+Sanitizer|runtime error:|Assertion .* failed)[^]*/;

// The environment without contexts and addresses of the user; an answer may take as long as a machine may stall.
const env = (server, more) => ({ ...process.env, NATS_URL: server?.url ?? "", XDG_CONFIG_HOME: "/nonexistent", HOME: "/nonexistent", LC_ALL: "C.UTF-8", NO_COLOR: "", NATS_TIMEOUT: `${LIMIT_MS}ms`, ...more });

// mayfly(SERVER, ARGUMENT...) or mayfly(ARGUMENT...): { code, stdout, stderr, raw }, without a terminal.  SERVER may also be
// { url, vars, input, cwd }: variables of the environment, standard input, folder.  raw: the bytes of standard output.
export function mayfly(server, ...args) {
  if (typeof server === "string") [server, args] = [undefined, [server, ...args]];
  return new Promise((resolve, reject) => {
    const options = { env: env(server, server?.vars), cwd: server?.cwd, maxBuffer: 1 << 26, encoding: "buffer" };
    const proc = execFile(tool, args, options, (error, raw, err) => {
      const [stdout, stderr] = [raw.toString(), err.toString()];
      const bad = stderr.match(report);
      if (bad) reject(new Error(bad[0]));
      else resolve({ code: error ? (error.code ?? error.signal) : 0, stdout, stderr, raw });
    });
    proc.stdin.on("error", () => {}); // the tool may end before it has read everything
    proc.stdin.end(server?.input ?? "");
  });
}
// The same, which must end with `code`; its standard output.
export async function expect(code, server, ...args) {
  const r = await mayfly(server, ...args);
  assert.equal(r.code, code, `mayfly ${args.join(" ")}: ${r.stdout}${r.stderr}`);
  return code === 0 || code === 1 ? r.stdout : r.stderr;
}
export const json = async (server, ...args) => JSON.parse(await expect(0, server, ...args, "--json"));
// A live command: each line that it prints, until it is ended.
export function live(t, server, ...args) {
  const p = { lines: [], stderr: "", proc: spawn(tool, args, { env: env(server), stdio: ["ignore", "pipe", "pipe"] }) };
  let text = "";
  p.proc.stdout.on("data", (d) => {
    const parts = (text += d).split("\n");
    text = parts.pop();
    p.lines.push(...parts);
  });
  p.proc.stderr.on("data", (d) => (p.stderr += d));
  p.exited = new Promise((resolve) => p.proc.on("close", (code, signal) => resolve((p.gone = { code: code ?? signal }))));
  p.end = async (signal = "SIGINT") => {
    if (!p.gone) p.proc.kill(signal);
    return (await p.exited).code;
  };
  t.after(() => p.end("SIGKILL"));
  return p;
}

const quote = (s) => `'${s.replaceAll("'", `'\\''`)}'`;

// A command in a terminal of its own, by script(1).  screen(): the text without styles and moves of the cursor.
// before, after: what a shell runs in the same terminal.
export class Terminal {
  // vars: variables of the environment, NAME=VALUE.
  constructor(t, server, args, { columns = 100, rows = 30, before = "", after = "" } = {}, vars = []) {
    this.raw = "";
    const line = `env ${[...vars, tool, ...args].map(quote).join(" ")}`;
    const command = `stty cols ${columns} rows ${rows}; ${before ? `${before};` : ""} ${after ? `${line}; ${after}` : `exec ${line}`}`;
    this.proc = spawn("script", ["-qfec", command, "/dev/null"], { env: env(server, { TERM: "xterm", SHELL: "/bin/sh", ...server?.vars }), stdio: ["pipe", "pipe", "inherit"] });
    this.proc.stdout.setEncoding("utf8");
    this.proc.stdout.on("data", (d) => (this.raw += d));
    this.proc.stdin.on("error", () => {}); // typed too late
    this.exited = new Promise((resolve) => this.proc.on("close", (code, signal) => resolve((this.gone = { code: code ?? signal }))));
    t.after(async () => {
      if (!this.gone) this.proc.kill("SIGKILL");
      await this.exited;
    });
  }
  screen() {
    // eslint-disable-next-line no-control-regex
    return this.raw.replace(/\x1b\[[?0-9;]*[A-Za-z]/g, "").replaceAll("\r", "");
  }
  lines() {
    return this.screen().split("\n");
  }
  type(keys) {
    this.proc.stdin.write(keys);
  }
  shows(pattern) {
    return until(`${pattern} on the screen: ${this.screen().slice(-500)}`, () => this.screen().match(pattern));
  }
  async end() {
    const { code } = await this.exited;
    const bad = this.screen().match(report);
    if (bad) throw new Error(bad[0]);
    return code;
  }
}
// A command that ends by itself: { code, text, lines }.
export async function inTerminal(t, server, args, size) {
  const term = new Terminal(t, server, args, size);
  const code = await term.end();
  return { code, text: term.screen(), lines: term.lines(), raw: term.raw };
}
