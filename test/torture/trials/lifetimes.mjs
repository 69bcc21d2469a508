#!/usr/bin/env node
// lifetimes.mjs: streams whose messages end by policies, renewed, set by hand, linked, backfilled; the server is killed or
// its power cut every second, and what is read after each start is compared with what was acknowledged.
// With --kills=N it ends after so many.
import { Backfills, Drafts, Letters, Links, Slides } from "../lib/mortals.mjs";
import { Server, pause } from "../lib/server.mjs";
import { Disks, Shim } from "../lib/shim.mjs";
import { dice, run } from "../lib/trial.mjs";
import { Wire } from "../lib/wire.mjs";

const LANES = 32; // operations at the same time

run("lifetimes", async (t) => {
  const server = new Server(t);
  const disks = new Disks(t, new Shim(t), server, ["kept", "kept", "kept", "synced", "sectors", "torn", "both"]);
  const roll = dice(t.seed);
  const most = Number(t.more.kills ?? Infinity);
  const world = { roll, acks: 0, compared: 0, find: (kind, text) => t.found(kind, text) };
  const streams = [Drafts, Slides, Letters, Links, Backfills].map((C) => new C(world));
  const [, , letters, , backfills] = streams;
  let lives = 0, kills = 0, early = 0;
  const powerCuts = () => Object.values(disks.cuts).reduce((a, b) => a + b) - disks.cuts.kept;
  t.tried = () => `${kills} kills, ${early} of them during a start, ${powerCuts()} with a power cut; ${world.acks} acks, ${world.compared} messages compared; ${letters.count} dead letters, ${backfills.jobs} backfills`;

  const begin = async () => {
    await server.start();
    world.wire = await Wire.open(server.port, `l${++lives}`);
  };
  // Lanes end when the connection does.
  const load = () => {
    const wire = world.wire;
    const lane = async () => {
      while (!wire.closed) {
        await streams[roll(streams.length)].step();
        await pause(roll(5));
      }
    };
    return Promise.all(Array.from({ length: LANES }, lane));
  };

  await begin();
  for (const s of streams) await s.make();
  while (t.another(1500) && kills < most) {
    const lanes = load();
    lanes.catch(() => {}); // it is told of when they are waited for
    await pause(Math.min(roll(4) ? roll(500) : roll(1500), Math.max(1, t.left() - 1000)));
    await server.kill();
    kills++;
    await lanes;
    const report = server.report();
    if (report) t.found("crash", report);
    for (const s of streams) s.died(Date.now());
    disks.cut(roll);
    for (; roll(5) === 0; kills++, early++) {
      const up = server.start().catch(() => {});
      await pause(roll(40));
      await server.kill();
      await up;
      disks.cutStart(roll);
    }
    await begin();
    for (const s of streams) await s.settle();
  }
  await server.kill();
  return t.tried();
});
