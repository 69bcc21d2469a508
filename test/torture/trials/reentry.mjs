#!/usr/bin/env node
// reentry.mjs: answers, republished copies, deliveries and snapshots that are requests to the server which sends them.
//
// The server lives, and every message it sends is whole.  The traffic is that of test/interop/reentry_random.mjs; a build
// with sanitizers also tells who reads memory that is not his any more.
import { connect } from "../../interop/lib/reentry.mjs";
import { Server } from "../lib/server.mjs";
import { dice, run } from "../lib/trial.mjs";

const STEPS = 2000;

run("reentry", async (t) => {
  let steps = 0, seen = 0, rounds = 0;
  for (let seed = t.seed; t.another(4000); seed++) {
    const server = new Server(t, { dir: `${t.dir}/${seed}`, block: ", strict: false" });
    await server.start();
    const storm = await connect(server.port, dice(seed));
    const failed = await storm.run(STEPS).then(() => null, (e) => e);
    await storm.nc.close().catch(() => {});
    await server.stop();
    const said = server.report() ?? (failed && `${failed}: ${server.said()}`) ?? (server.gone.code !== 0 && `exit ${server.gone.code}: ${server.said()}`);
    if (said) t.found("died", said, t.again(seed));
    for (const b of storm.bad) t.found("not-whole", b, t.again(seed));
    steps += storm.steps;
    seen += storm.seen;
    rounds++;
  }
  return `${steps} publishes and requests in ${rounds} rounds, ${seen} messages looked at`;
});
