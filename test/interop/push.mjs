// push.mjs: push consumers: interest, groups, heartbeats, flow control, pace, and nats.js's ordered ones.
import assert from "node:assert/strict";
import { SECOND, group, ownServer } from "./lib/js.mjs";
import { Inbox, MS, add, fill, look, place, placed, settle, tryAdd } from "./lib/consumer.mjs";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();
const bound = (c, yes, name) => until(`push_bound ${yes}`, async () => ((await look(c, name)).push_bound ?? false) === yes);
const to = (c, more) => ({ deliver_subject: `to.${c.id}`, ...more });

async function stocked(c, n, config, data) {
  await c.create();
  await fill(c, n, ["a"], data);
  await add(c, to(c, config));
}

// --- interest ------------------------------------------------------------------------------------

check("messages wait for the first subscription, and come as they were stored", async (c) => {
  await stocked(c, 3);
  assert.deepEqual(await place(c), { delivered: "0/0", floor: "0/0", unacked: 0, again: 0, pending: 3 });
  assert.equal((await look(c)).push_bound, undefined);
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  const got = await inbox.messages(3);
  assert.deepEqual(got.map((m) => [m.subject, m.data, m.seq, m.cseq, m.count, m.pending]), [1, 2, 3].map((i) => [c.subject("a"), `m${i}`, i, i, 1, 3 - i]));
  await bound(c, true);
  await fill(c, 1);
  assert.deepEqual(await inbox.seqs(1), [4]);
});

check("when the subscription goes nothing is delivered, when one comes it goes on", async (c) => {
  await stocked(c, 2);
  const one = new Inbox(c, { subject: `to.${c.id}` });
  for (const m of await one.messages(2)) await settle(c, m);
  one.stop();
  await bound(c, false);
  await fill(c, 3);
  assert.equal((await place(c)).pending, 3);
  const two = new Inbox(c, { subject: `to.${c.id}` });
  assert.deepEqual(await two.seqs(3), [3, 4, 5]);
  assert.equal(one.unread.length, 0);
});

check("a connection that closes takes its interest along; what it had not acked comes again", async (c) => {
  await stocked(c, 2, { ack_wait: 3000 * MS });
  const nc = await c.t.connect(c.s);
  const lost = new Inbox(c, { subject: `to.${c.id}`, nc });
  await settle(c, (await lost.messages(2))[0]);
  await nc.close();
  await bound(c, false);
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  const [m] = await inbox.messages(1);
  assert.deepEqual([m.seq, m.count], [2, 2]);
});

check("a spy on a pattern is no subscriber: when the last one goes nothing is delivered, and nothing is lost", async (c) => {
  const subject = `to.${c.id}.x`;
  await stocked(c, 1, { ack_policy: "none", deliver_subject: subject });
  const spy = new Inbox(c, { subject: `to.${c.id}.*` });
  await c.nc.flush(); // the other connection must not be faster
  const nc = await c.t.connect(c.s);
  const first = new Inbox(c, { subject, nc });
  assert.deepEqual(await first.seqs(1), [1]);
  await nc.close();
  await bound(c, false);
  await fill(c, 2);
  await placed(c, { delivered: "1/1", pending: 2 });
  const next = new Inbox(c, { subject });
  assert.deepEqual(await next.seqs(2), [2, 3]);
  next.stop(); // and this time nobody asks for the info before the next one comes
  await c.nc.flush();
  await fill(c, 1);
  await placed(c, { delivered: "3/3", pending: 1 });
  assert.deepEqual([await spy.seqs(3), spy.unread], [[1, 2, 3], []]);
});

check("a spy next to a deliver group does not keep it busy either", async (c) => {
  await stocked(c, 1, { deliver_group: "q", ack_policy: "none" });
  const others = [new Inbox(c, { subject: `to.${c.id}` }), new Inbox(c, { subject: `to.${c.id}`, queue: "other" })];
  const member = new Inbox(c, { subject: `to.${c.id}`, queue: "q" });
  assert.deepEqual(await member.seqs(1), [1]);
  member.stop();
  await c.nc.flush();
  await fill(c, 1);
  await placed(c, { delivered: "1/1", pending: 1 });
  for (const o of others) assert.ok(o.all.length <= 1);
  assert.deepEqual(await new Inbox(c, { subject: `to.${c.id}`, queue: "q" }).seqs(1), [2]);
});

