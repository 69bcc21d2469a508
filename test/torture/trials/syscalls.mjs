#!/usr/bin/env node
// syscalls.mjs: the n-th write, sync, open, rename, read, accept... of the running server fails, or of one that starts.
//
// Whatever fails: the server lives, answers everything, and acknowledges only what is there; a fault of one file leaves
// the other streams writable; after one fault nothing that was refused is there; what a signal interrupts or a short write leaves is simply continued, and when there is
// space again every stream goes on.
import os from "node:os";
import { LIMIT_MS, awake } from "../lib/awake.mjs";
import { Server, pause } from "../lib/server.mjs";
import { Shim } from "../lib/shim.mjs";
import { run } from "../lib/trial.mjs";
import { Wire } from "../lib/wire.mjs";
import { World } from "../lib/world.mjs";

const { EIO, ENOSPC, EINTR, EMFILE, ENOMEM, ECONNABORTED, EDQUOT } = os.constants.errno;
const SHORT = 0;
// call: errors, and how far away the first failing call may be.
const PLANS = {
  pwrite: { errors: [EIO, ENOSPC, EINTR, SHORT, EDQUOT], within: 200 },
  sync: { errors: [EIO, EINTR, ENOSPC], within: 200 },
  open: { errors: [EMFILE, EIO, ENOSPC], within: 6 },
  rename: { errors: [EIO, ENOSPC], within: 3 },
  unlink: { errors: [EIO], within: 3 },
  truncate: { errors: [EIO, ENOSPC, EINTR], within: 5 },
  mkdir: { errors: [ENOSPC, EIO], within: 3 },
  mmap: { errors: [ENOMEM], within: 4 },
  pread: { errors: [EIO, EINTR], within: 50 },
  accept: { errors: [EMFILE, EINTR, ECONNABORTED], within: 4 },
};
const HARMLESS = new Set([EINTR, SHORT]);

const nameOf = (error) => (error === SHORT ? "a short write" : Object.entries(os.constants.errno).find(([, v]) => v === error)[0]);

run("syscalls", async (t) => {
  const shim = new Shim(t);
  const server = new Server(t);
  server.env = shim.env({ SHIM_ROOT: server.store });
  const world = new World(t, server, { refusals: /./ });
  const { roll } = world;
  const calls = Object.keys(PLANS);
  const tried = Object.fromEntries(calls.map((c) => [c, 0]));
  let made = 0, starts = 0;
  // What opens, renames and makes files: streams that come and go.
  const churn = async () => {
    const name = `C${++made}`;
    await world.main.api(`STREAM.CREATE.${name}`, { name, subjects: [`c${made}.>`] }, 10000);
    await world.main.request(`c${made}.x`, "x", null, 10000);
    if (roll(2)) await world.main.api(`STREAM.DELETE.${name}`, "", 10000);
    const w = await Wire.open(server.port, `c${made}`, 10000).catch(() => null);
    w?.close();
  };
  // Each stream answers; after one fault all but one take messages, after a harmless one all do.
  // True: all of them do.
  const refusedOf = (said) => Object.values(said).filter((x) => !/"seq":[1-9]/.test(x));
  const probe = async (what, { harmless, single }) => {
    const said = await world.probe();
    const refused = refusedOf(said);
    if (!world.main.closed && refused.length > (harmless ? 0 : single ? 1 : 3)) world.find("neighbours", `${what}: ${JSON.stringify(said)}`);
    return refused.length === 0;
  };
  // No write finds space for a moment: who has no answer then has it soon, and then all is as before.
  const space = async () => {
    shim.arm("pwrite", { after: 1, more: 30, error: ENOSPC });
    const during = world.probe();
    await pause(100);
    shim.disarmAll();
    let said = await during;
    for (const end = awake() + LIMIT_MS; refusedOf(said).length > 0; said = await world.probe()) {
      if (awake() > end || world.main.closed) return world.find("space", `there is space again, but ${JSON.stringify(said)}`);
      await pause(50);
    }
  };
  await world.begin();
  while (t.another(2500)) {
    const call = calls[roll(calls.length)];
    const plan = PLANS[call];
    const error = plan.errors[roll(plan.errors.length)];
    const harmless = HARMLESS.has(error);
    const more = harmless ? 0 : [0, 0, 3, 1000][roll(4)];
    const what = `${call} with ${nameOf(error)}${more ? ` ${more + 1} times` : ""}`;
    const atStart = roll(4) === 0;
    const before = shim.hits(call);
    const refusals = world.count.refused;
    // Where many calls fail, what was written of a refused group cannot be overwritten.
    for (const r of Object.values(world.records)) r.refusedGone = more === 0;
    if (!atStart) {
      world.load();
      await pause(roll(100));
      shim.arm(call, { after: 1 + roll(plan.within), more, error });
      await Promise.race([(async () => {
        for (let i = 0; i < 3; i++) await churn();
      })(), pause(3000)]);
      for (let i = 0; i < 30 && shim.hits(call) === before; i++) await pause(10);
      await pause(roll(300));
      shim.disarmAll(); // what waits for space goes on then
      await world.rest();
      if (server.gone) world.find("crash", `${what}: ${server.report() ?? server.said()}`);
      else if (await probe(what, { harmless, single: more === 0 })) await space();
      if (harmless && world.count.refused > refusals) world.find("refused", `${what}: ${world.count.refused - refusals} refusals`);
    } else world.load();
    await world.cut(roll(4) === 0 && harmless);
    if (atStart) {
      starts++;
      shim.arm(call, { after: 1 + roll(20), more, error });
      // It may refuse to start, with a word; it must not make things worse.
      await server.start().catch((e) => {
        if (server.report()) world.find("crash", `start, ${what}: ${e.message}`);
      });
      await pause(roll(100));
      shim.disarmAll();
      if (!server.gone) await server.stop();
      if (server.report()) world.find("crash", `start, ${what}: ${server.report()}`);
    }
    if (shim.hits(call) > before) tried[call]++;
    await server.start();
    await world.resume();
    for (; made > 0 && roll(2); ) await world.main.api(`STREAM.DELETE.C${made--}`);
  }
  await world.finish();
  const sum = Object.values(tried).reduce((a, b) => a + b);
  return `${sum} faults met (${calls.map((c) => `${tried[c]} ${c}`).join(", ")}), ${starts} starts with a fault ahead; ${world.summary()}`;
});
