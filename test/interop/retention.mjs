// retention.mjs: streams that let go of what was acknowledged: workqueue and interest.
import assert from "node:assert/strict";
import { SECOND, group, markerBlock } from "./lib/js.mjs";
import { Inbox, MS, add, advisories, drop, fetch, fill, nothing, placed, pull, settle, tryAdd } from "./lib/consumer.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const LONG = 60_000 * MS;
const WORK = { retention: "workqueue" };
const INTEREST = { retention: "interest" };
const KEPT = { subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 }; // markers that stay to be looked at
const ttl = (v = "1") => ({ "Nats-TTL": v });

const left = (c, n) => until(`${n} messages`, async () => {
  const st = await c.state();
  return st.messages === n && st;
});
async function refused(c, config, err_code, description) {
  assert.deepEqual((await tryAdd(c, config)).error, { code: 400, err_code, description });
}

// --- workqueue -----------------------------------------------------------------------------------

check("workqueue: what is acked is deleted, in whatever order, and what is not stays", async (c) => {
  await c.create(WORK);
  await fill(c, 5);
  await add(c);
  const m = await fetch(c, 5);
  await settle(c, m[2]);
  await left(c, 4);
  assert.equal(await c.get(3), undefined);
  await settle(c, m[0]);
  assert.equal((await left(c, 3)).first_seq, 2);
  for (const i of [4, 3, 1]) await settle(c, m[i]);
  const st = await left(c, 0);
  assert.deepEqual([st.first_seq, st.last_seq], [6, 5]);
  await placed(c, { floor: "5/5", unacked: 0, pending: 0 });
});

check("workqueue: +TERM deletes, -NAK and max_deliver do not", async (c) => {
  await c.create(WORK);
  await fill(c, 2);
  await add(c, { max_deliver: 1 });
  const told = advisories(c);
  await c.nc.flush();
  const [one, two] = await fetch(c, 2);
  await settle(c, one, "+TERM");
  await settle(c, two, "-NAK");
  await left(c, 1);
  await pull(c, { batch: 1, expires: 300 * MS }).status("408 Request Timeout");
  await told.of("MAX_DELIVERIES");
  assert.equal((await c.state()).messages, 1);
});

check("workqueue: a consumer with ack none cannot be; push and ack all neither", async (c) => {
  await c.create(WORK);
  await refused(c, { ack_policy: "none" }, 10084, "consumer in pull mode requires explicit ack policy on workqueue stream");
  await refused(c, { ack_policy: "none", deliver_subject: "x" }, 10098, "workqueue stream requires explicit ack");
  for (const deliver_policy of ["new", "last"])
    await refused(c, { deliver_policy }, 10101, "consumer must be deliver all on workqueue stream");
});

check("workqueue: each message belongs to one consumer", async (c) => {
  await c.create(WORK);
  await add(c, { name: "ALL" });
  await refused(c, { name: "TWO" }, 10099, "multiple non-filtered consumers not allowed on workqueue stream");
  await refused(c, { name: "A", filter_subject: c.subject("a") }, 10100, "filtered consumer not unique on workqueue stream");
  await drop(c, "ALL");
  await add(c, { name: "A", filter_subject: c.subject("a") });
  await add(c, { name: "B", filter_subjects: [c.subject("b"), c.subject("c.*")] });
  await refused(c, { name: "D", filter_subject: c.subject("*") }, 10100, "filtered consumer not unique on workqueue stream");
  await refused(c, { name: "D", filter_subject: c.subject("c.x") }, 10100, "filtered consumer not unique on workqueue stream");
  await refused(c, { name: "ALL" }, 10099, "multiple non-filtered consumers not allowed on workqueue stream");
  await add(c, { name: "D", filter_subject: c.subject("c.x.y") });
  await fill(c, 4, ["a", "b", "c.1", "none"]);
  await settle(c, (await fetch(c, 1, "A"))[0]);
  for (const m of await fetch(c, 2, "B")) await settle(c, m);
  const st = await left(c, 1);
  assert.equal(st.first_seq, 4);
});

