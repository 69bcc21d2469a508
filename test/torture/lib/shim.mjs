// shim.mjs: the library preloaded into the server (shim.h), and the disks a power cut leaves.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Cannot } from "./trial.mjs";

const CALLS = ["pwrite", "sync", "open", "rename", "unlink", "truncate", "mkdir", "mmap", "pread", "accept", "malloc", "firstSync"];
const STILL = 8 + CALLS.length * 16;
const SIZE = STILL + 8;
const SECTOR = 512;

export class Shim {
  // memory: the one whose allocations can fail, too.
  constructor(trial, { memory = false } = {}) {
    this.file = path.join(trial.build, `test/torture/shim${memory ? "_memory" : ""}.so`);
    trial.needs(this.file, "the shim (make torture-programs)");
    // A sanitizer's library wants to be the first one.
    const linked = execFileSync("ldd", [trial.mayflyd], { encoding: "utf8" });
    this.sanitizer = linked.match(/lib[at]san\.so\S* => (\S+)/)?.[1];
    if (memory && this.sanitizer) throw new Cannot("allocations belong to the sanitizer of this mayflyd");
    this.controlFile = path.join(trial.dir, "control");
    fs.writeFileSync(this.controlFile, Buffer.alloc(SIZE));
    this.fd = fs.openSync(this.controlFile, "r+");
  }

  env(more = {}) {
    return { LD_PRELOAD: [this.sanitizer, this.file].filter(Boolean).join(":"), SHIM_CONTROL: this.controlFile, ...more };
  }

  setClock(ms) {
    const b = Buffer.alloc(8);
    b.writeBigInt64LE(BigInt(Math.round(ms)) * 1000000n);
    fs.writeSync(this.fd, b, 0, 8, 0);
  }

  // At this time (a BigInt of nanoseconds); 0n: it goes on.
  stopClock(ns) {
    const b = Buffer.alloc(8);
    b.writeBigInt64LE(ns);
    fs.writeSync(this.fd, b, 0, 8, STILL);
  }

