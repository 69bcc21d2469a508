// mirrors_ttl.mjs: TTLs, delete markers and roll-ups that come to mirrors and sourcing streams from elsewhere.
import assert from "node:assert/strict";
import { archive } from "./lib/archive.mjs";
import { contents, holds, mirrorOf, reaches, seqs, sourceOf, texts } from "./lib/copies.mjs";
import { SECOND, at, block, group, markerBlock, restore } from "./lib/js.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const ttl = (v = "5") => ({ "Nats-TTL": v }); // copied before its end, on a busy machine too

// --- TTLs ------------------------------------------------------------------------------------------------

check("a mirror with allow_msg_ttl loses a message when the origin does, also when it came late", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const m = c.another();
  await c.pub("a", "m1", ttl("3"));
  await c.pub("b", "m2");
  await m.create(mirrorOf(c, {}, { allow_msg_ttl: true }));
  await c.pub("a", "m3", ttl("2"));
  await c.pub("a", "m4", ttl("never"));
  await c.pub("a", "m5", ttl("1h"));
  await reaches(m, { last_seq: 5 });
  const born = at(await m.get({ seq: 3 }) ?? { time: new Date().toISOString() });
  await reaches(m, { messages: 3 });
  assert.ok(Date.now() >= born + 2000, "too early");
  await reaches(c, { messages: 3 });
  assert.deepEqual(await contents(m), await contents(c));
  assert.deepEqual(await seqs(m), [2, 4, 5]);
});

check("a mirror without allow_msg_ttl keeps what expires, with its header", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const m = c.another();
  await m.create(mirrorOf(c));
  await c.pub("a", "m1", ttl());
  await c.pub("a", "m2");
  await reaches(m, { messages: 2 });
  await c.gone(1);
  assert.deepEqual((await contents(m)).map((x) => [x.data, x.hdr]), [["m1", block("Nats-TTL: 5")], ["m2", ""]]);
});

check("a mirror of an origin without allow_msg_ttl: foreign headers count where the mirror allows them", async (c) => {
  await c.create();
  await c.refused("a", [400, 10166, "per-message TTL is disabled"], "x", ttl());
  const plain = c.another();
  await plain.create({ allow_msg_ttl: true });
  await plain.pub("a", "m1", ttl());
  await c.update({ sources: [{ name: plain.id }] }); // its own TTLs are off, so it keeps them
  await holds(c, "m1");
  const m = c.another();
  await m.create(mirrorOf(c, {}, { allow_msg_ttl: true }));
  await reaches(m, { last_seq: 1 });
  await reaches(m, { messages: 0 });
  assert.equal((await c.state()).messages, 1);
});

check("allow_msg_ttl that is set later: what is overdue goes at once", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const [m, s] = [c.another(), c.another()];
  await m.create(mirrorOf(c));
  await s.create(sourceOf(c));
  await c.pub("a", "m1", ttl());
  await c.pub("a", "m2", ttl("1h"));
  for (const x of [m, s]) await reaches(x, { messages: 2 });
  await c.gone(1);
  await m.update(mirrorOf(c, {}, { allow_msg_ttl: true }));
  await s.update(sourceOf(c, {}, { allow_msg_ttl: true }));
  for (const x of [m, s]) {
    await reaches(x, { messages: 1 });
    assert.deepEqual(await texts(x), ["m2"]);
  }
});

check("a source's TTLs begin again with the time it is stored", async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("a", "m1", ttl("4"));
  const born = at(await c.get(1));
  await until("a second", () => Date.now() > born + 1000);
  const s = c.another();
  await s.create(sourceOf(c, {}, { allow_msg_ttl: true }));
  await reaches(s, { last_seq: 1 });
  const stored = at(await s.get(1));
  assert.ok(stored >= born + 1000);
  await reaches(s, { messages: 0 });
  assert.ok(Date.now() >= stored + 4000, "too early");
});

check("a source without allow_msg_ttl keeps them", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const s = c.another();
  await s.create(sourceOf(c));
  await c.pub("a", "m1", ttl());
  await reaches(s, { messages: 1 });
  await c.gone(1);
  assert.match((await s.get(1)).hdr, /^NATS\/1.0\r\nNats-TTL: 5\r\nNats-Stream-Source: /);
});

// nats-server stops there for ever.
for (const [kind, make] of [["mirror", mirrorOf], ["source", sourceOf]])
  for (const bad of ["tomorrow", "-5", "500ms", "", "99999999999999999999"])
    check(`a TTL that none can read, "${bad}", comes to a ${kind}: it is stored as it is and has no TTL`, { only: "mayfly" }, async (c) => {
      const now = Date.now();
      const messages = [
        { subject: c.subject("a"), seq: 1, time: now, data: "m1" },
        { subject: c.subject("a"), seq: 2, time: now, hdr: block("X: y", `Nats-TTL: ${bad}`), data: "m2" },
        { subject: c.subject("a"), seq: 3, time: now, hdr: block("Nats-TTL: 1h"), data: "m3" },
      ];
      const r = await restore(c, archive(c.config(), messages));
      assert.equal(r.error, undefined, JSON.stringify(r.error));
      const copy = c.another();
      await copy.create(make(c, {}, { allow_msg_ttl: true }));
      await reaches(copy, { messages: 3, last_seq: 3 });
      const got = (await contents(copy)).map((x) => [x.data, x.hdr.replace(/Nats-Stream-Source: [^\r]*\r\n/, "")]);
      assert.deepEqual(got.map((x) => x[0]), ["m1", "m2", "m3"]);
      assert.equal(got[1][1], block("X: y", `Nats-TTL: ${bad}`));
      await c.pub("a", "m4");
      await holds(copy, "m4");
    });