check("workqueue: a new consumer takes what an old one left", async (c) => {
  await c.create(WORK);
  await fill(c, 4);
  await add(c);
  const m = await fetch(c, 3);
  await settle(c, m[1]);
  await drop(c);
  await add(c, { name: "NEXT" });
  assert.deepEqual((await fetch(c, 3, "NEXT")).map((x) => [x.seq, x.pending]), [[1, 2], [3, 1], [4, 0]]);
});

check("workqueue: several workers on one consumer, all done once, the stream ends empty", async (c) => {
  await c.create(WORK);
  await add(c);
  const seen = new Map();
  const workers = await Promise.all([1, 2, 3].map(async () => {
    const consumer = await c.js.consumers.get(c.id, "C");
    return consumer.consume({ max_messages: 7, callback: (m) => {
      seen.set(m.seq, (seen.get(m.seq) ?? 0) + 1);
      m.ack();
    } });
  }));
  await fill(c, 400, ["a", "b"]);
  await left(c, 0);
  await Promise.all(workers.map((w) => w.close()));
  assert.equal(seen.size, 400);
  assert.ok([...seen.values()].every((n) => n === 1));
});

// --- interest ------------------------------------------------------------------------------------

check("interest: nobody wants it, it is not kept, but has its sequence", async (c) => {
  await c.create(INTEREST);
  assert.equal(await c.pub("a", "x"), 1);
  await left(c, 0);
  await add(c, { filter_subject: c.subject("b") });
  assert.equal(await c.pub("a", "x"), 2);
  assert.equal(await c.pub("b", "x"), 3);
  const st = await left(c, 1);
  assert.deepEqual([st.first_seq, st.last_seq], [3, 3]);
});

check("interest: kept until everyone who wants it has acked it", async (c) => {
  await c.create(INTEREST);
  await add(c, { name: "ONE", durable_name: "ONE" });
  await add(c, { name: "TWO", durable_name: "TWO", filter_subject: c.subject("b") });
  await fill(c, 4, ["a", "b"]);
  const one = await fetch(c, 4, "ONE");
  await settle(c, one[0]);
  await left(c, 3);
  await settle(c, one[1]);
  await settle(c, one[2]);
  assert.equal((await left(c, 2)).first_seq, 2);
  const two = await fetch(c, 2, "TWO");
  await settle(c, two[0]);
  assert.equal((await left(c, 1)).first_seq, 4);
  await settle(c, two[1], "+TERM");
  await settle(c, one[3]);
  await left(c, 0);
});

check("interest: an ack-none consumer has acked what it was sent", async (c) => {
  await c.create(INTEREST);
  await add(c, { ack_policy: "none" });
  await fill(c, 3);
  await fetch(c, 2);
  assert.equal((await left(c, 1)).first_seq, 3);
});

check("interest: deleting the last one who wants them deletes the messages", async (c) => {
  await c.create(INTEREST);
  await add(c, { name: "ONE" });
  await add(c, { name: "TWO", filter_subject: c.subject("a") });
  await fill(c, 6, ["a", "b"]);
  await drop(c, "ONE");
  assert.deepEqual((await left(c, 3)).num_subjects, 1);
  await drop(c, "TWO");
  await left(c, 0);
});

check("interest: a consumer that comes later does not hold what it does not get", async (c) => {
  await c.create(INTEREST);
  await add(c, { name: "ONE" });
  await fill(c, 3);
  await add(c, { name: "NEW", deliver_policy: "new" });
  await nothing(c, "NEW");
  for (const m of await fetch(c, 3, "ONE")) await settle(c, m);
  await left(c, 0);
  await fill(c, 1);
  for (const name of ["ONE", "NEW"]) await settle(c, (await fetch(c, 1, name))[0]);
  await left(c, 0);
});

check("interest: an ephemeral that goes by itself lets go", async (c) => {
  await c.create(INTEREST);
  await add(c, { name: "E", ack_policy: "none", deliver_subject: `gone.${c.id}`, inactive_threshold: 300 * MS });
  await fill(c, 3);
  await left(c, 0);
});

