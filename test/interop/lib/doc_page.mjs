// doc_page.mjs PAGE: runs the blocks of a page in their order, as a reader would type them, and compares what the page shows.
//
//   sh      typed into a terminal.  "second terminal" or "third terminal" in the paragraph above names another than the first;
//           a block with "Ctrl-C ends" above it, or that starts a server, is not waited for: the next block for its terminal,
//           or the word "Stop" above any block, interrupts it
//   text    the terminal's output since its last block (doc_text.mjs); json: the same as JSON, in shape (doc.mjs)
//   js c conf yaml and others   saved as the file whose name the paragraph above has: "Save as `NAME`"
//   <!-- not run: REASON -->    above a block: the block is listed, not run
//
// Any other block is an error.  The page has a folder of its own with `mayflyd`, `mayfly`, `build/` and `./dev`.  A page that uses a
// server and starts none finds one, as docs/install.md starts it.  Ports: docs.mjs starts this program in a network namespace of its
// own; where that is not possible, with --move, and the page's ports are moved to free ones (doc_ports.mjs).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { blocks, sameShape, shown } from "./doc.mjs";
import { movePorts } from "./doc_ports.mjs";
import { sameLines } from "./doc_text.mjs";
import { LIMIT_MS, until } from "./wait.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../../..");
// Programs of others: as ./dev test names them, or where it keeps them.  Debian's redis-tools has the server under another name.
const CACHE = path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache"), "mayfly");
const FOREIGN = {
  "nats-server": process.env.NATS_SERVER ?? path.join(CACHE, "nats-server/usr/sbin/nats-server"),
  promtool: process.env.PROMTOOL ?? path.join(CACHE, "prometheus/usr/bin/promtool"),
  "redis-server": process.env.REDIS_SERVER ?? "/usr/bin/redis-check-rdb",
};
const TERMINALS = ["first", "second", "third"];

// The blocks of a page, each with the paragraph above it (above) and the reason why it is not run (skip).
export function pageBlocks(text) {
  const lines = text.split("\n");
  return blocks(text).map((b) => {
    let i = b.line - (b.lang === undefined ? 2 : 3); // the line above the fence, from 0
    while (i >= 0 && lines[i].trim() === "") i--;
    const skip = /^<!-- not run: (.+) -->$/.exec(lines[i] ?? "")?.[1];
    if (skip) for (i--; i >= 0 && lines[i].trim() === ""; i--);
    let above = "";
    for (; i >= 0 && lines[i].trim() !== "" && !lines[i].startsWith("```"); i--) above = `${lines[i]}\n${above}`;
    return { ...b, above, skip };
  });
}

const SAVED = /^(js|c|conf|yaml|ini|json|python|go|unit)$/;
const saveName = (b) => /\b[Ss]ave (?:this|it|both|these lines)?\s*as `([\w./-]+)`/.exec(b.above)?.[1];

// What the runner does with a block; undefined: nothing, which is a mistake of the page.
export function handling(b) {
  if (b.skip) return "skip";
  if (b.lang === "sh") return "type";
  if (SAVED.test(b.lang ?? "") && saveName(b)) return "save";
  if (b.lang === "text" || b.lang === "json") return "compare";
  return undefined;
}

