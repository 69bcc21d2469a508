#!/usr/bin/env node
// memory.mjs: allocations of the running server fail, one or many in a row.
//
// The request or the connection that meets it gets an error; the server lives, acknowledges only what is there, and when
// there is memory again it serves as before.
import { awake } from "../lib/awake.mjs";
import { Server, pause } from "../lib/server.mjs";
import { Shim } from "../lib/shim.mjs";
import { run } from "../lib/trial.mjs";
import { Wire } from "../lib/wire.mjs";
import { World } from "../lib/world.mjs";

// A group that found no memory for its file is written 200 ms later, and until then its stream says that it is full.
// Nobody need wait for that group: deaths and their markers are one, too.
const FULL = /"err_code":10023\b/;
const PATIENCE = 5000; // no answer of that kind lasts; a machine may be slow

run("memory", async (t) => {
  const shim = new Shim(t, { memory: true });
  const server = new Server(t, { env: shim.env() });
  const world = new World(t, server, { refusals: /./ });
  const { roll } = world;
  let bursts = 0, rounds = 0, closed = 0, made = 0, waited = 0, longest = 0;
  // What allocates beside the load: connections, subscriptions, streams, consumers.
  const churn = async () => {
    const name = `C${++made}`;
    const w = await Wire.open(server.port, `c${made}`, 5000).catch(() => null);
    if (!w) return;
    w.subscribe(`${name}.>`, () => {});
    await w.api(`STREAM.CREATE.${name}`, { name, subjects: [`c${made}.>`], storage: roll(2) ? "memory" : "file" }, 5000);
    await w.request(`c${made}.x`, "x", null, 5000);
    await w.api(`CONSUMER.CREATE.${name}`, { stream_name: name, config: { ack_policy: "explicit", durable_name: "D" } }, 5000);
    await w.api("STREAM.LIST", "", 5000);
    await w.api(`STREAM.DELETE.${name}`, "", 5000);
    w.close();
  };
  // Every stream takes messages: at once, or when the group that waits was written.
  const served = async () => {
    const from = awake();
    const refusedOf = (said) => Object.values(said).filter((x) => !/"seq":[1-9]/.test(x));
    let said = await world.probe();
    if (refusedOf(said).length > 0) waited++;
    for (; refusedOf(said).length > 0; said = await world.probe()) {
      const took = awake() - from;
      if (took > PATIENCE || !refusedOf(said).every((x) => FULL.test(x)))
        return world.find("after", `there is memory again, but ${JSON.stringify(said)} after ${Math.round(took)} ms`);
      await pause(50);
      longest = Math.max(longest, awake() - from);
    }
  };
  await world.begin();
  while (t.another(2500)) {
    rounds++;
    world.load();
    const churning = (async () => {
      for (let i = 0; i < 3 && !server.gone; i++) await churn();
    })();
    for (let i = 3 + roll(10); i > 0 && !server.gone; i--) {
      shim.arm("malloc", { after: 1 + roll(3000), more: [0, 0, 1, 10, 100, 1000][roll(6)], error: 12 });
      bursts++;
      await pause(roll(80));
    }
    shim.disarmAll();
    await Promise.race([churning, pause(15000)]);
    await world.rest();
    shim.disarmAll();
    if (!server.gone) {
      // Who was cut off comes again; everything is served as before.
      closed += [world.main, world.watching, world.queueWire, ...world.hands.map((h) => h.wire)].filter((w) => w.closed).length;
      if (world.main.closed) world.main = await world.wire(`m${rounds}`);
      await served();
    }
    await world.cut(roll(3) === 0);
    await server.start();
    await world.resume();
  }
  await world.finish();
  return `${shim.hits("malloc")} failed allocations in ${bursts} bursts, ${rounds} rounds, ${closed} connections lost, ${waited} times full for at most ${Math.round(longest)} ms; ${world.summary()}`;
});
