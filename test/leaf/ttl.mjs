// ttl.mjs: lifetimes across the link: headers arrive as stored, copies end in time and not before, markers cross.
import assert from "node:assert/strict";
import { headers } from "../interop/lib/clients.mjs";
import { until } from "../interop/lib/wait.mjs";
import { jetstreamOf, scenario } from "./lib/setup.mjs";
import { infoOf, mirrorOn, ncOf, own, reaches, read, SIDES, sourceOn, stateOf } from "./lib/copies.mjs";

const TTL = { allow_msg_ttl: true };
const live = (ttl) => {
  const h = headers();
  h.set("Nats-TTL", ttl);
  return { headers: h };
};

for (const side of ["hub", "leaf"]) {
  const { other, domain: ownDomain } = SIDES[side];
  const domain = SIDES[other].domain;

  scenario(`a message with a TTL, published by the ${side}'s client to the ${other}'s stream: it ends there`, { quick: true }, async (t) => {
    const w = await t.link();
    const { js, jsm } = await jetstreamOf(ncOf(w, side), domain);
    assert.notEqual(domain, ownDomain);
    await jsm.streams.add({ name: "L", subjects: ["l.>"], ...TTL, subject_delete_marker_ttl: 3e9 });
    await js.publish("l.keep", "k");
    const from = Date.now();
    await js.publish("l.go", "g", live("3s"));
    const there = await own(w, other);
    await until("a marker in its place", async () => {
      const last = await there.jsm.streams.getMessage("L", { last_by_subj: "l.go" });
      return last?.header?.get("Nats-Marker-Reason") === "MaxAge";
    });
    assert.ok(Date.now() - from >= 3000, "not before its time");
    // The marker is seen through the link as well.
    const m = await jsm.streams.getMessage("L", { last_by_subj: "l.go" });
    assert.equal(m.header.get("Nats-Marker-Reason"), "MaxAge");
  });

  scenario(`mirror on the ${side} of a stream with TTLs: the same headers, ends in time and never before`, { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"], ...TTL });
    await to.jsm.streams.add({ name: "ML", ...TTL, ...mirrorOn(side, "L") });
    await from.js.publish("l.a", "for ever");
    const start = Date.now();
    await Promise.all(Array.from({ length: 20 }, (_, i) => from.js.publish(`l.${i}`, `${i}`, live("3s"))));
    await reaches(to.jsm, "ML", { last_seq: 21 });
    const copied = await to.jsm.streams.getMessage("ML", { seq: 5 });
    if (copied) assert.equal(copied.header.get("Nats-TTL"), "3s");
    await until("the copies to end", async () => (await stateOf(to.jsm, "ML")).messages === 1);
    assert.ok(Date.now() - start >= 3000, "not before their time");
    assert.deepEqual((await read(to.jsm, "ML")).map((m) => m[2]), ["for ever"]);
    await until("the originals to end", async () => (await stateOf(from.jsm, "L")).messages === 1);
  });

  scenario(`mirror without the feature on the ${side}: an audit copy that keeps all`, { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"], ...TTL });
    await to.jsm.streams.add({ name: "AUDIT", ...mirrorOn(side, "L") });
    for (let i = 0; i < 5; i++) await from.js.publish("l.x", `${i}`, live("1s"));
    await reaches(to.jsm, "AUDIT", { messages: 5 });
    await until("the originals to end", async () => (await stateOf(from.jsm, "L")).messages === 0);
    await from.js.publish("l.x", "last");
    await reaches(to.jsm, "AUDIT", { messages: 6 });
    assert.deepEqual((await read(to.jsm, "AUDIT")).map((m) => m[2]), ["0", "1", "2", "3", "4", "last"]);
  });

  scenario(`delete markers cross to a source on the ${side} and to its readers`, { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"], ...TTL, subject_delete_marker_ttl: 3e9 });
    await to.jsm.streams.add({ name: "SL", ...sourceOn(side, "L") });
    await from.js.publish("l.go", "g", live("3s"));
    await until("the marker in the copy", async () => {
      const { state } = await infoOf(to.jsm, "SL");
      const m = state.last_seq > 0 && (await to.jsm.streams.getMessage("SL", { seq: state.last_seq }));
      return m?.header?.get("Nats-Marker-Reason") === "MaxAge" && m.subject === "l.go";
    });
  });
}

scenario("the TTL API of a leaf, by its domain, from a client of the hub", { quick: true, leaf: "mayfly" }, async (t) => {
  const w = await t.link();
  const there = await own(w, "leaf");
  await there.jsm.streams.add({ name: "L", subjects: ["l.>"], ...TTL });
  await there.js.publish("l.a", "x", live("1h"));
  const { ask } = await import("./lib/setup.mjs");
  const local = await ask(w.leafNc, "$MAYFLY.TTL.STATS.L", "");
  assert.equal(local.error, undefined, JSON.stringify(local));
  const r = await ask(w.hubNc, "$MAYFLY.lf.TTL.STATS.L", "");
  assert.deepEqual(Object.keys(r).sort(), Object.keys(local).sort());
});
