// reentry_random.mjs: random traffic that comes back to the server as requests, by seed; test/torture tries other seeds.
import assert from "node:assert/strict";
import { dice } from "./lib/dice.mjs";
import { ownServer } from "./lib/js.mjs";
import { Storm } from "./lib/reentry.mjs";
import { scenario } from "./lib/scenario.mjs";

const STEPS = Number(process.env.STEPS ?? 1500);

for (const seed of process.env.SEED ? [Number(process.env.SEED)] : [1, 2, 3, 4])
  scenario(`answers, copies and deliveries that are requests: the server lives, and what it sends is whole (seed ${seed})`, { only: "mayfly" }, async (t) => {
    const { nc } = await ownServer(t, { block: "strict: false" }); // else most bodies are refused for a field of another request
    const storm = new Storm(nc, dice(seed));
    await storm.run(STEPS);
    assert.deepEqual(storm.bad, []);
    assert.ok(storm.seen > STEPS / 4, `${storm.seen} messages were looked at`);
  });
