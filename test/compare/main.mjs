// main.mjs: compares mayflyd with nats-server, history by history.
//   node main.mjs [--ops=N] [--seed=S] [--mode=strict|default] [--script=FILE]... [--topic=streams|consumers|copies|backups|groups|audits]
//                 [--restarts=N] [--lanes=N] [--keep-going] [--no-shrink] [--shrink=MINUTES] [--only=SEED-N] [--minutes=N]
// --minutes: no history is begun after so long
// --shrink: scripts are made short too, and for so long
// Ends with `N passed, N failed`; a failing history is made short and written to .dev/compare.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { generate } from "./gen/history.mjs";
import { Lane } from "./lane.mjs";
import { Pair, SMALL_EACH } from "./pair.mjs";
import { Rules } from "./rules.mjs";
import { play } from "./run.mjs";
import { Shrinker } from "./shrink.mjs";

const TOP = path.resolve(import.meta.dirname, "../..");
const SHOWN = Number(process.env.COMPARE_SHOW ?? 700); // characters of an answer

function options(argv) {
  const o = { ops: 20000, seed: String(Date.now()), mode: "strict", lanes: 0, scripts: [], only: "", topic: "", keepGoing: false, shrink: true };
  for (const a of argv) {
    const [, key, value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(a) ?? [];
    if (["ops", "lanes", "restarts", "minutes"].includes(key)) o[key] = Number(value);
    else if (key === "seed" || key === "mode" || key === "only" || key === "topic") o[key] = value;
    else if (key === "script") o.scripts.push(value);
    else if (key === "keep-going") o.keepGoing = true;
    else if (key === "no-shrink") o.shrink = false;
    else if (key === "shrink") o.patience = Number(value);
    else if (key === undefined && fs.existsSync(a)) o.scripts.push(a);
    else throw new Error(`unknown argument ${a}`);
  }
  o.restarts ??= o.scripts.length || o.only ? 0 : Math.max(1, Math.min(60, Math.round(o.ops / 5000)));
  o.lanes ||= Math.max(4, Math.min(64, Math.round(o.ops / 250)));
  if (!["strict", "default"].includes(o.mode)) throw new Error("--mode is strict or default");
  return o;
}

class Session {
  constructor(o) {
    this.o = o;
    this.out = process.env.COMPARE_OUT ?? path.join(TOP, ".dev/compare");
    this.rules = new Rules(o.mode, path.join(TOP, "docs/deviations.md"));
    this.ours = path.resolve(process.env.MAYFLYD ?? path.join(TOP, "build/mayflyd"));
    this.theirs = path.resolve(process.env.NATS_SERVER ?? "nats-server");
    this.done = { histories: 0, ops: 0, compared: 0, flaky: 0, ended: 0 };
    this.counts = new Map();
    this.used = new Map();
    this.finds = new Map(); // signature -> how often
    this.next = 0;
    this.from = Date.now();
  }

  get #late() {
    return this.o.minutes > 0 && Date.now() - this.from > this.o.minutes * 60000;
  }

  async #pair(lanes, sync = false) {
    const pair = await new Pair({ ours: this.ours, theirs: this.theirs, mode: this.o.mode, lanes, sync }).start();
    const all = await Promise.all(Array.from({ length: lanes }, (_, i) => new Lane(pair, i).open()));
    return { pair, lanes: all };
  }

  // The next history for this lane, or nothing when there were enough.  A script says whether its account is a small one.
  #draw(lane) {
    if (this.o.scripts.length) {
      const at = this.scripts.findIndex((h) => (h.small ?? false) === lane.small);
      return at < 0 ? undefined : this.scripts.splice(at, 1)[0];
    }
    if (this.done.ops >= this.o.ops || this.#late || (this.finds.size && !this.o.keepGoing)) return undefined;
    const seed = this.o.only || `${this.o.seed}-${this.next++}`;
    if (this.o.only && this.next++ > 0) return undefined;
    return this.#drawn(seed, false);
  }

  #drawn(seed, restarts) {
    return generate(seed, { strict: this.o.mode === "strict", topic: this.o.topic, restarts });
  }

  async run() {
    const scripts = this.o.scripts.map((f) => ({ ...JSON.parse(fs.readFileSync(f, "utf8")), seed: path.basename(f, ".json") }));
    const stops = (h) => h.ops.some((o) => o.op === "restart");
    this.scripts = scripts.filter((h) => !stops(h));
    const apart = [...scripts.filter(stops), ...Array.from({ length: this.o.restarts }, (_, i) => this.#drawn(`${this.o.seed}-r${i}`, true))];
    const orphans = this.rules.orphans();
    for (const text of orphans) console.log(`not ok rule ${text}`);
    const width = this.o.scripts.length ? Math.min(this.o.lanes, this.scripts.length) : this.o.only ? 1 : this.o.lanes;
    const { pair, lanes } = await this.#pair(scripts.some((h) => h.small) ? Math.max(SMALL_EACH, width) : Math.max(1, width));
    this.pair = pair;
    const others = apart.length ? this.#restarts(apart) : Promise.resolve([]);
    const ticker = process.stderr.isTTY ? setInterval(() => process.stderr.write(`\r${this.#progress()} `), 500) : null;
    await Promise.all(lanes.map((l) => this.#lane(l)));
    clearInterval(ticker);
    if (ticker) process.stderr.write("\r");
    const fell = pair.fallen();
    for (const l of lanes) l.close();
    const wrong = [...(await others), ...(await pair.stop())];
    for (const text of [...fell, ...wrong]) console.log(`not ok ${text}`);
    return orphans.length + fell.length + wrong.length;
  }

  async #lane(lane) {
    for (let history; (history = this.#draw(lane)); ) {
      await this.#one(lane, history);
      if (this.pair.fallen().length) return;
    }
  }

  async #one(lane, history) {
    const result = await play(lane, history, this.rules);
    this.#add(result);
    if (result.diff) await this.#found(lane, history, result.diff);
  }

  // Histories in which the servers end and begin again have a pair of their own.
  async #restarts(histories) {
    const { pair, lanes } = await this.#pair(1, true);
    for (const h of histories) {
      if (pair.fallen().length || this.#late || (this.finds.size && !this.o.keepGoing && !this.o.scripts.length)) break;
      await this.#one(lanes[0], h);
    }
    lanes[0].close();
    return [...pair.fallen(), ...(await pair.stop())];
  }

  #add(f) {
    this.done.histories++;
    this.done.compared += f.compared;
    if (f.ended) this.done.ended++;
    for (const [k, n] of f.counts) {
      this.counts.set(k, (this.counts.get(k) ?? 0) + n);
      this.done.ops += n;
    }
    for (const [k, n] of f.used) this.used.set(k, (this.used.get(k) ?? 0) + n);
  }

  // A difference counts when it comes again; then it is made short.
  async #found(lane, history, diff) {
    const known = this.finds.get(diff.signature);
    if (known) {
      known.times++;
      return this.#keep(`like-${known.seed}-${history.seed}`, { ...history, small: lane.small });
    }
    const find = { signature: diff.signature, seed: history.seed, times: 1, history: { ...history, small: lane.small }, diff };
    this.finds.set(diff.signature, find);
    if (diff.signature.startsWith("fallen")) return this.#report(find);
    const again = async (h) => {
      const f = await play(lane, h, this.rules);
      if (f.diff?.signature !== diff.signature) return false;
      find.diff = f.diff;
      return true;
    };
    let times = 0;
    for (let i = 0; i < 3; i++) if (await again(history)) times++;
    if (times < 2) {
      this.done.flaky++;
      this.finds.delete(diff.signature);
      this.flaky = (this.flaky ?? 0) + 1;
      return this.#keep(`flaky-${history.seed}`, { ...history, small: lane.small }, diff);
    }
    if (this.o.patience || (this.o.shrink && !this.o.scripts.length)) find.history = await new Shrinker(again, this.#patience(history)).shrink({ ...find.history, ops: history.ops.slice(0, diff.index + 1) });
    this.#report(find);
  }

  #patience(history) {
    if (this.o.patience) return { tries: Infinity, ms: this.o.patience * 60000 };
    return history.ops.some((x) => x.op === "restart") ? { tries: 40, ms: 40000 } : {};
  }

  // Writes a history as a script; returns the file's name and its lines.
  #keep(name, history, diff) {
    fs.mkdirSync(this.out, { recursive: true });
    const file = path.join(this.out, `${name}.json`);
    const lines = history.ops.map((o) => `  ${JSON.stringify(o)}`).join(",\n");
    const also = `${history.small ? '"small": true, ' : ""}${diff ? `"diff": ${JSON.stringify(diff)}, ` : ""}`;
    fs.writeFileSync(file, `{${also}"ops": [\n${lines}\n]}\n`);
    return { file, lines };
  }

  #report(find) {
    const { diff, history } = find;
    const { file, lines } = this.#keep(find.seed, history);
    console.log(`not ok ${find.seed}: ${find.signature}\n${lines}\n  at operation ${diff.index} ${JSON.stringify(diff.o)}, ${diff.where.path}`);
    const show = (v, from = 0) => JSON.stringify(v)?.slice(from, from + SHOWN);
    const at = Math.max(0, apart(diff.where.ours, diff.where.theirs) - 200);
    console.log(`  mayflyd:     ${show(diff.where.ours, at)}\n  nats-server: ${show(diff.where.theirs, at)}`);
    console.log(`  where they differ: ${everywhere(diff.ours, diff.theirs).slice(0, 12).join("; ")}`);
    console.log(`  all of it:\n    ${show(diff.ours)}\n    ${show(diff.theirs)}`);
    console.log(`  again: ./dev compare diff --mode=${this.o.mode} --script=${path.relative(TOP, file)}\n`);
  }

  #progress() {
    const s = (Date.now() - this.from) / 1000;
    return `${this.done.ops} operations, ${this.done.histories} histories, ${Math.round(this.done.ops / s)}/s, ${this.finds.size} differences`;
  }

  summary() {
    const table = (map) => [...map].sort((a, b) => b[1] - a[1]).map(([k, n]) => `${k} ${n}`).join(", ");
    console.log(`${this.o.mode}: seed ${this.o.seed}: ${this.#progress()}, ${this.done.compared} answers compared, ${this.done.flaky} seen once only, ${this.done.ended} histories cut short by a rule`);
    console.log(`  operations: ${table(this.counts)}`);
    if (this.used.size) console.log(`  rules: ${table(this.used)}`);
    const idle = this.rules.list.filter((r) => !this.used.has(r.id)).map((r) => r.id);
    if (idle.length && !this.o.scripts.length) console.log(`  rules never used: ${idle.join(", ")}`);
    for (const f of this.finds.values()) console.log(`  ${f.times} x ${f.signature} (${f.seed})`);
  }
}

// All places in which two answers differ.
function everywhere(a, b, path = "") {
  if (JSON.stringify(a) === JSON.stringify(b)) return [];
  if (!a || !b || typeof a !== "object" || typeof b !== "object") return [`${path}: ${JSON.stringify(a)?.slice(0, 150)} | ${JSON.stringify(b)?.slice(0, 150)}`];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((k) => everywhere(a[k], b[k], `${path}.${k}`));
}

// Where two texts part.
function apart(a, b) {
  const [x, y] = [JSON.stringify(a) ?? "", JSON.stringify(b) ?? ""];
  let i = 0;
  while (i < x.length && x[i] === y[i]) i++;
  return i;
}

const session = new Session(options(process.argv.slice(2)));
const version = (program) => execFileSync(program, ["-v"], { encoding: "utf8" }).trim();
console.log(`${version(session.ours)} beside ${version(session.theirs)}`);
const wrong = await session.run();
session.summary();
const failed = session.finds.size + wrong;
console.log(`${session.done.histories - session.finds.size} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
