// pull_groups.mjs: priority groups with several clients: who is served, who waits, who is told, and when.
import assert from "node:assert/strict";
import { group } from "./lib/js.mjs";
import { Inbox, MS, add, advisories, fill, look, pull, settle } from "./lib/consumer.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const LONG = 60_000 * MS;
const grouped = (policy, more) => ({ priority_groups: ["g", "h"], priority_policy: policy, ...more });
const waiting = (c, n) => until(`${n} waiting requests`, async () => (await look(c)).num_waiting === n);
const pinOf = (m) => m.headers.get("Nats-Pin-Id");
const pendingPair = (m) => [m.headers.get("Nats-Pending-Messages"), m.headers.get("Nats-Pending-Bytes")].map(Number);

async function stocked(c, n, config) {
  await c.create();
  await fill(c, n);
  await add(c, config);
  const told = advisories(c);
  await c.nc.flush();
  return told;
}
// A request that is in the queue when this returns, as the Nth of those that wait.
async function queued(c, n, body, more) {
  const inbox = pull(c, typeof body === "object" ? { group: "g", expires: LONG, ...body } : body, more);
  await waiting(c, n);
  return inbox;
}
async function pinned(c) {
  const inbox = pull(c, { batch: 1, group: "g", expires: LONG });
  return pinOf((await inbox.messages(1))[0]);
}
const unpin = async (c, name = "g") => assert.equal((await c.api(`CONSUMER.UNPIN.${c.id}.C`, { group: name })).error, undefined);

// --- prioritized ---------------------------------------------------------------------------------

check("prioritized: those of one priority take turns", async (c) => {
  await stocked(c, 0, grouped("prioritized"));
  const one = await queued(c, 1, { batch: 3, priority: 1 });
  const two = await queued(c, 2, { batch: 3, priority: 1 });
  await fill(c, 4);
  assert.deepEqual([await one.seqs(2), await two.seqs(2)], [[1, 3], [2, 4]]);
});

check("prioritized: plain numbers and empty requests come after all others, by turns", async (c) => {
  await stocked(c, 0, grouped("prioritized"));
  const plain = await queued(c, 1, 2);
  const last = await queued(c, 2, { batch: 1, priority: 9 });
  const empty = await queued(c, 3, "");
  await fill(c, 4);
  assert.deepEqual([await last.seqs(1), await plain.seqs(2), await empty.seqs(1)], [[1], [2, 4], [3]]);
});

check("prioritized: an update to it puts those who wait in order", { only: "mayfly" }, async (c) => {
  await stocked(c, 0, { ...grouped("overflow"), durable_name: "C" });
  const plain = await queued(c, 1, 1);
  const low = await queued(c, 2, { batch: 1, priority: 5 });
  const high = await queued(c, 3, { batch: 2, priority: 1 });
  await add(c, { ...grouped("prioritized"), durable_name: "C" });
  await fill(c, 4);
  assert.deepEqual([await high.seqs(2), await low.seqs(1), await plain.seqs(1)], [[1, 2], [3], [4]]);
});

check("prioritized: a client that comes later with a better priority goes first; when it goes, the others are served", async (c) => {
  await stocked(c, 0, grouped("prioritized"));
  const nc = await c.t.connect(c.s);
  const low = await queued(c, 1, { batch: 10, priority: 5 });
  const high = new Inbox(c, { nc });
  await queued(c, 2, { batch: 10, priority: 0 }, { inbox: high });
  await fill(c, 3);
  assert.deepEqual(await high.seqs(3), [1, 2, 3]);
  await nc.close();
  await waiting(c, 1);
  await fill(c, 2);
  assert.deepEqual(await low.seqs(2), [4, 5]);
});

// --- overflow ------------------------------------------------------------------------------------

check("overflow: either limit is enough, and who was passed over is behind those who were not", async (c) => {
  await stocked(c, 5, grouped("overflow"));
  const either = await queued(c, 1, { batch: 2, min_pending: 100, min_ack_pending: 1 });
  const plain = pull(c, { batch: 1, group: "g", expires: LONG });
  assert.deepEqual([await plain.seqs(1), await either.seqs(2)], [[1], [2, 3]]);
});

check("overflow: who does not wait and may not have what is there is told: 404", async (c) => {
  await stocked(c, 3, grouped("overflow"));
  await pull(c, { batch: 1, group: "g", min_pending: 10, no_wait: true }).status("404 No Messages");
  await waiting(c, 0);
  const short = pull(c, { batch: 1, group: "g", min_pending: 10, no_wait: true, expires: 300 * MS });
  assert.deepEqual(pendingPair(await short.status("408 Request Timeout")), [1, 0]);
});