check("two subscriptions get a copy each", async (c) => {
  await stocked(c, 0);
  const both = [1, 2].map(() => new Inbox(c, { subject: `to.${c.id}` }));
  await c.nc.flush();
  await fill(c, 2);
  for (const inbox of both) assert.deepEqual(await inbox.seqs(2), [1, 2]);
  assert.equal((await place(c)).delivered, "2/2");
});

check("a deliver subject that is taken, or would come back", async (c) => {
  await stocked(c, 0);
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  await bound(c, true);
  assert.deepEqual((await tryAdd(c, { deliver_subject: `other.${c.id}` })).error, { code: 400, err_code: 10013, description: "consumer name already in use" });
  inbox.stop();
  await bound(c, false);
  assert.equal((await tryAdd(c, { deliver_subject: `other.${c.id}` })).error, undefined);
  assert.deepEqual((await tryAdd(c, { name: "D", deliver_subject: c.subject("x") })).error, { code: 400, err_code: 10081, description: "consumer deliver subject forms a cycle" });
  await fill(c, 1);
  assert.deepEqual(await new Inbox(c, { subject: `other.${c.id}` }).seqs(1), [1]);
});

// --- groups --------------------------------------------------------------------------------------

check("a deliver group shares the messages, each to one member", async (c) => {
  await stocked(c, 0, { deliver_group: "crew" });
  const crew = [1, 2, 3].map(() => new Inbox(c, { subject: `to.${c.id}`, queue: "crew" }));
  await bound(c, true);
  await fill(c, 90);
  await until("all messages", () => crew.reduce((n, i) => n + i.all.length, 0) >= 90);
  const seqs = crew.flatMap((i) => i.all.map((m) => m.seq)).sort((a, b) => a - b);
  assert.deepEqual(seqs, Array.from({ length: 90 }, (_, i) => i + 1));
  assert.ok(crew.every((i) => i.all.length > 5), `${crew.map((i) => i.all.length)}`);
});

check("only the group's own members are interest", async (c) => {
  await stocked(c, 1, { deliver_group: "crew" });
  const plain = new Inbox(c, { subject: `to.${c.id}` });
  const other = new Inbox(c, { subject: `to.${c.id}`, queue: "others" });
  await c.nc.flush();
  assert.equal((await look(c)).push_bound, undefined);
  assert.equal((await place(c)).pending, 1);
  const member = new Inbox(c, { subject: `to.${c.id}`, queue: "crew" });
  assert.deepEqual(await member.seqs(1), [1]);
  assert.deepEqual(await plain.seqs(1), [1]); // it hears what passes
  assert.deepEqual(other.unread.filter((m) => m.seq !== 1), []);
});

check("a member that leaves is not missed, the last one is", async (c) => {
  await stocked(c, 0, { deliver_group: "crew" });
  const one = new Inbox(c, { subject: `to.${c.id}`, queue: "crew" });
  const two = new Inbox(c, { subject: `to.${c.id}`, queue: "crew" });
  await bound(c, true);
  one.stop();
  await c.nc.flush();
  await fill(c, 20);
  await until("the rest", () => one.all.length + two.all.length === 20);
  two.stop();
  await bound(c, false);
});

// --- heartbeats and flow control -----------------------------------------------------------------

