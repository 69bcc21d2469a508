// jetstream.mjs: one side's streams, consumers, buckets and objects, used by stock clients of the other side through its domain.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, becomes, jetstreamOf, linked, nobody, scenario } from "./lib/setup.mjs";

// [whose client, whose JetStream, its domain, the way of its answers]
const views = [["hub", "leaf", "lf", "up"], ["leaf", "hub", "hub", "down"]];
const of = (w, side) => (side === "leaf" ? w.leafNc : w.hubNc);

for (const [side, owner, domain, out] of views) {
  const name = (what) => `the ${side}'s client and the ${owner}'s ${what}`;

  scenario(name("stream: made, published to, read, removed"), { quick: true }, async (t) => {
    const w = await t.link();
    const { js, jsm } = await jetstreamOf(of(w, side), domain);
    assert.equal((await jsm.getAccountInfo()).domain, domain);
    await jsm.streams.add({ name: "L", subjects: ["l.>"], allow_direct: true });
    const ack = await js.publish("l.1", "one", { msgID: "m1" });
    assert.deepEqual([ack.stream, ack.domain, ack.seq, ack.duplicate], ["L", domain, 1, false]);
    assert.equal((await js.publish("l.1", "one", { msgID: "m1" })).duplicate, true);
    await js.publish("l.2", "two");
    assert.equal((await jsm.streams.info("L")).state.messages, 2);
    assert.equal((await jsm.streams.getMessage("L", { seq: 2 })).string(), "two");
    assert.equal((await jsm.direct.getMessage("L", { last_by_subj: "l.1" })).string(), "one");
    assert.equal((await jsm.direct.getMessage("L", { seq: 2 })).subject, "l.2");
    const names = [];
    for await (const s of jsm.streams.list()) names.push(s.config.name);
    assert.deepEqual(names, ["L"]);
    // The other side's own JetStream knows nothing of it.
    assert.equal((await ask(of(w, side), "$JS.API.STREAM.INFO.L")).error.err_code, 10059);
    assert.equal(await jsm.streams.delete("L"), true);
    await nobody(of(w, side), "l.1", "x");
  });

  scenario(name("pull consumer: messages with their subjects, acks, an expiry"), { quick: true }, async (t) => {
    const w = await t.link();
    const { js, jsm } = await jetstreamOf(of(w, side), domain);
    await jsm.streams.add({ name: "L", subjects: ["l.>"] });
    await jsm.consumers.add("L", { durable_name: "D", ack_policy: "explicit", ack_wait: 60e9 });
    for (let i = 1; i <= 3; i++) await js.publish(`l.${i}`, `m${i}`);
    const c = await js.consumers.get("L", "D");
    const got = [];
    const batch = await c.fetch({ max_messages: 2, expires: 60000 });
    for await (const m of batch) {
      got.push([m.subject, m.string(), m.seq, m.info.pending, m.info.domain || undefined]);
      assert.equal(await m.ackAck({ timeout: 60000 }), true);
    }
    assert.deepEqual(got.map((g) => g.slice(0, 4)), [["l.1", "m1", 1, 2], ["l.2", "m2", 2, 1]]);
    assert.equal((await c.info()).ack_floor.stream_seq, 2);
    assert.equal((await c.next({ expires: 60000 })).string(), "m3");
    // Nothing is left: the request ends with 408.
    const inbox = collect(of(w, side), "my.inbox");
    await w.proxy.seen(out === "up" ? "down" : "up", /^LS\+ my\.inbox$/);
    of(w, side).publish(`$JS.${domain}.API.CONSUMER.MSG.NEXT.L.D`, JSON.stringify({ batch: 1, expires: 1e9 }), { reply: "my.inbox" });
    await until("the expiry", () => inbox.length > 0);
    assert.equal(inbox[0].headers.code, 408);
    const lines = w.proxy.lines(out, /^LMSG \S+ \$JS\.ACK\.L\.D\./);
    assert.match(lines[0], /^LMSG \S+ \$JS\.ACK\.L\.D\.1\.1\.1\.\d+\.2@l\.1 2$/);
    assert.equal(lines.length, 3);
  });

  scenario(name("pull requests that wait: a message published later is delivered at once"), { quick: true }, async (t) => {
    const w = await t.link();
    const { js, jsm } = await jetstreamOf(of(w, side), domain);
    await jsm.streams.add({ name: "L", subjects: ["l.>"] });
    await jsm.consumers.add("L", { durable_name: "D", ack_policy: "explicit" });
    const c = await js.consumers.get("L", "D");
    const waiting = c.next({ expires: 120000 });
    await until("the request to wait", async () => (await c.info()).num_waiting === 1);
    await (await jetstreamOf(of(w, owner))).js.publish("l.x", "late");
    const m = await waiting;
    assert.deepEqual([m.subject, m.string()], ["l.x", "late"]);
    m.ack();
    await until("its ack", async () => (await c.info()).num_ack_pending === 0);
    // A consumer that consumes on.
    const messages = await c.consume({ max_messages: 100 });
    const got = [];
    const done = (async () => {
      for await (const x of messages) {
        got.push(Number(x.string()));
        x.ack();
        if (got.length === 500) break;
      }
    })();
    for (let i = 0; i < 500; i++) of(w, owner).publish("l.n", `${i}`);
    await done;
    assert.deepEqual(got, Array.from({ length: 500 }, (_, i) => i));
  });

  scenario(name("push consumer: begins with its subscriber, stops with it, goes on"), { quick: true }, async (t) => {
    const w = await t.link();
    const { js, jsm } = await jetstreamOf(of(w, side), domain);
    await jsm.streams.add({ name: "L", subjects: ["l.>"] });
    for (let i = 1; i <= 3; i++) await js.publish(`l.${i}`, `m${i}`);
    await jsm.consumers.add("L", { durable_name: "P", ack_policy: "explicit", deliver_subject: "to.me" });
    assert.equal((await jsm.consumers.info("L", "P")).push_bound ?? false, false);
    let got = collect(of(w, side), "to.me");
    await until("three", () => got.length === 3);
    assert.deepEqual(got.map((m) => m.subject), ["l.1", "l.2", "l.3"], "clients see stored subjects");
    assert.equal((await jsm.consumers.info("L", "P")).push_bound, true);
    for (const m of got) m.respond("+ACK");
    await until("the acks", async () => (await jsm.consumers.info("L", "P")).ack_floor.stream_seq === 3);
    got.sub.unsubscribe();
    await until("unbound", async () => !(await jsm.consumers.info("L", "P")).push_bound);
    await js.publish("l.4", "m4");
    got = collect(of(w, side), "to.me");
    await until("the fourth", () => got.length === 1);
    assert.equal(got[0].string(), "m4");
    assert.match(w.proxy.lines(out, /^LMSG to\.me \$JS\.ACK\./)[0], /^LMSG to\.me \$JS\.ACK\.L\.P\.1\.1\.1\.\d+\.2@l\.1 2$/);
  });

  scenario(name("ordered consumer and flow control: two thousand messages in order"), { quick: true }, async (t) => {
    const w = await t.link();
    const { js, jsm } = await jetstreamOf(of(w, side), domain);
    await jsm.streams.add({ name: "L", subjects: ["l.>"] });
    const pad = "x".repeat(2000);
    for (let i = 0; i < 2000; i++) of(w, owner).publish("l.n", `${i} ${pad}`);
    await until("all stored", async () => (await jsm.streams.info("L")).state.messages === 2000);
    const c = await js.consumers.get("L");
    const got = [];
    const messages = await c.consume();
    for await (const m of messages) {
      got.push(parseInt(m.string(), 10));
      if (got.length === 2000) break;
    }
    assert.deepEqual(got, Array.from({ length: 2000 }, (_, i) => i));
    // A push consumer with flow control, whose client answers it.
    const inbox = [];
    let asked = 0;
    of(w, side).subscribe("push.fc", {
      callback: (_, m) => {
        if (m.headers?.code === 100) {
          if (m.reply) asked++, m.respond();
          return;
        }
        inbox.push(parseInt(m.string(), 10));
      },
    });
    await jsm.consumers.add("L", { durable_name: "F", ack_policy: "none", deliver_subject: "push.fc", flow_control: true, idle_heartbeat: 1e9 });
    await until("all delivered", () => inbox.length === 2000);
    assert.deepEqual(inbox, got);
    assert.ok(asked > 0, "flow control was asked for");
  });

  scenario(name("bucket: put, get, update, watch, history, purge, delete"), { quick: true }, async (t) => {
    const w = await t.link();
    const { kvm } = await jetstreamOf(of(w, side), domain);
    const kv = await kvm.create("b", { history: 5 });
    const seen = [];
    const watch = await kv.watch();
    (async () => {
      for await (const e of watch) seen.push([e.key, e.operation, e.string()]);
    })().catch(() => {});
    assert.equal(await kv.put("k1", "v1"), 1);
    const e = await kv.get("k1");
    assert.deepEqual([e.string(), e.revision], ["v1", 1]);
    assert.equal(await kv.update("k1", "v2", 1), 2);
    await assert.rejects(kv.update("k1", "v3", 1), /wrong last sequence/i);
    await assert.rejects(kv.create("k1", "v3"));
    const history = [];
    for await (const h of await kv.history({ key: "k1" })) history.push(h.string());
    assert.deepEqual(history, ["v1", "v2"]);
    await kv.put("k2", "w");
    const keys = [];
    for await (const k of await kv.keys()) keys.push(k);
    assert.deepEqual(keys.sort(), ["k1", "k2"]);
    await kv.delete("k1");
    await kv.purge("k2");
    await becomes("the watcher", () => seen, [["k1", "PUT", "v1"], ["k1", "PUT", "v2"], ["k2", "PUT", "w"], ["k1", "DEL", ""], ["k2", "PURGE", ""]]);
    assert.equal((await kv.get("k1")).operation, "DEL");
    // Without the domain: the key of the other side is not reached.
    assert.equal(await ask(of(w, side), "$KV.b.k1", "x"), "503");
    watch.stop();
    assert.equal(await kv.destroy(), true);
  });

  // nats.js publishes chunks to $O without the domain: they cross as ordinary subjects.
  scenario(name("object store: an object of 600 KB"), { quick: true }, async (t) => {
    const w = await t.link();
    const { objm } = await jetstreamOf(of(w, side), domain);
    const store = await objm.create("o");
    const bytes = Buffer.alloc(600000, "mayfly ");
    await store.putBlob({ name: "big" }, bytes);
    assert.deepEqual(Buffer.from(await store.getBlob("big")), bytes);
    assert.equal((await store.info("big")).size, 600000);
    await store.delete("big");
    assert.equal((await store.list()).length, 0);
  });
}

