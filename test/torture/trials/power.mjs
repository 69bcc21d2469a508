#!/usr/bin/env node
// power.mjs: the power is cut at random moments: the server goes on with what was synced, and perhaps some of the rest.
import fs from "node:fs";
import path from "node:path";
import { Server, pause } from "../lib/server.mjs";
import { Shim, cutPower } from "../lib/shim.mjs";
import { run } from "../lib/trial.mjs";
import { World } from "../lib/world.mjs";

const MODES = ["synced", "synced", "sectors", "names", "both"];

run("power", async (t) => {
  const shim = new Shim(t);
  const server = new Server(t);
  const world = new World(t, server);
  const { roll } = world;
  const cuts = Object.fromEntries(MODES.map((m) => [m, 0]));
  let disk = 0, root, shadow;
  // A new folder for each life: the shim begins with an empty copy.
  const start = () => {
    shadow = path.join(t.dir, `shadow${disk}`);
    root = server.store = path.join(t.dir, `disk${disk}`);
    fs.mkdirSync(root, { recursive: true });
    server.env = shim.env({ SHIM_ROOT: root, SHIM_SHADOW: shadow });
  };
  const cut = () => {
    const mode = MODES[roll(MODES.length)];
    const to = path.join(t.dir, `disk${disk + 1}`);
    cutPower({ root, shadow, to, mode, roll });
    fs.rmSync(shadow, { recursive: true });
    fs.rmSync(path.join(t.dir, `disk${disk - 1}`), { recursive: true, force: true });
    cuts[mode]++;
    disk++;
    start();
  };
  start();
  await world.begin();
  while (t.another(1500)) {
    world.load();
    await pause(Math.min(roll(3) ? roll(300) : roll(2000), Math.max(1, t.left() - 1000)));
    await world.cut();
    cut();
    // And again while it recovers: what recovery writes counts as well.
    while (roll(3) === 0) {
      const up = server.start().catch(() => {});
      await pause(roll(80));
      await server.kill();
      await up;
      if (fs.existsSync(path.join(shadow, "d", "1"))) cut();
      else fs.rmSync(shadow, { recursive: true, force: true }); // before the copy began
    }
    await server.start();
    await world.resume();
  }
  await world.finish();
  return `${Object.values(cuts).reduce((a, b) => a + b)} power cuts (${Object.entries(cuts).map(([m, n]) => `${n} ${m}`).join(", ")}); ${world.summary()}`;
});