class Terminal {
  constructor(dir, env) {
    this.out = "";
    this.seen = 0;
    this.done = 0; // blocks that ended
    this.asked = 0;
    this.proc = spawn("bash", ["--norc", "--noprofile"], { cwd: dir, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    for (const s of [this.proc.stdout, this.proc.stderr]) {
      s.setEncoding("utf8");
      s.on("data", (d) => this.add(d));
    }
    this.proc.on("close", (code) => (this.failed ??= code));
    this.proc.stdin.write("exec 2>&1; trap : INT; trap 'printf \"\\002%d\\n\" $?' ERR\n");
  }

  // Lines of our own: \1 the block that ended, \2 the exit code of a command that failed; 130 is Ctrl-C, 137 kill -9.
  add(d) {
    this.out += d;
    // eslint-disable-next-line no-control-regex
    this.out = this.out.replace(/([\x01\x02])(\d+)\n/g, (_, what, n) => {
      if (what === "\x01") this.done = Number(n);
      else if (![130, 137].includes(Number(n)) && !this.interrupted) this.failed ??= Number(n);
      return "";
    });
  }

  get busy() {
    return this.done < this.asked;
  }

  type(text) {
    this.seen = this.out.length;
    this.asked++;
    this.interrupted = false;
    this.proc.stdin.write(`${text}\nprintf '\\001%d\\n' ${this.asked}\n`);
  }

  // Ctrl-C: the program in front gets SIGINT, and the shell reads on.
  async interrupt() {
    this.interrupted = true;
    const kids = fs.readFileSync(`/proc/${this.proc.pid}/task/${this.proc.pid}/children`, "utf8").trim().split(" ").filter(Boolean);
    for (const pid of kids) process.kill(Number(pid), "SIGINT");
    await until("Ctrl-C to end the command", () => !this.busy, LIMIT_MS);
  }

  printed() {
    return this.out.slice(this.seen);
  }

  // The shell and all that it started.
  end() {
    try {
      process.kill(-this.proc.pid, "SIGKILL");
    } catch (e) {
      assert.equal(e.code, "ESRCH");
    }
  }
}

const listening = (port) => new Promise((ok) => {
  const s = net.connect(port, "127.0.0.1", () => { s.destroy(); ok(true); });
  s.on("error", () => ok(false));
});

// The port on which a block starts a server, if it does.
const NATS = /^(?!.*(?: -t | -t$|--signal|-v\b|--help))(?:\S*\/)?(?:mayflyd|dev run|nats-server)\b/m;
const REDIS = /^redis-server\b/m;
function startedPort(text) {
  const found = (form, port) => text.split("\n").filter((l) => form.test(l)).map((l) => Number(/ (?:-p|--port) (\d+)/.exec(l)?.[1] ?? port))[0];
  return found(NATS, 4222) ?? found(REDIS, 6379);
}

// A command that asks a server: the tool, except for what works on files, a program in JavaScript or C, curl.
const ASKS = /(^|[^\w./-])(mayfly (?!check\b|passwd\b|nkey\b|completion\b|version\b|help\b|--help\b|import\b)|node |curl |\.\/\w+$)/m;
const SERVER = { text: "mayflyd -a 127.0.0.1 -m 8222 -js -sd data", above: "third terminal", line: 0 };

export class Page {
  constructor(file) {
    this.name = path.relative(root, file);
    this.text = fs.readFileSync(file, "utf8");
    this.blocks = pageBlocks(this.text);
    this.port = (p) => p;
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-page-"));
    this.terminals = new Map();
    this.skipped = [];
    this.prepare(path.dirname(path.resolve(process.env.MAYFLYD ?? "build/mayflyd")));
  }

  // ./dev is the real one, without the building: the tree under test is built.
  prepare(build) {
    const link = (to, name) => fs.symlinkSync(to, path.join(this.dir, name));
    fs.mkdirSync(path.join(this.dir, ".bin"));
    for (const p of ["mayflyd", "mayfly"]) link(path.join(build, p), `.bin/${p}`);
    for (const [name, program] of Object.entries(FOREIGN)) if (fs.existsSync(program)) link(path.resolve(program), `.bin/${name}`);
    link(build, "build");
    link(path.join(root, "conf"), "conf");
    link(path.join(root, "tools"), "tools");
    link(path.resolve(here, "../node_modules"), "node_modules");
    fs.writeFileSync(path.join(this.dir, "dev"), fs.readFileSync(path.join(root, "dev"), "utf8").replace(/^cmd_build\(\) \{/m, "cmd_build() {\n    return 0"), { mode: 0o755 });
    const { NATS_URL: _url, MAYFLYD: _d, NATS_SERVER: _n, PROMTOOL: _p, REDIS_SERVER: _r, XDG_STATE_HOME: _x, XDG_CONFIG_HOME: _c, ...env } = process.env;
    this.env = { ...env, HOME: this.dir, PATH: `${this.dir}/.bin:${env.PATH}`, TERM: "dumb", LANG: "C.UTF-8", LC_ALL: "C.UTF-8", COLUMNS: "120", NATS_TIMEOUT: `${LIMIT_MS}ms`, NODE_OPTIONS: `--import=${path.join(here, "patience.mjs")}` };
  }

  async movePorts() {
    const { env, real } = await movePorts(this.dir, this.text, this.env);
    this.env = env;
    this.port = real;
  }

  // The server that a page expects.
  async serve() {
    const typed = this.blocks.filter((b) => handling(b) === "type").map((b) => b.text);
    if (typed.some((t) => NATS.test(t)) || !typed.some((t) => ASKS.test(t))) return;
    await this.type(SERVER);
    this.last = undefined;
  }

  terminal(b) {
    const name = TERMINALS.find((n) => new RegExp(`\\b${n}\\s+terminal\\b`, "i").test(b.above)) ?? "first";
    if (!this.terminals.has(name)) this.terminals.set(name, new Terminal(this.dir, this.env));
    return [name, this.terminals.get(name)];
  }

  async type(b) {
    const [, t] = this.terminal(b);
    for (const other of this.terminals.values()) if (other.busy && (other === t || /\bStop\b/.test(b.above))) await other.interrupt();
    t.type(b.text.trimEnd());
    this.last = t;
    const port = startedPort(b.text);
    if (port) await until(`a server on port ${port}`, async () => (await listening(this.port(port))) || this.check(t), LIMIT_MS).catch((e) => { throw new Error(`${e.message}\n${t.printed()}`); });
    else if (/\bCtrl-C\s+ends\b/.test(b.above)) await until("the command to listen", async () => !t.busy || (await this.listens()) || this.check(t));
    else await until("the commands to end", () => this.check(t) || !t.busy).catch((e) => { throw new Error(`${e.message}\n${t.printed()}`); });
    this.check(t);
  }

  // A live command that waits for events holds all its subscriptions: one connection has the same ones in looks 200 ms apart.
  async listens() {
    const look = async () => {
      const { connections } = await (await fetch(`http://127.0.0.1:${this.port(8222)}/connz?subs=1`)).json();
      return connections.map((c) => c.subscriptions_list ?? []).filter((l) => l.length > 0).flat().sort().join(" ");
    };
    const before = await look();
    await new Promise((ok) => setTimeout(ok, 200));
    return before !== "" && before === (await look());
  }

  check(t) {
    if (t.failed !== undefined) throw new Error(`a command failed with exit code ${t.failed}:\n${t.printed()}`);
    return false;
  }

  async compare(b) {
    const named = TERMINALS.some((n) => new RegExp(`\\b${n}\\s+terminal\\b`, "i").test(b.above));
    const t = named ? this.terminal(b)[1] : this.last;
    assert.ok(t, "nothing was typed before");
    const same = () => (b.lang === "json" ? jsonSame(b.text, t.printed()) : sameLines(b.text, t.printed()));
    await until("what is shown", () => same() || (!t.busy && !named ? Promise.reject(new Error("different")) : false), LIMIT_MS).catch(() => {
      if (b.lang === "json") sameShape(shown(b.text), JSON.parse(t.printed()));
      throw new Error(`the page shows\n${b.text}\nand the terminal\n${t.printed()}`);
    });
    t.seen = t.out.length;
  }

  save(b) {
    const file = path.join(this.dir, saveName(b));
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, b.text);
  }

  skip(b) {
    this.skipped.push(`${this.name}:${b.line}: ${b.skip}`);
  }

  async run() {
    for (const b of this.blocks) {
      const how = handling(b);
      try {
        assert.ok(how, `a block of ${b.lang ?? "no language"} with no "Save as" above and no mark: the test does not know what to do with it`);
        await this[how](b);
      } catch (e) {
        e.message = `${this.name}:${b.line}: ${e.message}`;
        throw e;
      }
    }
  }

  // KEEP=1 keeps the folder of the page.
  remove() {
    for (const t of this.terminals.values()) t.end();
    if (process.env.KEEP) console.log(this.dir);
    else fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

function jsonSame(want, real) {
  try {
    sameShape(shown(want), JSON.parse(real));
    return true;
  } catch {
    return false;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = new Page(path.resolve(process.argv[2]));
  let code = 0;
  try {
    if (process.argv.includes("--move")) await page.movePorts();
    await page.serve();
    await page.run();
    for (const s of page.skipped) console.log(`# not run: ${s}`);
  } catch (e) {
    console.log(e.message);
    code = 1;
  }
  page.remove();
  process.exit(code);
}