check("heartbeats: to the deliver subject while nothing comes, with the last sequences", async (c) => {
  await stocked(c, 2, { idle_heartbeat: 150 * MS });
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  await inbox.messages(2);
  for (let i = 0; i < 3; i++) {
    const m = await inbox.status("100 Idle Heartbeat");
    assert.deepEqual([m.subject, m.data, m.headers.get("Nats-Last-Consumer"), m.headers.get("Nats-Last-Stream"), m.headers.get("Nats-Consumer-Stalled")],
      [`to.${c.id}`, "", "2", "2", ""]);
    assert.ok(!m.reply, m.reply);
  }
  await fill(c, 1);
  assert.equal((await inbox.beyond()).seq, 3);
  assert.equal((await inbox.status("100 Idle Heartbeat")).headers.get("Nats-Last-Consumer"), "3");
});

check("heartbeat block, byte by byte", async (c) => {
  await stocked(c, 0, { idle_heartbeat: 100 * MS });
  const raw = await c.t.raw(c.s);
  await raw.connect({ headers: true, protocol: 0 });
  raw.send(`SUB to.${c.id} 5`);
  const block = "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 0\r\nNats-Last-Stream: 0\r\n\r\n";
  const m = await raw.expect(/^HMSG (\S+) 5 (\d+) (\d+)\r\n([^]*?\r\n\r\n)\r\n/);
  assert.deepEqual(m.slice(1), [`to.${c.id}`, String(block.length), String(block.length), block]);
  raw.close();
});

check("flow control: asks at half the window, stops at the whole, goes on when answered", async (c) => {
  await stocked(c, 100, { ack_policy: "none", flow_control: true, idle_heartbeat: 500 * MS }, () => "x".repeat(65536));
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  const counts = [];
  let n = 0;
  const ask = async () => {
    for (;;) {
      const m = await inbox.next();
      if (m.status === undefined) n++;
      else if (m.status === "100 FlowControl Request") return m;
      else assert.equal(m.status, "100 Idle Heartbeat");
    }
  };
  const first = await ask();
  counts.push(n);
  assert.match(first.reply, new RegExp(`^\\$JS\\.FC\\.${c.id}\\.C\\.\\w{4}$`));
  assert.deepEqual([first.subject, first.data], [`to.${c.id}`, ""]);
  // The window is full: heartbeats say so, and name the answer that is due.
  let beat;
  for (;;) {
    const m = await inbox.next();
    if (m.status === undefined) n++;
    else if ((beat = m).status === "100 Idle Heartbeat") break;
  }
  counts.push(n);
  assert.deepEqual(counts, [16, 32]);
  assert.equal(beat.headers.get("Nats-Consumer-Stalled"), first.reply);
  c.nc.publish(first.reply);
  while (n < 100) {
    const m = await inbox.next();
    if (m.status === undefined) n++;
    else if (m.status === "100 FlowControl Request") c.nc.publish(m.reply);
    else if (m.headers.get("Nats-Consumer-Stalled")) c.nc.publish(m.headers.get("Nats-Consumer-Stalled"));
  }
  assert.deepEqual(inbox.all.filter((m) => m.seq).map((m) => m.seq), Array.from({ length: 100 }, (_, i) => i + 1));
});

check("flow control: a stranger's answers change nothing; when another subscriber comes it goes on without a gap", { only: "mayfly" }, async (c) => {
  await stocked(c, 60, { ack_policy: "none", flow_control: true, idle_heartbeat: 60 * SECOND }, () => "x".repeat(100_000));
  const first = new Inbox(c, { subject: `to.${c.id}` });
  const asked = await until("the question", () => first.all.find((m) => m.status === "100 FlowControl Request"));
  let before;
  await until("the stall", async () => before === (before = (await look(c)).num_pending) && first.all.at(-1).pending === before);
  const n = first.all.length;
  for (const s of [asked.reply.replace(/....$/, "zzzz"), `$JS.FC.${c.id}.C`, `${asked.reply}.x`, asked.reply.replace(".C.", ".D.")]) c.nc.publish(s);
  await c.nc.flush();
  assert.deepEqual([(await look(c)).num_pending, first.all.length], [before, n]);
  first.stop();
  await bound(c, false);
  const next = new Inbox(c, { subject: `to.${c.id}` });
  assert.equal((await next.messages(1))[0].seq, 60 - before + 1);
});

