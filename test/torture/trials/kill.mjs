#!/usr/bin/env node
// kill.mjs: kill -9 at random moments under load, restart, everything read and compared with the observer's record; small
// streams whose every number is known beside it.
import { Bounds } from "../lib/bounds.mjs";
import { Server, pause } from "../lib/server.mjs";
import { run } from "../lib/trial.mjs";
import { World } from "../lib/world.mjs";

run("kill", async (t) => {
  const server = new Server(t);
  const world = new World(t, server);
  const { roll } = world;
  let kills = 0, stops = 0;
  const bounds = new Bounds(world);
  await world.begin();
  await bounds.make(world.main);
  await bounds.check(world.main);
  while (t.another(1500)) {
    world.load();
    // Now and then at once: what was confirmed last is the newest thing on disk then.
    if (roll(5)) await pause(Math.min(roll(3) ? roll(400) : roll(3000), Math.max(1, t.left() - 1000)));
    const orderly = roll(8) === 0;
    if (orderly) stops++;
    else kills++;
    await world.cut(orderly);
    // Killed while it recovers, too.
    for (; roll(4) === 0; kills++) {
      const up = server.start().catch(() => {});
      await pause(roll(60));
      await server.kill();
      await up;
    }
    await server.start();
    await world.resume();
    await bounds.check(world.main);
  }
  await world.finish();
  return `${kills} kills, ${stops} orderly stops; ${bounds.checks} checks of small streams; ${world.summary()}`;
});
