#!/usr/bin/env node
// disk.mjs: a small file system that fills up, by the server's own messages or by others, and empties again.
//
// While it is full: publishing is refused with an error (what was accepted before that was known waits), removals and expiry go on (with their markers), a restart
// serves what is there.  When there is room again, publishing goes on without a restart.  Nothing acknowledged is lost.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { awake } from "../lib/awake.mjs";
import { Server, pause } from "../lib/server.mjs";
import { Cannot, run } from "../lib/trial.mjs";
import { World } from "../lib/world.mjs";

const MB = 1 << 20;
const SIZE = 24 * MB;
const PATIENCE = 15000; // for what should take milliseconds

function mountSmall(dir) {
  if (process.getuid() !== 0) throw new Cannot("to mount a small file system takes root");
  fs.mkdirSync(dir);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "torture", dir], { stdio: "pipe" });
  } catch (e) {
    throw new Cannot(`mounting a tmpfs: ${e.stderr}`);
  }
  const away = () => {
    try {
      execFileSync("umount", ["-l", dir], { stdio: "pipe" });
    } catch {
      // it was unmounted before
    }
  };
  process.on("exit", away);
  return away;
}

run("disk", async (t) => {
  const mnt = path.join(t.dir, "mnt");
  const unmount = mountSmall(mnt);
  const server = new Server(t, { store: path.join(mnt, "js"), block: ", max_file_store: 1G" });
  const world = new World(t, server, { refusals: /./, keys: 20 });
  const { roll } = world;
  const ballast = path.join(mnt, "ballast");
  const free = () => {
    const s = fs.statfsSync(mnt);
    return s.bavail * s.bsize;
  };
  // Who holds the space: the folders of streams, the largest first.
  const held = () => {
    const sizes = new Map();
    for (const x of fs.readdirSync(mnt, { recursive: true, withFileTypes: true })) {
      if (!x.isFile()) continue;
      const at = path.relative(mnt, x.parentPath ?? x.path);
      sizes.set(at, [...(sizes.get(at) ?? []), `${x.name} ${fs.statSync(path.join(mnt, at, x.name)).blocks / 2}K`]);
    }
    return JSON.stringify(Object.fromEntries(sizes));
  };
  let fills = 0, stuffed = 0, resumed = 0, restarts = 0, waiting = 0;

  // Large messages until one is refused.
  const stuff = async () => {
    const body = Buffer.alloc(200_000, "f");
    for (let i = 0; i < 400 && t.left() > 0; i++) {
      const m = await world.main.request("f.x", body);
      if (m === null) throw new Error(`a large message has no answer: ${server.said()}`);
      const a = JSON.parse(m.text());
      if (a.error) return a.error;
      stuffed++;
    }
    return null;
  };
  // From outside: all that is free but `left` bytes.
  const weigh = (left) => {
    const n = Math.max(0, free() - left);
    const fd = fs.openSync(ballast, "a");
    const block = Buffer.alloc(MB);
    try {
      for (let done = 0; done < n; ) done += fs.writeSync(fd, block, 0, Math.min(MB, n - done));
    } catch (e) {
      if (e.code !== "ENOSPC") throw e;
    }
    fs.closeSync(fd);
  };
  const room = async () => {
    fs.rmSync(ballast, { force: true });
    const r = await world.main.api("STREAM.PURGE.F");
    if (r === null || r.error) world.find("full", `a purge on a full disk: ${JSON.stringify(r?.error ?? "no answer")}`);
    // All streams take messages again, without a restart.
    let said;
    for (const end = awake() + PATIENCE; ; await pause(50)) {
      said = await world.probe();
      if (Object.values(said).every((x) => /"seq":[1-9]/.test(x))) break;
      if (awake() > end) return world.find("full", `there is room (${free()} bytes), but ${JSON.stringify(said)}; files: ${held()}`);
    }
    resumed++;
  };
  // A removal is possible, whatever the disk says.
  const removal = async () => {
    const r = await world.main.api("STREAM.INFO.F");
    if (!r?.state?.messages) return;
    const d = await world.main.api("STREAM.MSG.DELETE.F", { seq: r.state.first_seq, no_erase: true });
    if (d === null || d.error) world.find("full", `deleting ${r.state.first_seq} on a full disk: ${JSON.stringify(d?.error ?? "no answer")}`);
  };

  await world.begin();
  const made = await world.main.api("STREAM.CREATE.F", { name: "F", subjects: ["f.>"] });
  if (made?.error) throw new Error(JSON.stringify(made.error));
  while (t.another(4000)) {
    world.load();
    await pause(roll(400));
    if (roll(2)) await stuff();
    else weigh([0, 4096, 100_000, MB][roll(4)]);
    fills++;
    await pause(roll(300));
    world.queue.stop();
    world.hands.forEach((h) => h.stop());
    // What was accepted before it was known that there is no room waits for some; nothing is answered out of turn.
    for (let i = 0; i < 150 && world.hands.some((h) => h.busy > 0); i++) await pause(10);
    const waits = world.hands.some((h) => h.busy > 0);
    waiting += waits;
    if (!waits) await removal();
    if (!waits && roll(2)) await world.verifyLive(); // what is due dies, with its markers
    if (roll(2)) {
      await world.cut(!waits && roll(3) === 0);
      restarts++;
      // Ids of what was removed without any room are noted when there is some: these may be forgotten (docs/reliability.md).
      world.hands.forEach((h) => (h.ids.length = 0));
      await server.start();
      await world.resume();
      world.load();
      await pause(roll(200));
    }
    await room();
    await world.rest();
    await world.verifyLive();
  }
  await world.finish();
  unmount();
  return `${fills} times full (${stuffed} large messages; ${waiting} times something waited for room), ${resumed} times room again, ${restarts} restarts on a full disk; ${world.summary()}`;
});