check("flow control wants heartbeats, and neither is for pull consumers", async (c) => {
  await c.create();
  const refused = async (config, err_code, description) =>
    assert.deepEqual((await tryAdd(c, config)).error, { code: 400, err_code, description });
  await refused(to(c, { flow_control: true }), 10108, "consumer with flow control also needs heartbeats");
  await refused(to(c, { idle_heartbeat: 99 * MS }), 10083, "consumer idle heartbeat needs to be >= 100ms");
  await refused({ idle_heartbeat: 100 * MS }, 10088, "consumer idle heartbeat requires a push based consumer");
  await refused({ flow_control: true }, 10089, "consumer flow control requires a push based consumer");
  await refused({ rate_limit_bps: 1000 }, 10086, "consumer in pull mode can not have rate limit set");
  await refused(to(c, { max_waiting: 5 }), 10080, "consumer in push mode can not set max waiting");
});

// --- what is sent, and how fast ------------------------------------------------------------------

check("headers_only: no data, the size in a header that comes last", async (c) => {
  await c.create();
  await c.pub("a", "12345");
  await c.pub("a", "", { H: "v" });
  await c.pub("a", "123", { H: "v" });
  await add(c, to(c, { headers_only: true }));
  const raw = await c.t.raw(c.s);
  await raw.connect({ headers: true, protocol: 0 });
  raw.send(`SUB to.${c.id} 5`);
  const blocks = [];
  for (let i = 0; i < 3; i++) {
    const m = await raw.expect(/^HMSG \S+ 5 \S+ (\d+) (\d+)\r\n([^]*?\r\n\r\n)\r\n/);
    assert.deepEqual([Number(m[1]), Number(m[2])], [m[3].length, m[3].length]);
    blocks.push(m[3]);
  }
  assert.deepEqual(blocks, ["NATS/1.0\r\nNats-Msg-Size: 5\r\n\r\n", "NATS/1.0\r\nH: v\r\nNats-Msg-Size: 0\r\n\r\n", "NATS/1.0\r\nH: v\r\nNats-Msg-Size: 3\r\n\r\n"]);
  raw.close();
});

check("replay original keeps the gaps between messages", async (c) => {
  await c.create();
  const start = Date.now();
  await c.pub("a", "1");
  await until("a gap", () => Date.now() - start > 600);
  await c.pub("a", "2");
  const times = await Promise.all([1, 2].map(async (seq) => Date.parse((await c.get(seq)).time)));
  const gap = times[1] - times[0];
  await add(c, { name: "O", ack_policy: "none", deliver_subject: `slow.${c.id}`, replay_policy: "original" });
  const from = Date.now();
  const got = await new Inbox(c, { subject: `slow.${c.id}` }).messages(2);
  assert.ok(got[1].at - from >= gap - 50, `${got[1].at - from} ms for a gap of ${gap}`);
});

check("replay original: what was deleted meanwhile is left out, what is new comes at once", { only: "mayfly" }, async (c) => {
  await c.create();
  for (const i of [1, 2, 3, 4]) {
    const start = Date.now();
    await c.pub("a", String(i));
    if (i < 4) await until("a gap", () => Date.now() - start > 400);
  }
  await add(c, to(c, { ack_policy: "none", replay_policy: "original" }));
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  await inbox.seqs(2);
  await c.remove(3);
  const [four] = await inbox.messages(1);
  assert.equal(four.seq, 4);
  const sent = Date.now();
  await c.pub("a", "5");
  const [five] = await inbox.messages(1);
  assert.deepEqual([five.seq, five.at - sent < 5000], [5, true]);
});

check("rate limit: no faster than asked, and all in the end", async (c) => {
  await c.create({ max_msg_size: 2000 });
  await fill(c, 20, ["a"], () => "x".repeat(1000));
  // About 8.5 kbit each and room for the largest at once: 20 of them at 128 kbit/s need more than a second.
  await add(c, to(c, { ack_policy: "none", rate_limit_bps: 128000 }));
  const from = Date.now();
  const got = await new Inbox(c, { subject: `to.${c.id}` }).messages(20);
  assert.deepEqual(got.map((m) => m.seq), Array.from({ length: 20 }, (_, i) => i + 1));
  assert.ok(got[19].at - from > 900, `${got[19].at - from} ms`);
});