check("interest: push to a subscriber, acked one by one", async (c) => {
  await c.create(INTEREST);
  await add(c, { deliver_subject: `to.${c.id}` });
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  await fill(c, 10);
  for (const m of await inbox.messages(10)) await settle(c, m);
  await left(c, 0);
});

check("limits: acks delete nothing", async (c) => {
  await c.create();
  await fill(c, 3);
  await add(c);
  for (const m of await fetch(c, 3)) await settle(c, m);
  assert.equal((await c.state()).messages, 3);
});

// --- with TTLs and markers -----------------------------------------------------------------------

for (const [what, over] of [["workqueue", WORK], ["interest", INTEREST]]) {
  check(`${what}: what expires unacked is not delivered, and leaves a marker that is`, async (c) => {
    await c.create({ ...over, ...KEPT });
    await add(c);
    await c.pub("a", "x", ttl());
    await c.gone(1);
    const [m] = await fetch(c, 1);
    assert.deepEqual([m.seq, m.subject, m.data], [2, c.subject("a"), ""]);
    assert.equal(m.headers.get("Nats-Marker-Reason"), "MaxAge");
    assert.equal((await c.get(2)).hdr, markerBlock("MaxAge", "1m0s"));
    await settle(c, m);
    await left(c, 0);
  });

  check(`${what}: expired while somebody holds it: the floor moves, it does not come again, the marker does`, async (c) => {
    await c.create({ ...over, ...KEPT });
    await add(c, { ack_wait: LONG });
    await c.pub("a", "x", ttl());
    const [m] = await fetch(c, 1);
    await c.gone(1);
    await placed(c, { unacked: 0, floor: "1/1" });
    await settle(c, m); // too late, but confirmed
    const [marker] = await fetch(c, 1);
    assert.deepEqual([marker.seq, marker.count], [2, 1]);
    await settle(c, marker);
    await left(c, 0);
  });

  check(`${what}: what was acked in time leaves no marker`, async (c) => {
    await c.create({ ...over, ...KEPT });
    await add(c);
    await c.pub("a", "x", ttl());
    await settle(c, (await fetch(c, 1))[0]);
    await left(c, 0);
    const clock = c.another();
    await clock.create({ allow_msg_ttl: true });
    await clock.gone(await clock.pub("tick", "x", ttl()));
    assert.equal((await c.state()).last_seq, 1);
  });

  check(`${what}: expires without markers`, async (c) => {
    await c.create({ ...over, allow_msg_ttl: true });
    await add(c);
    await c.pub("a", "short", ttl());
    await c.pub("a", "stays");
    await c.gone(1);
    assert.deepEqual((await fetch(c, 1)).map((m) => [m.seq, m.pending]), [[2, 0]]);
  });
}

check("interest: a reset gives up what nobody needs any more, but not beyond the end", async (c) => {
  await c.create(INTEREST);
  await add(c);
  await add(c, { durable_name: "A", filter_subject: c.subject("a") });
  await fill(c, 4, ["a", "b"]);
  await fetch(c, 2);
  const reset = (seq) => c.api(`CONSUMER.RESET.${c.id}.C`, { seq });
  assert.equal((await reset(9)).reset_seq, 9);
  assert.equal((await c.state()).messages, 4);
  assert.equal((await reset(4)).reset_seq, 4);
  await left(c, 3);
  assert.equal(await c.get(2), undefined);
  assert.equal((await reset(5)).reset_seq, 5);
  await left(c, 2);
});

check("interest without anyone: neither a value nor a marker", async (c) => {
  await c.create({ ...INTEREST, ...KEPT });
  await c.pub("a", "x", ttl());
  const clock = c.another();
  await clock.create({ allow_msg_ttl: true });
  await clock.gone(await clock.pub("tick", "x", ttl()));
  const st = await c.state();
  assert.deepEqual([st.messages, st.last_seq], [0, 1]);
});