scenario("the same stream name on both sides: each client has its own, and the other's by domain", { quick: true }, async (t) => {
  const w = await t.link();
  for (const [side, owner, domain] of views) {
    const own = await jetstreamOf(of(w, owner));
    await own.jsm.streams.add({ name: "S", subjects: [`${owner}.s`] });
    await own.js.publish(`${owner}.s`, owner);
    const there = await jetstreamOf(of(w, side), domain);
    assert.equal((await there.jsm.streams.getMessage("S", { seq: 1 })).string(), owner);
  }
  await linked(w.leafNc, w.hubNc);
  for (const [side, , domain] of views) assert.equal((await (await jetstreamOf(of(w, side), domain)).jsm.streams.info("S")).state.messages, 1);
});

scenario("a stream and a bucket of the cluster, three replicas, used from the leaf", { cluster: true }, async (t) => {
  const w = await t.link({ cluster: true });
  const { js, jsm, kvm } = await jetstreamOf(w.leafNc, "hub");
  await jsm.streams.add({ name: "R", subjects: ["r.>"], num_replicas: 3 });
  await jsm.consumers.add("R", { durable_name: "D", ack_policy: "explicit" });
  for (let i = 1; i <= 20; i++) assert.deepEqual((await js.publish("r.x", `${i}`)).domain, "hub");
  const c = await js.consumers.get("R", "D");
  let n = 0;
  for await (const m of await c.fetch({ max_messages: 20, expires: 60000 })) {
    assert.equal(m.string(), `${++n}`);
    assert.equal(await m.ackAck({ timeout: 60000 }), true);
  }
  assert.equal(n, 20);
  const kv = await kvm.create("rb", { replicas: 3 });
  await kv.put("k", "v");
  assert.equal((await kv.get("k")).string(), "v");
});

scenario("a client of another member of the cluster uses the leaf's streams and buckets", { cluster: true }, async (t) => {
  const w = await t.link({ cluster: true });
  const { js, jsm, kvm } = await jetstreamOf(w.hubNc, "lf");
  await jsm.streams.add({ name: "L", subjects: ["l.>"] });
  await jsm.consumers.add("L", { durable_name: "D", ack_policy: "explicit" });
  for (let i = 1; i <= 20; i++) assert.deepEqual((await js.publish("l.x", `${i}`)).domain, "lf");
  const c = await js.consumers.get("L", "D");
  let n = 0;
  for await (const m of await c.fetch({ max_messages: 20, expires: 60000 })) {
    assert.deepEqual([m.string(), m.subject], [`${++n}`, "l.x"]);
    assert.equal(await m.ackAck({ timeout: 60000 }), true);
  }
  assert.equal(n, 20);
  const kv = await kvm.create("lb");
  await kv.put("k", "v");
  assert.equal((await kv.get("k")).string(), "v");
});