check("rate limit: what the largest message may take goes out at once, and again after a rest", async (c) => {
  await c.create({ max_msg_size: 20000 });
  await fill(c, 60, ["a"], () => "x".repeat(1000));
  await add(c, to(c, { ack_policy: "none", rate_limit_bps: 8000 })); // a message in a second
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  await inbox.seqs(18);
  const from = inbox.all[0].at;
  assert.ok(inbox.all[17].at - from < 5000, `${inbox.all[17].at - from} ms`);
  await until("a second", () => Date.now() - from > 1000);
  assert.ok(inbox.all.length < 40, `${inbox.all.length} in ${Date.now() - from} ms`);
});

check("rate limit: without a largest message the server's stands for it", async (c) => {
  await c.create();
  await fill(c, 15, ["a"], () => "x".repeat(100_000));
  await add(c, to(c, { ack_policy: "none", rate_limit_bps: 8000 }));
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  await inbox.seqs(10); // 1 MiB of them
  assert.ok((await look(c)).num_pending >= 3);
});

check("max_ack_pending stops delivery until acks come", async (c) => {
  await stocked(c, 5, { max_ack_pending: 2 });
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  const [one, two] = await inbox.messages(2);
  await placed(c, { delivered: "2/2", unacked: 2, pending: 3 });
  await settle(c, two);
  assert.deepEqual(await inbox.seqs(1), [3]);
  await settle(c, one);
  assert.deepEqual(await inbox.seqs(1), [4]);
  assert.deepEqual(inbox.unread, []);
});

check("an ephemeral push consumer goes when its subscription has been gone for its threshold", async (c) => {
  await c.create();
  await add(c, { name: "E", ack_policy: "none", deliver_subject: `to.${c.id}`, inactive_threshold: 2000 * MS });
  const inbox = new Inbox(c, { subject: `to.${c.id}` });
  await bound(c, true, "E");
  const start = Date.now();
  inbox.stop();
  await until("its end", async () => (await look(c, "E")).error?.err_code === 10014);
  assert.ok(Date.now() - start >= 499, `after ${Date.now() - start} ms`);
});

check("a subscriber that stops reading does not hold up another consumer", async (c) => {
  await c.create();
  await add(c, { name: "SLOW", ack_policy: "none", deliver_subject: `slow.${c.id}` });
  await add(c, { name: "FAST", ack_policy: "none", deliver_subject: `fast.${c.id}` });
  const raw = await c.t.raw(c.s);
  await raw.connect({ headers: true, protocol: 0 });
  raw.send(`SUB slow.${c.id} 1`);
  await raw.ping();
  raw.socket.pause();
  const fast = new Inbox(c, { subject: `fast.${c.id}` });
  await fill(c, 100, ["a"], () => "x".repeat(100000));
  assert.equal((await fast.seqs(100)).at(-1), 100);
  raw.close();
});

