#!/usr/bin/env node
// stalls.mjs: random requests and publishes of one tenant at a server that holds much; a foreign client's PING must not wait.
//
// What counts is how long the server's loop ran while a PING waited (lib/pinger.mjs), so that other programs on the machine do
// not make finds.  A PING over the bound is a find when the same round, with the same seed, has one at the same request again,
// twice.  --bound=MS, --scale=MESSAGES: 20 ms and 200,000 (with sanitizers 100 ms and 50,000).
import fs from "node:fs";
import { Tenant } from "../lib/hunt.mjs";
import { Pinger } from "../lib/pinger.mjs";
import { Server } from "../lib/server.mjs";
import { dice, run } from "../lib/trial.mjs";
import { Wire } from "../lib/wire.mjs";

const STEPS = 25; // requests of a round, then there is new state

// Of each request: [{ at, what, ms, wait }]: what ran while a PING waited, and how long it waited.
async function round(t, seed, { scale, steps = STEPS }) {
  const server = new Server(t, { dir: `${t.dir}/${seed}-${t.rounds}-${Math.floor(t.left())}`, config: 'http: "127.0.0.1:-1"\n' });
  await server.start();
  const all = [];
  try {
    const tenant = new Tenant(await Wire.open(server.port, "tenant"), dice(seed), scale);
    await tenant.fill();
    const pinger = await Pinger.open(server);
    await pinger.take();
    for (let at = 0; at < steps && !server.gone; at++) {
      const [what, send] = tenant.next();
      await send();
      await tenant.w.flush();
      const { cpu, waits } = await pinger.take();
      all.push({ at, what, ms: cpu.at(-1), wait: waits.at(-1) });
    }
    await pinger.close();
    tenant.w.close();
  } finally {
    if (server.report()) t.found("died", server.report(), t.again(seed));
    await server.kill();
  }
  return all;
}

run("stalls", async (t) => {
  const slow = fs.readFileSync(t.mayflyd).includes("__asan_init") || fs.readFileSync(t.mayflyd).includes("__tsan_init");
  const bound = Number(t.more.bound ?? (slow ? 100 : 20)), scale = Number(t.more.scale ?? (slow ? 50000 : 200000));
  let asked = 0, worst = { ms: 0, what: "nothing" }, rounds = 0, doubts = 0;
  t.tried = () => `${asked} requests in ${rounds} rounds`;
  for (let seed = t.seed; t.another(slow ? 8000 : 6000); seed++) {
    const all = await round(t, seed, { scale });
    asked += all.length;
    rounds++;
    for (let x of all.filter((y) => y.ms > bound)) {
      doubts++;
      for (let n = 0; n < 2 && x.ms > bound; n++) x = (await round(t, seed, { scale, steps: x.at + 1 })).at(-1);
      if (x.ms > bound)
        t.found("stall", `${x.what} (request ${x.at}): the loop ran ${x.ms.toFixed(1)} ms while a PING waited`, t.again(seed, ` --bound=${bound} --scale=${scale}`));
      all[x.at] = x;
    }
    const most = all.reduce((a, b) => (b.ms > a.ms ? b : a), worst);
    if (most.ms > worst.ms) worst = most;
  }
  return `${asked} requests in ${rounds} rounds of ${scale} messages, ${doubts} looked at again, at most ${worst.ms.toFixed(1)} ms (${worst.what})`;
});
