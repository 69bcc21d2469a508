// mirrors_restarts.mjs: mirrors and sourcing streams whose server stops or is killed: nothing is lost, nothing comes twice.
import assert from "node:assert/strict";
import { contents, holds, mirrorOf, origin, reaches, seqs, sourceOf, texts } from "./lib/copies.mjs";
import { SECOND, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const kinds = { mirror: mirrorOf, source: sourceOf };
const block = "sync_interval: always"; // what is acknowledged is there after kill -9, in nats-server too

async function again(t, s, how) {
  if (how === "kill") await s.kill();
  else await s.stop();
  await s.startAgain();
  s.killed = false; // from here on a bad exit is a failure again
  return onServer(t, s);
}

// What a copy has, whichever kind it is: the origin's sequence and the text.
async function taken(c) {
  return (await contents(c)).map((m) => [Number(/Nats-Stream-Source: \S+ (\d+) /.exec(m.hdr)?.[1] ?? m.seq), m.data]);
}
// All of the origin, once and in order.
async function complete(copy, from) {
  const its = (await contents(from)).map((m) => [m.seq, m.data]);
  await until(`${copy.id} to have ${its.length}`, async () => (await copy.state()).messages >= its.length);
  assert.deepEqual(await taken(copy), its);
}

// Publishes from twenty hands until the server is gone; how many were acknowledged.
async function storm(c, kill, enough) {
  let acked = 0;
  let stop = false;
  const hands = Array.from({ length: 20 }, async (_, hand) => {
    for (let i = 0; !stop; i++) {
      try {
        const a = JSON.parse((await c.nc.request(c.subject(`h.${hand}`), `${hand} ${i}`, { timeout: 30000 })).string());
        assert.equal(a.error, undefined);
        acked++;
      } catch (e) {
        if (e.code === "ERR_ASSERTION") throw e;
        return; // the connection is gone
      }
    }
  });
  await until("enough acks", () => acked >= enough);
  await kill();
  stop = true;
  await c.nc.close();
  await Promise.all(hands);
  return acked;
}

for (const [kind, make] of Object.entries(kinds)) {
  for (const how of ["stop", "kill"]) {
    scenario(`${how}: a ${kind} goes on where it was`, async (t) => {
      let { s, nc, stream } = await ownServer(t, { block });
      let [c, copy] = [stream("ORIGIN"), stream("COPY")];
      await c.create();
      await copy.create(make(c, {}, { description: "kept" }));
      for (let i = 1; i <= 5; i++) await c.pub("a", `m${i}`, { X: `${i}` });
      await reaches(copy, { messages: 5 });
      const before = [(await copy.info()).config, await contents(copy)];
      await nc.close();
      ({ stream } = await again(t, s, how));
      [c, copy] = [stream("ORIGIN"), stream("COPY")];
      assert.deepEqual([(await copy.info()).config, await contents(copy)], before);
      await c.pub("a", "m6");
      await holds(copy, "m6");
      await complete(copy, c);
      assert.equal((await copy.state()).last_seq, 6);
      await until("contact", async () => (await origin(copy)).active >= 0);
      assert.equal((await c.state()).consumer_count, 0);
    });

    scenario(`${how}: what was purged or deleted in a ${kind} does not come again`, async (t) => {
      let { s, nc, stream } = await ownServer(t, { block });
      let [c, copy, part] = [stream("ORIGIN"), stream("COPY"), stream("PART")];
      await c.create();
      await copy.create(make(c));
      await part.create(make(c));
      for (let i = 1; i <= 5; i++) await c.pub("a", `m${i}`);
      for (const x of [copy, part]) await reaches(x, { messages: 5 });
      assert.equal((await copy.purge()).purged, 5);
      const last = !isMayfly && kind === "source" && how === "kill" ? 4 : 5; // nats-server takes 5 again
      await part.remove(last);
      await part.remove(2);
      await nc.close();
      ({ stream } = await again(t, s, how));
      [c, copy, part] = [stream("ORIGIN"), stream("COPY"), stream("PART")];
      await c.pub("a", "m6");
      await holds(copy, "m6");
      assert.deepEqual(await texts(copy), ["m6"]);
      await reaches(part, { last_seq: 6, messages: 4 });
      assert.deepEqual(await texts(part), ["m1", "m3", last === 5 ? "m4" : "m5", "m6"]);
    });

    scenario(`${how}: limits of a ${kind} pushed out what it took: it is not taken again`, async (t) => {
      let { s, nc, stream } = await ownServer(t, { block });
      let [c, copy] = [stream("ORIGIN"), stream("COPY")];
      await c.create();
      await copy.create(make(c, {}, { max_age: SECOND }));
      for (let i = 1; i <= 5; i++) await c.pub("a", `m${i}`);
      await reaches(copy, { messages: 0, last_seq: 5 });
      await nc.close();
      ({ stream } = await again(t, s, how));
      [c, copy] = [stream("ORIGIN"), stream("COPY")];
      await c.pub("a", "m6");
      await reaches(copy, { last_seq: 6 });
      await reaches(copy, { messages: 0, last_seq: 6 });
    });
  }

  scenario(`kill -9 under load, three times: a ${kind} has all of the origin once, in order`, async (t) => {
    const { s, stream } = await ownServer(t, { block });
    let [c, copy] = [stream("ORIGIN"), stream("COPY")];
    await c.create();
    await copy.create(make(c));
    let acked = 0;
    for (let round = 0; round < 3; round++) {
      acked += await storm(c, () => s.kill(), 800);
      await s.startAgain();
      s.killed = false;
      const now = await onServer(t, s);
      [c, copy] = [now.stream("ORIGIN"), now.stream("COPY")];
      assert.ok((await c.state()).messages >= acked, "the origin lost what it acknowledged");
    }
    await c.pub("end", "end");
    await holds(copy, "end");
    await complete(copy, c);
    if (kind === "mirror") assert.deepEqual(await contents(copy), await contents(c));
  });

  scenario(`kill -9 in the middle of the backlog, three times: a ${kind} has all of it once, in order`, async (t) => {
    const { s, stream } = await ownServer(t);
    let [c, copy] = [stream("ORIGIN"), stream("COPY")];
    await c.create();
    for (let i = 1; i <= 20000; i++) {
      c.nc.publish(c.subject(`k.${i % 50}`), `m${i} ${"x".repeat(200)}`);
      if (i % 1000 === 0) await c.nc.flush();
    }
    await reaches(c, { last_seq: 20000 });
    await c.remove(77);
    await s.restart();
    for (let round = 0; round < 3; round++) {
      const now = await onServer(t, s);
      [c, copy] = [now.stream("ORIGIN"), now.stream("COPY")];
      if (round === 0) await copy.create(make(c));
      await until("a part of it", async () => (await copy.state()).messages > round * 4000);
      await s.kill();
      await s.startAgain();
      s.killed = false;
    }
    const now = await onServer(t, s);
    [c, copy] = [now.stream("ORIGIN"), now.stream("COPY")];
    await reaches(copy, { messages: 19999, last_seq: kind === "mirror" ? 20000 : 19999 });
    await complete(copy, c);
  });

  scenario(`kill -9 with a workqueue as origin: a ${kind} loses nothing, and the queue is empty in the end`, async (t) => {
    const { s, stream } = await ownServer(t, { block });
    let [c, copy] = [stream("ORIGIN"), stream("COPY")];
    await c.create({ retention: "workqueue" });
    await copy.create(make(c));
    let acked = 0;
    for (let round = 0; round < 2; round++) {
      acked += await storm(c, () => s.kill(), 500);
      await s.startAgain();
      s.killed = false;
      const now = await onServer(t, s);
      [c, copy] = [now.stream("ORIGIN"), now.stream("COPY")];
    }
    const last = await c.pub("end", "end");
    await holds(copy, "end");
    const got = (await taken(copy)).map(([seq]) => seq);
    assert.deepEqual(got, Array.from({ length: last }, (_, i) => i + 1));
    assert.ok(last > acked);
    await reaches(c, { messages: 0, last_seq: last });
  });
}

scenario("a mirror of a mirror after kill -9: the same, and their gaps too", async (t) => {
  let { s, stream } = await ownServer(t, { block });
  let all = ["A", "B", "C"].map(stream);
  await all[0].create();
  for (let i = 1; i <= 9; i++) await all[0].pub("a", `m${i}`);
  for (const seq of [1, 4, 5]) await all[0].remove(seq);
  await all[1].create(mirrorOf(all[0]));
  await all[2].create(mirrorOf(all[1]));
  await reaches(all[2], { last_seq: 9, messages: 6 });
  const before = await all[2].state({ deleted_details: true });
  await all[0].nc.close();
  ({ stream } = await again(t, s, "kill"));
  all = ["A", "B", "C"].map(stream);
  assert.deepEqual(await all[2].state({ deleted_details: true }), before);
  await all[0].pub("a", "m10");
  await reaches(all[2], { last_seq: 10, messages: 7 });
  assert.deepEqual(await seqs(all[2]), [2, 3, 6, 7, 8, 9, 10]);
});

scenario("promoted, then restarted: it stays a stream of its own", async (t) => {
  let { s, nc, stream } = await ownServer(t, { block });
  let [c, m] = [stream("ORIGIN"), stream("COPY")];
  await c.create();
  await c.pub("a", "m1");
  await m.create(mirrorOf(c));
  await reaches(m, { messages: 1 });
  await m.update({});
  await nc.close();
  ({ stream } = await again(t, s, "kill"));
  [c, m] = [stream("ORIGIN"), stream("COPY")];
  await c.pub("a", "origin's");
  assert.equal(await m.pub("a", "own"), 2);
  assert.deepEqual([await texts(m), (await m.info()).config.mirror], [["m1", "own"], undefined]);
});

scenario("a TTL at a mirror that ran out while the server was away", async (t) => {
  let { s, nc, stream } = await ownServer(t, { block });
  let [c, m] = [stream("ORIGIN"), stream("COPY")];
  await c.create({ allow_msg_ttl: true });
  await m.create(mirrorOf(c, {}, { allow_msg_ttl: true }));
  await c.pub("a", "m1", { "Nats-TTL": "1" });
  const due = Date.now() + 1010;
  await c.pub("a", "m2");
  await reaches(m, { last_seq: 2 });
  await nc.close();
  await s.kill();
  await until("its time", () => Date.now() > due);
  await s.startAgain();
  s.killed = false;
  ({ stream } = await onServer(t, s));
  [c, m] = [stream("ORIGIN"), stream("COPY")];
  await reaches(m, { messages: 1, first_seq: 2, last_seq: 2 });
});
