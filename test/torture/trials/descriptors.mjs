#!/usr/bin/env node
// descriptors.mjs: few descriptors, and crowds that say nothing take as many as they can get; streams come and go meanwhile.
//
// The server lives and answers everything; clients that are in stay in; a refused message is not there, before or after a
// restart; and when the crowd has left, every stream takes messages, without a restart.
import net from "node:net";
import { awake } from "../lib/awake.mjs";
import { Server, pause } from "../lib/server.mjs";
import { run } from "../lib/trial.mjs";
import { World } from "../lib/world.mjs";

const PATIENCE = 10000; // missing descriptors are looked for several times a second; a machine may be slow
const MOST = 300; // silent connections at a time

run("descriptors", async (t) => {
  const server = new Server(t);
  const world = new World(t, server, { refusals: /./, refusedGone: true });
  const { roll } = world;
  let rounds = 0, silent = 0, turned = 0, made = 0, without = 0, longest = 0;

  // One that says nothing; the server may close it.
  const stranger = () => {
    const s = net.connect({ host: "127.0.0.1", port: server.port });
    silent++;
    s.on("error", () => {});
    s.on("close", () => turned++);
    s.resume();
    return s;
  };
  const crowd = async (ms) => {
    const here = [];
    for (const end = awake() + ms; awake() < end && !server.gone; await pause(roll(30))) {
      for (let i = roll(60); i > 0 && here.length < MOST; i--) here.push(stranger());
      for (let i = roll(3) === 0 ? roll(here.length + 1) : 0; i > 0; i--) here.splice(roll(here.length), 1)[0].destroy();
    }
    for (const s of here) s.destroy();
  };
  // Streams take descriptors, too, and give them back.
  const churn = async (ms) => {
    const there = [];
    for (const end = awake() + ms; awake() < end && !world.main.closed; ) {
      const name = `C${++made}`;
      const r = await world.main.api(`STREAM.CREATE.${name}`, { name, subjects: [`c${made}.>`] }, 20000);
      if (r && !r.error) there.push(name);
      else if (r) without++;
      await world.main.request(`c${made}.x`, "x".repeat(roll(40000)), null, 20000);
      if (there.length > 5 || (r && r.error)) await world.main.api(`STREAM.DELETE.${there.shift()}`, "", 20000);
    }
    for (const name of there) await world.main.api(`STREAM.DELETE.${name}`, "", 20000);
  };
  const served = async () => {
    const from = awake();
    for (;;) {
      const said = await world.probe();
      if (Object.values(said).every((x) => /"seq":[1-9]/.test(x))) break;
      if (awake() - from > PATIENCE || world.main.closed)
        return world.find("after", `the crowd has left, but ${JSON.stringify(said)}: ${server.said(4)}`);
      await pause(50);
      longest = Math.max(longest, awake() - from);
    }
  };
  const limit = () => (server.limit = `-n ${48 + roll(3) * 16}`);

  limit();
  await world.begin();
  while (t.another(5000)) {
    rounds++;
    world.load();
    const ms = 500 + roll(3000);
    await Promise.all([crowd(ms), churn(ms)]);
    await world.rest();
    if (server.gone) world.find("crash", server.report() ?? server.said());
    else await served();
    if ([world.main, world.watching, world.queueWire, ...world.hands.map((h) => h.wire)].some((w) => w.closed))
      world.find("client", `a client that was in was closed: ${server.said(4)}`);
    await world.cut(roll(2) === 0);
    limit();
    await server.start();
    await world.resume();
  }
  await world.finish();
  return `${silent} silent connections, ${turned} of them ended, ${without} streams without a descriptor, ${rounds} rounds, ${Math.round(longest)} ms until all were served at most; ${world.summary()}`;
});
