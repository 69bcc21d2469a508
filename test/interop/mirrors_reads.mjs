// mirrors_reads.mjs: reading from mirrors: consumers of their own, and direct gets they answer for their origin.
import assert from "node:assert/strict";
import { contents, mirrorOf, origin, reaches } from "./lib/copies.mjs";
import * as consumer from "./lib/consumer.mjs";
import { group } from "./lib/js.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();

async function pair(c, { n = 6, from = {}, mirror = {}, over = {} } = {}) {
  await c.create(from);
  for (let i = 1; i <= n; i++) await c.pub("abc"[(i - 1) % 3], `m${i}`, i === 2 ? { X: "y" } : undefined);
  const m = c.another();
  await m.create(mirrorOf(c, mirror, over));
  await until("the mirror", async () => (await origin(m)).active >= 0 && (await origin(m)).lag === 0 && (await m.state()).messages > 0);
  return m;
}

// --- consumers -------------------------------------------------------------------------------------------

check("pull: all, by filter, new ones; acks; the subjects of acks name the mirror", async (c) => {
  const m = await pair(c);
  await reaches(m, { messages: 6 });
  await consumer.add(m);
  const got = await consumer.fetch(m, 6);
  assert.deepEqual(got.map((x) => [x.seq, x.data, x.pending, x.stream]), [1, 2, 3, 4, 5, 6].map((i) => [i, `m${i}`, 6 - i, m.id]));
  for (const x of got) await consumer.settle(m, x);
  await consumer.placed(m, { delivered: "6/6", floor: "6/6", unacked: 0, pending: 0 });
  await consumer.add(m, { durable_name: "B", filter_subject: c.subject("b") });
  const waiting = consumer.pull(m, { batch: 3, expires: 60_000 * consumer.MS }, { name: "B" });
  await c.pub("b", "m7");
  assert.deepEqual((await waiting.messages(3)).map((x) => x.data), ["m2", "m5", "m7"]);
  waiting.stop();
  assert.equal((await c.state()).consumer_count, 0);
});

check("push: sees what comes to the mirror; gaps are no matter", async (c) => {
  const m = await pair(c);
  await c.pub("a", "m7");
  await c.remove(7);
  const inbox = new consumer.Inbox(m);
  await consumer.add(m, { name: "P", deliver_subject: inbox.subject, ack_policy: "none", deliver_policy: "by_start_sequence", opt_start_seq: 5 });
  await c.pub("a", "m8");
  const last = await until("m8", () => inbox.all.find((x) => x.data === "m8"));
  assert.deepEqual([last.seq, inbox.all[0].seq, inbox.all[0].data], [8, 5, "m5"]);
  inbox.stop();
});

check("deliver last per subject, and what is pending", async (c) => {
  const m = await pair(c);
  await reaches(m, { messages: 6 });
  const info = await consumer.add(m, { deliver_policy: "last_per_subject", filter_subject: c.subject(">") });
  assert.equal(info.num_pending, 3);
  assert.deepEqual((await consumer.fetch(m, 3)).map((x) => x.data), ["m4", "m5", "m6"]);
});

check("by time: the origin's times count", async (c) => {
  const m = await pair(c);
  await reaches(m, { messages: 6 });
  await consumer.add(m, { deliver_policy: "by_start_time", opt_start_time: (await c.get(4)).time });
  assert.deepEqual((await consumer.fetch(m, 3)).map((x) => x.seq), [4, 5, 6]);
});

// --- reading it by its own name ------------------------------------------------------------------------------

check("MSG.GET and DIRECT.GET of the mirror itself", async (c) => {
  const m = await pair(c);
  await reaches(m, { messages: 6 });
  assert.equal((await m.get({ last_by_subj: c.subject("b") })).data, "m5");
  assert.equal((await m.get({ seq: 3, next_by_subj: c.subject("a") })).data, "m4");
  const d = await m.direct({ last_by_subj: c.subject("b") });
  assert.deepEqual([d.data, d.headers.get("Nats-Stream"), d.headers.get("Nats-Sequence"), d.headers.get("Nats-Time-Stamp")], ["m5", m.id, "5", (await c.get(5)).time]);
});

// --- mirror_direct ---------------------------------------------------------------------------------------------

// Who answers DIRECT.GET of the origin's name, as often as it takes to see these.
async function answerers(c, body, expected, subject = "") {
  const seen = new Set();
  await until(`answers of ${expected}`, async () => {
    const m = await c.nc.request(`$JS.API.DIRECT.GET.${c.id}${subject}`, body === "" ? "" : JSON.stringify(body), { timeout: LIMIT_MS });
    assert.ok(!(m.headers.code > 0), `${m.headers.code} ${m.headers.description}`);
    seen.add(m.headers.get("Nats-Stream"));
    return expected.every((id) => seen.has(id));
  });
  assert.deepEqual([...seen].sort(), [...expected].sort());
}