check("limits of overflow on other consumers: 400, negative ones too", async (c) => {
  await stocked(c, 1, grouped("prioritized"));
  for (const more of [{ min_pending: 1 }, { min_pending: -1 }, { min_ack_pending: -1 }])
    await pull(c, { batch: 1, group: "g", ...more }).status("400 Bad Request - Not a Overflow Priority consumer");
  const over = c.another();
  await stocked(over, 1, grouped("overflow"));
  assert.deepEqual(await pull(over, { batch: 1, group: "g", min_pending: -1 }).seqs(1), [1]);
});

// --- pinned client -------------------------------------------------------------------------------

check("pinned: a stale id while nobody is pinned waits, and is told when there is a message", async (c) => {
  await stocked(c, 0, grouped("pinned_client"));
  const stale = await queued(c, 1, { batch: 3, id: "stale" });
  const fresh = await queued(c, 2, { batch: 1 });
  await fill(c, 1);
  assert.deepEqual(pendingPair(await stale.status("423 Nats-Wrong-Pin-Id")), [3, 0]);
  assert.match(pinOf((await fresh.messages(1))[0]), /^\w{22}$/);
});

check("pinned: after an unpin the info tells of none; requests with the old id end with the next message, the first without is pinned", async (c) => {
  const told = await stocked(c, 1, grouped("pinned_client", { priority_timeout: LONG }));
  const id = await pinned(c);
  const old = await queued(c, 1, { batch: 5, id });
  const next = await queued(c, 2, { batch: 5 });
  const last = await queued(c, 3, { batch: 5 });
  await unpin(c, "h");
  const un = await told.of("UNPINNED");
  assert.deepEqual([un.group, un.reason], ["h", "admin"]);
  const i = await look(c);
  assert.deepEqual([i.num_waiting, i.priority_groups], [3, [{ group: "g", pinned_ts: "0001-01-01T00:00:00Z" }]]);
  await fill(c, 2);
  assert.deepEqual(pendingPair(await old.status("423 Nats-Wrong-Pin-Id")), [5, 0]);
  const got = await next.messages(2);
  assert.deepEqual(got.map((m) => m.seq), [2, 3]);
  assert.notEqual(pinOf(got[0]), id);
  assert.equal(pinOf(got[0]), pinOf(got[1]));
  assert.deepEqual(last.unread, []);
});

check("pinned: who cannot take the first message for its max_bytes is not pinned, the next one is", async (c) => {
  const told = await stocked(c, 0, grouped("pinned_client", { priority_timeout: LONG }));
  const small = await queued(c, 1, { batch: 1, max_bytes: 50 });
  const next = await queued(c, 2, { batch: 1 });
  await c.pub("a", "x".repeat(200));
  await small.status("409 Message Size Exceeds MaxBytes");
  const [m] = await next.messages(1);
  assert.equal((await look(c)).priority_groups[0].pinned_client_id, pinOf(m));
  await until("both pins to be told", () => told.filter((a) => a.what === "PINNED").length === 2);
  assert.equal(told.at(-1).pinned_id, pinOf(m));
});

check("pinned: plain numbers pin nobody and are served while nobody is pinned", async (c) => {
  await stocked(c, 2, grouped("pinned_client", { priority_timeout: LONG }));
  assert.equal(pinOf((await pull(c, 1).messages(1))[0]), "");
  assert.deepEqual((await look(c)).priority_groups, [{ group: "g", pinned_ts: "0001-01-01T00:00:00Z" }]);
  const id = await pinned(c);
  const plain = await queued(c, 1, 1);
  await fill(c, 1);
  const held = pull(c, { batch: 1, group: "g", id, expires: LONG });
  assert.deepEqual([await held.seqs(1), plain.unread], [[3], []]);
});

check("pinned: deliveries do not keep a pin, requests with its id do", async (c) => {
  const PIN_MS = 3000; // far more than a busy machine needs to ask in time
  const told = await stocked(c, 1, grouped("pinned_client", { priority_timeout: PIN_MS * MS, max_ack_pending: -1 }));
  const start = Date.now();
  const id = await pinned(c);
  const ends = () => told.filter((a) => a.what === "UNPINNED").length;
  // It asks for a million after a second: the pin is held for its whole time once more, from then.
  let n = 1;
  await until("a second", () => Date.now() - start > 1000);
  const asked = Date.now();
  const all = await queued(c, 1, { batch: 1_000_000, id });
  while (ends() === 0) {
    assert.ok(Date.now() - start < 30_000, "the pin is still held");
    await c.pub("a", `m${++n}`);
    await until("a moment", () => ends() > 0 || all.all.length === n - 1 || all.all.at(-1)?.status);
  }
  assert.ok(Date.now() - asked >= PIN_MS, `the pin ended ${Date.now() - asked} ms after it was asked for again`);
  assert.deepEqual([told.at(-1).reason, told.at(-1).group], ["timeout", "g"]);
  await c.pub("a", "more");
  await until("the end of the request", () => all.all.at(-1)?.status === "423 Nats-Wrong-Pin-Id");
});

