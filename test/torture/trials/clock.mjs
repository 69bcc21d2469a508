#!/usr/bin/env node
// clock.mjs: the wall clock steps forward and back, by milliseconds to years, under load and while the server is down.
//
// What is promised (src/base/steady.h): a step forward is followed at once, so what is past its deadline then is
// gone; a step back is not followed: time goes on at the rate of the monotonic clock, so nothing is revived and a TTL
// lasts its length.  After a restart time begins no earlier than the log knows.
import path from "node:path";
import { edges } from "../lib/edges.mjs";
import { Server, pause } from "../lib/server.mjs";
import { Shim } from "../lib/shim.mjs";
import { steps as stepsAlone } from "../lib/steps.mjs";
import { run } from "../lib/trial.mjs";
import { Wire } from "../lib/wire.mjs";
import { World } from "../lib/world.mjs";

const SPANS = [1, 100, 3000, 60_000, 3600_000, 86400_000, 365 * 86400_000]; // ms
const FURTHEST = 80 * 365 * 86400_000; // markers and ids live for longer than that
const LIFETIME = 150 * 365 * 86400e9;

// Between which times the server's is, at ours.  The lower one is what its wall clock shows, or what a stamp of this
// life proves; the upper one the highest it was ever shown.
class Steps {
  constructor(shim) {
    this.shim = shim;
    this.list = [{ ms: 0, lo: 0, hi: 0 }];
    this.offset = this.least = this.most = 0;
  }
  #note(lo, hi) {
    this.list.push({ ms: Date.now(), lo, hi });
    if (this.list.length > 400) this.list.splice(1, 200);
  }
  step(ms) {
    const before = this.list.at(-1);
    this.offset += ms;
    this.least = Math.min(this.least, this.offset);
    this.most = Math.max(this.most, this.offset);
    // Noted before it is made and after it: in between both are possible.
    if (this.offset > before.hi) this.#note(before.lo, this.offset);
    this.shim.setClock(this.offset);
    this.#note(Math.max(this.list.at(-1).lo, this.offset), Math.max(before.hi, this.offset));
  }
  restarted() {
    this.#note(this.offset, this.list.at(-1).hi);
  }
  stamped(stamp, ms) {
    const { lo, hi } = this.list.at(-1);
    if (stamp - ms > lo + 5) this.#note(stamp - ms, hi);
  }
  #at(ms) {
    return this.list.findLast((e) => e.ms <= ms) ?? this.list[0];
  }
  // A reading that began before a step and ended after it: the wider one counts.
  lo(ms) {
    return ms === Infinity ? ms : ms + Math.min(this.#at(ms).lo, this.#at(ms - 2).lo);
  }
  hi(ms) {
    return ms === Infinity ? ms : ms + Math.max(this.#at(ms).hi, this.#at(ms + 2).hi);
  }
}

// A server of its own, before the load: nobody but us asks it for the time.
async function alone(t, shim, world) {
  const server = await new Server(t, { dir: path.join(t.dir, "edges"), env: shim.env() }).start();
  const wire = await Wire.open(server.port, "edges");
  const find = (kind, text) => world.find(kind, text);
  const asked = await edges(wire, shim, find);
  wire.close();
  const stepped = await stepsAlone(server, shim, find);
  await server.stop();
  return { asked, stepped };
}

run("clock", async (t) => {
  const shim = new Shim(t);
  const server = new Server(t, { env: shim.env() });
  const clock = new Steps(shim);
  const world = new World(t, server, { clock, lifetime: LIFETIME, refusals: /batch/ });
  const { roll } = world;
  let steps = 0, restarts = 0;
  const step = () => {
    const span = SPANS[roll(SPANS.length)];
    let ms = (1 + roll(9)) * span * (roll(5) < 2 ? -1 : 1);
    if (Math.abs(clock.offset + ms) > FURTHEST || clock.offset + ms < -20 * 365 * 86400_000) ms = -Math.sign(clock.offset) * 1000;
    clock.step(ms);
    steps++;
  };
  const { asked, stepped } = await alone(t, shim, world);
  await world.begin();
  while (t.another(1500)) {
    world.load();
    for (let i = roll(4); i >= 0; i--) {
      await pause(Math.min(roll(3) ? roll(300) : roll(1500), Math.max(1, t.left() - 1000)));
      step();
    }
    // A step while nobody asks for anything: its deaths must show by themselves.
    if (roll(3) === 0) {
      await world.rest();
      clock.step((1 + roll(9)) * 1000);
      steps++;
      await world.verifyLive();
      world.load();
    }
    await pause(roll(300));
    await world.cut(roll(3) === 0);
    if (roll(2)) step(); // while it is down
    await server.start();
    clock.restarted();
    restarts++;
    await world.resume();
  }
  await world.finish();
  const days = (ms) => `${Math.round(ms / 86400_000)} days`;
  return `${steps} steps of the clock between ${days(clock.least)} and +${days(clock.most)}, ${restarts} restarts, ${asked} questions at the edge of a nanosecond, ${stepped} after a step alone; ${world.summary()}`;
});