check("mirror_direct: set where the origin has allow_direct, whatever was asked for", async (c) => {
  const m = await pair(c);
  assert.equal((await m.info()).config.mirror_direct, true);
  const not = c.another();
  await not.create({ allow_direct: false });
  const its = c.another();
  const r = await its.create(mirrorOf(not, {}, { mirror_direct: true, allow_direct: false }));
  assert.deepEqual([r.config.mirror_direct, r.config.allow_direct], [false, false]);
  const unknown = c.another();
  assert.equal((await unknown.create(mirrorOf({ id: "NOWHERE" }, {}, { mirror_direct: true }))).config.mirror_direct, true);
});

check("mirror_direct: both answer for the origin, by sequence, by last of a subject and in the subject", async (c) => {
  const m = await pair(c);
  await answerers(c, { seq: 2 }, [c.id, m.id]);
  await answerers(c, { last_by_subj: c.subject("b") }, [c.id, m.id]);
  await answerers(c, "", [c.id, m.id], `.${c.subject("b")}`);
});

check("mirror_direct: when the origin is gone, the mirror answers", async (c) => {
  const m = await pair(c);
  await answerers(c, { seq: 2 }, [c.id, m.id]);
  const its = await contents(c);
  await c.api(`STREAM.DELETE.${c.id}`);
  await until("the origin to be silent", async () => {
    const got = await Promise.all(Array.from({ length: 20 }, () => c.nc.request(`$JS.API.DIRECT.GET.${c.id}`, '{"seq":2}', { timeout: LIMIT_MS })));
    return got.every((x) => x.headers.get("Nats-Stream") === m.id);
  });
  const d = await c.direct("b");
  assert.deepEqual([d.data, d.headers.get("Nats-Stream"), d.headers.get("Nats-Subject"), d.headers.get("Nats-Time-Stamp")], ["m5", m.id, c.subject("b"), its[4].time]);
  const x = await c.direct({ seq: 2 });
  assert.deepEqual([x.data, x.headers.get("X")], ["m2", "y"]);
  assert.equal((await c.direct({ seq: 9 })).status, 404);
  await c.api(`STREAM.DELETE.${m.id}`);
  await assert.rejects(c.nc.request(`$JS.API.DIRECT.GET.${c.id}`, '{"seq":2}'), /no responders/i);
});

check("mirror_direct: with a filter the mirror answers what it has, or that it has nothing", async (c) => {
  const m = await pair(c, { mirror: { filter_subject: c.subject("b") } });
  await c.api(`STREAM.DELETE.${c.id}`);
  await until("the mirror", async () => (await c.direct("b")).headers.get("Nats-Stream") === m.id);
  assert.equal((await c.direct("a")).status, 404);
});

check("mirror_direct: ends with the promotion", async (c) => {
  const m = await pair(c);
  await answerers(c, { seq: 2 }, [c.id, m.id]);
  await m.update({ subjects: undefined });
  const got = await Promise.all(Array.from({ length: 60 }, () => c.direct({ seq: 2 })));
  assert.deepEqual([...new Set(got.map((x) => x.headers.get("Nats-Stream")))], [c.id]);
});

check("mirror_direct: follows the origin's allow_direct when the mirror is updated", async (c) => {
  const m = await pair(c, { from: { allow_direct: false } });
  assert.equal((await m.info()).config.mirror_direct, false);
  await c.update({ allow_direct: true });
  assert.equal((await m.info()).config.mirror_direct, false);
  const r = await m.update(mirrorOf(c, {}, { description: "look again" }));
  assert.equal(r.config.mirror_direct, true);
  await c.pub("b", "m7");
  await reaches(m, { messages: 7 });
  await answerers(c, { seq: 7 }, [c.id, m.id]);
});

check("pedantic: a mirror has to say what its origin has", async (c) => {
  await c.create({ allow_direct: true });
  const m = c.another();
  const BAD = [400, 10157, "pedantic mode: origin stream has direct get set, mirror has it disabled"];
  await m.refusedConfig(mirrorOf(c, {}, { pedantic: true }), BAD);
  await m.create(mirrorOf(c, {}, { pedantic: true, mirror_direct: true }));
  await c.pub("a", "m1");
  await reaches(m, { messages: 1 });
});
