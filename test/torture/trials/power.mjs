#!/usr/bin/env node
// power.mjs: the power is cut at random moments: the server goes on with what was synced, and perhaps some of the rest.
// Streams come and go beside the load.
import { Comings } from "../lib/comings.mjs";
import { Server, pause } from "../lib/server.mjs";
import { Disks, Shim } from "../lib/shim.mjs";
import { run } from "../lib/trial.mjs";
import { World } from "../lib/world.mjs";

run("power", async (t) => {
  const server = new Server(t);
  const disks = new Disks(t, new Shim(t), server, ["synced", "synced", "sectors", "torn", "torn", "names", "both"]);
  const world = new World(t, server);
  const comings = new Comings(world);
  const { roll } = world;
  await world.begin();
  while (t.another(1500)) {
    world.load();
    const coming = comings.run(world.main);
    await pause(Math.min(roll(3) ? roll(300) : roll(2000), Math.max(1, t.left() - 1000)));
    await world.cut();
    await coming;
    disks.cut(roll);
    // And again while it recovers: what recovery writes counts as well.
    while (roll(3) === 0) {
      const up = server.start().catch(() => {});
      await pause(roll(80));
      await server.kill();
      await up;
      disks.cutStart(roll);
    }
    await server.start();
    await world.resume();
    await comings.check(world.main);
  }
  await world.finish();
  return `${disks.summary()}; ${comings.summary()}; ${world.summary()}`;
});