for (const how of ["push", "pull"])
  scenario(`${how}: a client that stops reading is closed; the next one gets the rest, and what was not acked comes again`, async (t) => {
    const { s, stream } = await ownServer(t, { config: 'max_pending: 4MB\nwrite_deadline: "2s"\n' });
    const c = stream("S");
    await c.create();
    const N = 400;
    for (let i = 0; i < N; i += 20) await fill(c, 20, ["a"], () => "x".repeat(100_000));
    const config = { ...(how === "push" && { deliver_subject: "to" }), ack_wait: 3 * SECOND, max_ack_pending: -1 };
    await add(c, config);
    const raw = await t.raw(s);
    raw.send('CONNECT {"verbose":false,"headers":true}');
    raw.socket.pause();
    raw.send("SUB to 1");
    if (how === "pull") raw.send("PUB $JS.API.CONSUMER.MSG.NEXT.S.C to 6", "100000");
    const left = await until("the end of the reader", async () => {
      const i = await look(c);
      return i.num_ack_pending > 0 && !i.push_bound && !i.num_waiting && i;
    });
    assert.equal(left.num_ack_pending + left.num_pending, N);
    assert.ok(left.num_pending > 0, "it took all");
    await add(c, { ...config, headers_only: true }); // or the next one would be the slow one
    const next = new Inbox(c, { subject: "to" });
    if (how === "pull") c.nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", "100000", { reply: "to" });
    for (let seen = new Set(); seen.size < N; ) {
      const m = await next.next();
      seen.add(m.seq);
      c.nc.publish(m.reply);
    }
    await placed(c, { floor: (await place(c)).delivered, unacked: 0, pending: 0 });
    raw.close();
  });

// --- as nats.js does it --------------------------------------------------------------------------

check("nats.js: a push consumer by name, acked", async (c) => {
  await stocked(c, 50, { idle_heartbeat: SECOND });
  const consumer = await c.js.consumers.getPushConsumer(c.id, "C");
  const got = [];
  for await (const m of await consumer.consume()) {
    got.push(m.seq);
    await m.ackAck({ timeout: LIMIT_MS });
    if (got.length === 50) break;
  }
  assert.deepEqual(got, Array.from({ length: 50 }, (_, i) => i + 1));
  await placed(c, { floor: "50/50", unacked: 0 });
});

check("nats.js ordered push consumers: everything, a filter, headers only, from a sequence", async (c) => {
  await c.create();
  await fill(c, 300, ["a", "b", "c"]);
  const take = async (options, n) => {
    const consumer = await c.js.consumers.getPushConsumer(c.id, options);
    const got = [];
    for await (const m of await consumer.consume()) {
      got.push(options.headers_only ? `${m.seq} ${m.data.length} ${m.headers.get("Nats-Msg-Size")}` : m.seq);
      if (got.length === n) break;
    }
    return got;
  };
  assert.deepEqual(await take({ deliver_policy: "all" }, 300), Array.from({ length: 300 }, (_, i) => i + 1));
  assert.deepEqual(await take({ filter_subjects: c.subject("c") }, 100), Array.from({ length: 100 }, (_, i) => 3 * i + 3));
  assert.deepEqual(await take({ headers_only: true, deliver_policy: "last" }, 1), ["300 0 4"]);
  assert.deepEqual(await take({ deliver_policy: "by_start_sequence", opt_start_seq: 298 }, 3), [298, 299, 300]);
});

check("nats.js ordered push consumer: a large replay with flow control, in order", async (c) => {
  await c.create();
  await fill(c, 600, ["a"], () => "x".repeat(20000));
  const consumer = await c.js.consumers.getPushConsumer(c.id);
  let n = 0;
  for await (const m of await consumer.consume()) {
    assert.equal(m.seq, ++n);
    if (n === 600) break;
  }
});

check("nats.js ordered push consumer: another one in its place has the wrong sequence; it starts anew without a gap", async (c) => {
  await c.create();
  await fill(c, 20);
  const consumer = await c.js.consumers.getPushConsumer(c.id, { name_prefix: "ord" });
  const messages = await consumer.consume();
  const seqs = [];
  const done = (async () => {
    for await (const m of messages) if (seqs.push(m.seq) === 40) return;
  })();
  await until("half", () => seqs.length === 20);
  const { name, config } = await consumer.info();
  assert.equal((await c.api(`CONSUMER.DELETE.${c.id}.${name}`)).success, true);
  await add(c, { name: "IMPOSTOR", ack_policy: "none", deliver_subject: config.deliver_subject, deliver_policy: "last" });
  await until("a new one", async () => (await consumer.info().catch(() => ({ name }))).name !== name);
  await fill(c, 20);
  await done;
  assert.deepEqual(seqs, Array.from({ length: 40 }, (_, i) => i + 1));
});