  // The after-th call from now fails with `error` (a number; 0: a short write), and `more` behind it.
  arm(call, { after = 1, more = 0, error = 5 } = {}) {
    const b = Buffer.alloc(12);
    [after, more, error].forEach((v, i) => b.writeInt32LE(v, 4 * i));
    fs.writeSync(this.fd, b, 0, 12, this.#at(call)); // hits stay
  }
  disarm(call) {
    fs.writeSync(this.fd, Buffer.alloc(8), 0, 8, this.#at(call)); // hits stay
  }
  disarmAll() {
    CALLS.forEach((c) => this.disarm(c));
  }
  hits(call) {
    const b = Buffer.alloc(16);
    fs.readSync(this.fd, b, 0, 16, this.#at(call));
    return b.readInt32LE(12);
  }
  #at(call) {
    return 8 + CALLS.indexOf(call) * 16;
  }
}

// --- the disk after a power cut ---------------------------------------------------------------------------------------

// The names of a folder: [["f" | "d", id, name]].
function durableNames(shadow, id) {
  try {
    return fs.readFileSync(path.join(shadow, "d", id), "utf8").trimEnd().split("\n").filter(Boolean).map((l) => l.match(/^([fd]) (\d+) (.*)$/).slice(1));
  } catch {
    return []; // made, never synced
  }
}
// The names it has now, as if they had all reached the disk.
function currentNames(shadow, folder) {
  const out = [];
  for (const e of fs.readdirSync(folder, { withFileTypes: true })) {
    const { ino } = fs.statSync(path.join(folder, e.name));
    try {
      out.push([e.isDirectory() ? "d" : "f", fs.readlinkSync(path.join(shadow, "i", String(ino))), e.name]);
    } catch {
      // made in the moment of the cut
    }
  }
  return out;
}
// Where a number lies in the tree that was running: what reached the disk unasked is taken from there.
function placesNow(shadow, root) {
  const at = new Map();
  const walk = (folder) => {
    for (const [kind, id, name] of currentNames(shadow, folder)) {
      at.set(id, path.join(folder, name));
      if (kind === "d") walk(path.join(folder, name));
    }
  };
  at.set("1", root);
  walk(root);
  return at;
}

// The durable bytes of a file; with `mix`, mixed with those it has now.
function bytesOf(shadow, id, now, mix) {
  let b;
  try {
    b = fs.readFileSync(path.join(shadow, "f", id));
  } catch {
    b = Buffer.alloc(0);
  }
  return mix && now ? mix(b, fs.readFileSync(now)) : b;
}
const resized = (b, n) => (b.length >= n ? b.subarray(0, n) : Buffer.concat([b, Buffer.alloc(n - b.length)]));
// Where the two differ: the starts of their sectors.
function changed(b, fresh) {
  const out = [];
  for (let o = 0; o < Math.min(b.length, fresh.length); o += SECTOR) {
    const end = Math.min(o + SECTOR, b.length, fresh.length);
    if (b.compare(fresh, o, end, o, end) !== 0) out.push(o);
  }
  return out;
}
// Of each sector that differs keep() says whether it is the new one; so of the size.
const someSectors = (keep) => (b, fresh) => {
  if (fresh.length !== b.length && keep()) b = resized(b, fresh.length);
  for (const o of changed(b, fresh)) if (keep()) fresh.copy(b, o, o, Math.min(o + SECTOR, b.length));
  return b;
};
// All that is new up to one byte of it: what was written as one is torn anywhere.
const upToAByte = (roll) => (b, fresh) => {
  b = resized(b, fresh.length);
  const at = changed(b, fresh);
  if (at.length > 0) fresh.copy(b, at[0], at[0], Math.min(at[0] + roll(at.at(-1) + SECTOR - at[0]), b.length));
  return b;
};

// Builds in `to` what a power cut leaves of `root`.  mode: "synced" only what was synced; "sectors" and some of the
// sectors that were not; "torn" and what was not up to some byte; "names" and, in some folders, the names that were
// not; "both" names and sectors; "kept" all of it: the server alone was killed.
export function cutPower({ root, shadow, to, mode, roll }) {
  if (mode === "kept") return fs.cpSync(root, to, { recursive: true });
  const now = mode === "synced" ? null : placesNow(shadow, root);
  const odds = 1 + roll(8);
  const mix = mode === "torn" ? upToAByte(roll) : mode === "sectors" || mode === "both" ? someSectors(() => roll(odds + 1) === 0) : null;
  const build = (id, folder) => {
    fs.mkdirSync(folder);
    const here = now?.get(id);
    const names = (mode === "names" || mode === "both") && here && roll(2) ? currentNames(shadow, here) : durableNames(shadow, id);
    for (const [kind, child, name] of names) {
      const at = path.join(folder, name);
      if (kind === "d") build(child, at);
      else fs.writeFileSync(at, bytesOf(shadow, child, now?.get(child), mix));
    }
  };
  build("1", to);
}

// --- one life after the other -----------------------------------------------------------------------------------------

// The disks of a server that is cut again and again: each life begins with what the cut left of the one before.
export class Disks {
  // modes: those of cutPower(), one as likely as another.
  constructor(trial, shim, server, modes) {
    Object.assign(this, { trial, shim, server, modes, number: 0 });
    this.cuts = Object.fromEntries(modes.map((m) => [m, 0]));
    this.#next();
  }
  // A new folder for each life: the shim begins with an empty copy.
  #next() {
    this.shadow = path.join(this.trial.dir, `shadow${this.number}`);
    this.root = this.server.store = path.join(this.trial.dir, `disk${this.number}`);
    fs.mkdirSync(this.root, { recursive: true });
    this.server.env = this.shim.env({ SHIM_ROOT: this.root, SHIM_SHADOW: this.shadow });
  }

  // The server was killed: the power with it.
  cut(roll) {
    const mode = this.modes[roll(this.modes.length)];
    cutPower({ root: this.root, shadow: this.shadow, to: path.join(this.trial.dir, `disk${this.number + 1}`), mode, roll });
    fs.rmSync(this.shadow, { recursive: true });
    fs.rmSync(path.join(this.trial.dir, `disk${this.number - 1}`), { recursive: true, force: true });
    this.cuts[mode]++;
    this.number++;
    this.#next();
  }
  // While a server started, perhaps before its copy began.
  cutStart(roll) {
    if (fs.existsSync(path.join(this.shadow, "d", "1"))) this.cut(roll);
    else fs.rmSync(this.shadow, { recursive: true, force: true });
  }

  summary() {
    return `${Object.values(this.cuts).reduce((a, b) => a + b)} power cuts (${Object.entries(this.cuts).map(([m, n]) => `${n} ${m}`).join(", ")})`;
  }
}