// --- markers ---------------------------------------------------------------------------------------------

const keeping = { subject_delete_marker_ttl: 3600 * SECOND, max_msgs_per_subject: 1 };

check("markers come to a mirror as they are; a plain mirror keeps the value beside them", async (c) => {
  await c.create(keeping);
  const m = c.another();
  await m.create(mirrorOf(c));
  await c.pub("a", "m1", ttl());
  await reaches(m, { messages: 1 });
  await c.marker("a");
  await reaches(m, { messages: 2, last_seq: 2 });
  const [value, marker] = await contents(m);
  assert.deepEqual([value.data, value.seq], ["m1", 1]);
  assert.deepEqual(marker, (await contents(c))[0]);
  assert.equal(marker.hdr, markerBlock("MaxAge", "1h0m0s"));
});

check("markers at a mirror with max_msgs_per_subject, with allow_rollup_hdrs: the value goes", async (c) => {
  await c.create(keeping);
  const [each, rolls] = [c.another(), c.another()];
  await each.create(mirrorOf(c, {}, { max_msgs_per_subject: 1 }));
  await rolls.create(mirrorOf(c, {}, { allow_rollup_hdrs: true }));
  await c.pub("a", "m1", ttl());
  await c.pub("b", "m2");
  for (const m of [each, rolls]) await reaches(m, { messages: 2 });
  await c.marker("a");
  for (const m of [each, rolls]) {
    await reaches(m, { messages: 2, last_seq: 3 });
    assert.deepEqual(await contents(m), await contents(c));
  }
});

check("markers' own TTL at a mirror that allows it", async (c) => {
  await c.create({ subject_delete_marker_ttl: 10 * SECOND, max_msgs_per_subject: 1 }); // the mirror must read the marker in time
  const m = c.another();
  await m.create(mirrorOf(c, {}, { allow_msg_ttl: true, allow_rollup_hdrs: true }));
  await c.pub("a", "m1", ttl());
  await reaches(m, { last_seq: 2 });
  await reaches(m, { messages: 0, last_seq: 2 });
  await reaches(c, { messages: 0, last_seq: 2 });
});

check("a mirror makes no markers of its own: what expires there just goes", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const m = c.another();
  await m.create(mirrorOf(c, {}, { max_age: 2 * SECOND }));
  await c.pub("a", "m1");
  await reaches(m, { last_seq: 1 });
  await reaches(m, { messages: 0, last_seq: 1 });
});

check("markers come to a sourcing stream with their text; it makes its own where it is told to", async (c) => {
  await c.create(keeping);
  const [plain, own] = [c.another(), c.another()];
  await plain.create(sourceOf(c));
  await c.pub("a", "m1", ttl());
  await reaches(plain, { messages: 1 });
  await c.marker("a");
  await reaches(plain, { messages: 2 });
  const [, marker] = await contents(plain);
  assert.equal(marker.hdr.replace(/Nats-Stream-Source: [^\r]*\r\n/, ""), markerBlock("MaxAge", "1h0m0s"));
  const b = c.another();
  await b.create({ allow_msg_ttl: true });
  await b.pub("k", "m1", ttl());
  await own.create(sourceOf(b, {}, { subject_delete_marker_ttl: 3600 * SECOND, max_msgs_per_subject: 1 }));
  const m = await until("its marker", async () => {
    const got = await own.get({ last_by_subj: b.subject("k") });
    return got?.hdr.includes("Nats-Marker-Reason") && got;
  });
  assert.equal(m.hdr, markerBlock("MaxAge", "1h0m0s"));
});

// --- roll-ups ----------------------------------------------------------------------------------------------

check("roll-ups at mirrors: only where allow_rollup_hdrs is set", async (c) => {
  await c.create({ allow_rollup_hdrs: true });
  const [plain, rolls] = [c.another(), c.another()];
  await plain.create(mirrorOf(c));
  await rolls.create(mirrorOf(c, {}, { allow_rollup_hdrs: true }));
  for (let i = 1; i <= 6; i++) await c.pub("abc"[(i - 1) % 3], `m${i}`);
  await reaches(rolls, { messages: 6 });
  await c.pub("a", "sub", { "Nats-Rollup": "sub" });
  await reaches(rolls, { messages: 5, last_seq: 7 });
  assert.deepEqual(await seqs(rolls), [2, 3, 5, 6, 7]);
  await c.pub("b", "all", { "Nats-Rollup": "all" });
  await reaches(rolls, { messages: 1, first_seq: 8, last_seq: 8 });
  await reaches(plain, { messages: 8 });
  assert.deepEqual((await contents(plain)).slice(-1), await contents(c));
  assert.deepEqual(await contents(rolls), await contents(c));
});

check("roll-ups at sourcing streams: only where allow_rollup_hdrs is set", async (c) => {
  await c.create({ allow_rollup_hdrs: true });
  const [plain, rolls] = [c.another(), c.another()];
  await plain.create(sourceOf(c));
  await rolls.create(sourceOf(c, {}, { allow_rollup_hdrs: true, subjects: [`${c.prefix}x.>`] }));
  await c.nc.request(`${c.prefix}x.own`, "own");
  for (let i = 1; i <= 3; i++) await c.pub("a", `m${i}`);
  await reaches(rolls, { messages: 4 });
  await c.pub("a", "sub", { "Nats-Rollup": "sub" });
  await reaches(rolls, { messages: 2, last_seq: 5 });
  assert.deepEqual(await texts(rolls), ["own", "sub"]);
  await c.pub("b", "all", { "Nats-Rollup": "all" });
  await reaches(rolls, { messages: 1, last_seq: 6 });
  await reaches(plain, { messages: 5 });
});