check("pinned: a holder that goes away keeps the others waiting for its time and no longer", async (c) => {
  const told = await stocked(c, 1, grouped("pinned_client", { priority_timeout: 1000 * MS }));
  const nc = await c.t.connect(c.s);
  const holder = new Inbox(c, { nc });
  await nc.flush();
  pull(c, { batch: 9, group: "h", expires: LONG }, { inbox: holder });
  const id = pinOf((await holder.messages(1))[0]);
  const other = await queued(c, 2, { batch: 9 });
  await nc.close();
  await waiting(c, 1);
  await fill(c, 3);
  const got = await other.messages(3);
  assert.deepEqual(got.map((m) => m.seq), [2, 3, 4]);
  assert.notEqual(pinOf(got[0]), id);
  assert.deepEqual(told.filter((a) => a.what !== "CREATED").map((a) => [a.what, a.group, a.reason]).slice(0, 3),
    [["PINNED", "h", undefined], ["UNPINNED", "h", "timeout"], ["PINNED", "g", undefined]]);
});

check("pinned: what comes again goes to the holder alone; +NXT asks with the id too", async (c) => {
  await stocked(c, 2, grouped("pinned_client", { priority_timeout: LONG, ack_wait: 300 * MS }));
  const first = pull(c, { batch: 1, group: "g", expires: LONG });
  const [m] = await first.messages(1);
  const other = await queued(c, 1, { batch: 3 });
  const again = await pull(c, { batch: 1, group: "g", id: pinOf(m), expires: LONG }).messages(1);
  assert.ok([1, 2].includes(again[0].seq)); // the second, unless this machine slept for a while
  const next = new Inbox(c);
  c.nc.publish(m.reply, `+NXT ${JSON.stringify({ batch: 1, group: "g", id: pinOf(m), expires: LONG })}`, { reply: next.subject });
  await next.messages(1);
  assert.deepEqual(other.unread, []);
});

check("pinned: who does not wait and is not pinned is told: 404", async (c) => {
  await stocked(c, 3, grouped("pinned_client", { priority_timeout: LONG }));
  const id = await pinned(c);
  await pull(c, { batch: 1, group: "g", no_wait: true }).status("404 No Messages");
  assert.deepEqual(await pull(c, { batch: 5, group: "g", id, no_wait: true }).seqs(2), [2, 3]);
});

check("pinned: an update to another policy serves all who wait, also before the pin's time is over", { only: "mayfly" }, async (c) => {
  await stocked(c, 1, grouped("pinned_client", { priority_timeout: LONG }));
  await pinned(c);
  const other = await queued(c, 1, { batch: 2 });
  await add(c, grouped("overflow"));
  await fill(c, 2);
  assert.deepEqual(await other.seqs(2), [2, 3]);
});

check("pinned: five clients, one after the other goes; each message is done once and in order", async (c) => {
  await stocked(c, 0, grouped("pinned_client", { priority_timeout: 1500 * MS }));
  const done = [];
  const clients = await Promise.all([1, 2, 3, 4, 5].map(() => c.t.connect(c.s)));
  const work = async (nc) => {
    for (let id; !nc.isClosed(); ) {
      const inbox = new Inbox(c, { nc });
      pull(c, { batch: 1, group: "g", expires: 200 * MS, ...(id && { id }) }, { inbox });
      await until("an answer", () => inbox.all.length > 0 || nc.isClosed());
      if (nc.isClosed()) return;
      const m = inbox.all[0];
      inbox.stop();
      if (m.status?.startsWith("423")) id = undefined;
      if (m.status) continue;
      id = pinOf(m);
      await settle(c, m);
      done.push(m.seq);
    }
  };
  const all = clients.map((nc) => work(nc).catch((e) => nc.isClosed() || Promise.reject(e)));
  for (const nc of clients) {
    const from = done.length;
    await fill(c, 20);
    await until("twenty more", () => done.length >= from + 20);
    await nc.close();
  }
  await Promise.all(all);
  assert.deepEqual(done, Array.from({ length: 100 }, (_, i) => i + 1));
});
