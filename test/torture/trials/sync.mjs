#!/usr/bin/env node
// sync.mjs: a sync fails, and the kernel takes the pages it could not write for clean: a later sync succeeds without
// them.  Some time later the power is cut.  What was acknowledged is there all the same: after a failed sync nothing
// of that stream is, until the server was started again.
import os from "node:os";
import { awake } from "../lib/awake.mjs";
import { Comings } from "../lib/comings.mjs";
import { Server, pause } from "../lib/server.mjs";
import { Disks, Shim } from "../lib/shim.mjs";
import { run } from "../lib/trial.mjs";
import { World } from "../lib/world.mjs";

const { EIO, ENOSPC, EDQUOT } = os.constants.errno;
const CALLS = ["sync", "firstSync"]; // the second: of a new segment or checkpoint
const LATER_MS = 500; // longer than the server waits before it tries something again

run("sync", async (t) => {
  const server = new Server(t);
  const shim = new Shim(t);
  const disks = new Disks(t, shim, server, ["synced", "synced", "sectors"]);
  const world = new World(t, server, { refusals: /./ });
  const comings = new Comings(world);
  const { roll } = world;
  const failed = { sync: 0, firstSync: 0 };
  await world.begin();
  while (t.another(2500)) {
    const call = CALLS[roll(2)];
    const before = shim.hits(call);
    world.load();
    const coming = comings.run(world.main, { quiet: 100 });
    await pause(roll(100));
    shim.arm(call, { after: 1 + roll(call === "sync" ? 60 : 4), more: roll(3) ? 0 : roll(3), error: [EIO, EIO, ENOSPC, EDQUOT][roll(4)] });
    for (const end = awake() + 1500; shim.hits(call) === before && awake() < end; ) await pause(5);
    await pause(roll(LATER_MS));
    failed[call] += shim.hits(call) - before;
    shim.disarmAll();
    await world.cut();
    await coming;
    disks.cut(roll);
    await server.start();
    await world.resume();
    await comings.check(world.main);
  }
  await world.finish();
  return `${failed.sync + failed.firstSync} failed syncs, ${failed.firstSync} of them a file's first; ${disks.summary()}; ${comings.summary()}; ${world.summary()}`;
});
