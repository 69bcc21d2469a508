// copies.mjs: mirrors and sources across the link, both ways.
import assert from "node:assert/strict";
import { headers } from "../interop/lib/clients.mjs";
import { until } from "../interop/lib/wait.mjs";
import { scenario } from "./lib/setup.mjs";
import { equalMirror, externalOf, mirrorOn, numbered, originInfo, own, publishAll, reaches, read, SIDES, sourceOn, stateOf, texts } from "./lib/copies.mjs";

// The copy is on `side`; its origin on the other.
for (const side of ["hub", "leaf"]) {
  const { other } = SIDES[side];
  const out = other === "leaf" ? "up" : "down";
  const name = (what) => `${what} on the ${side}`;

  scenario(name("mirror: what was there and what comes, sequences, subjects, headers, times"), { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"] });
    await publishAll(from.js, "l.0", ["m0", "m1"]);
    const h = headers();
    h.set("K", "V");
    await from.js.publish("l.h", "m2", { headers: h });
    await from.jsm.streams.deleteMessage("L", 1);
    await to.jsm.streams.add({ name: "ML", ...mirrorOn(side, "L") });
    await reaches(to.jsm, "ML", { messages: 2, last_seq: 3 });
    await from.js.publish("l.live", "m3");
    await reaches(to.jsm, "ML", { messages: 3, last_seq: 4 });
    await equalMirror([from.jsm, "L"], [to.jsm, "ML"]);
    for (const seq of [2, 3, 4]) {
      const [a, b] = [await from.jsm.streams.getMessage("L", { seq }), await to.jsm.streams.getMessage("ML", { seq })];
      assert.equal(b.timestamp, a.timestamp);
      assert.equal(b.header?.get("K") ?? "", a.header?.get("K") ?? "");
    }
    await until("lag 0", async () => {
      const o = await originInfo(to.jsm, "ML");
      return o.lag === 0 && o.active >= 0 && o.active < 5e9;
    });
    const o = await originInfo(to.jsm, "ML");
    assert.deepEqual([o.name, o.external], ["L", externalOf(side)]);
    // The frames: a push to the mirror's own subject, with the stored subject behind the ack token.
    assert.match(w.proxy.lines(out, /^LMSG \$JS\.M\./)[0], /^LMSG \$JS\.M\.\w+ \$JS\.ACK\.L\.\S+\.1\.\d+\.1\.\d+\.\d+@l\.0 2$/);
    assert.match(w.proxy.lines(out, /^HMSG \$JS\.M\.\S+ \$JS\.ACK/)[0], /@l\.h \d+ \d+$/);
    // The origin counts no consumer of a mirror.
    assert.equal((await stateOf(from.jsm, "L")).consumer_count, 0);
  });

  scenario(name("mirror: interest in its deliveries follows the answer, and both ends withdraw what they no longer need"), { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    const back = out === "up" ? "down" : "up";
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"] });
    await from.js.publish("l.0", "m0");
    await to.jsm.streams.add({ name: "ML", ...mirrorOn(side, "L") });
    await reaches(to.jsm, "ML", { messages: 1 });
    const frames = w.proxy.links[0];
    const at = (way, re) => frames[way].list.findIndex((f) => re.test(f.line));
    assert.ok(at(back, /^LS\+ \$JSC\.R\./) >= 0 && at(back, /^LS\+ \$JSC\.R\./) < at(back, /^HMSG \$JS\.(lf|hub)\.API\.CONSUMER\.CREATE\.L \$JSC\.R\./));
    assert.ok(at(back, /CONSUMER\.CREATE\.L /) < at(back, /^LS\+ \$JS\.M\./));
    assert.ok(at(out, /^LS\+ \$JS\.FC\.L\./) >= 0 && at(out, /^LS\+ \$JS\.FC\.L\./) < at(out, /^HMSG \$JSC\.R\./));
    assert.ok(at(out, /^HMSG \$JSC\.R\./) < at(out, /^LMSG \$JS\.M\./));
    await w.proxy.seen(back, /^LS- \$JSC\.R\./);
    await w.proxy.seen(out, /^HMSG \$JS\.M\.\w+ \d+ \d+$/, "an idle heartbeat");
    await to.jsm.streams.delete("ML");
    await w.proxy.seen(back, /^LS- \$JS\.M\./);
  });

  scenario(name("source with a filter and a deliver prefix, beside local messages"), { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"] });
    await publishAll(from.js, "l.1", numbered("a", 3));
    await publishAll(from.js, "l.9", numbered("b", 3));
    const external = { api: externalOf(side).api, deliver: "dp.x" };
    await to.jsm.streams.add({ name: "SL", subjects: ["own.>"], sources: [{ name: "L", filter_subject: "l.9", external }] });
    await reaches(to.jsm, "SL", { messages: 3 });
    await to.js.publish("own.1", "mine");
    await from.js.publish("l.9", "b3");
    await from.js.publish("l.1", "a3");
    await reaches(to.jsm, "SL", { messages: 5 });
    assert.deepEqual((await texts(to.jsm, "SL")).sort(), ["b0", "b1", "b2", "b3", "mine"]);
    assert.match((await to.jsm.streams.getMessage("SL", { seq: 1 })).header.get("Nats-Stream-Source"), /^L:\w{8} 4 l\.9 > l\.9/);
    assert.match(w.proxy.lines(out, /^LMSG dp\.x\.S\./)[0], /^LMSG dp\.x\.S\.\w+ \$JS\.ACK\.L\.\S+@l\.9 2$/);
  });

  scenario(name("mirror of a backlog of 400 messages of 8000 bytes: flow control, all of them"), { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"] });
    const pad = "x".repeat(8000);
    for (let i = 0; i < 400; i += 50) await publishAll(from.js, "l.0", numbered("", 50, i).map((x) => `${x} ${pad}`));
    await to.jsm.streams.add({ name: "ML", ...mirrorOn(side, "L") });
    await reaches(to.jsm, "ML", { messages: 400, last_seq: 400 });
    await equalMirror([from.jsm, "L"], [to.jsm, "ML"]);
    const back = out === "up" ? "down" : "up";
    assert.ok(w.proxy.lines(back, /^[LH]MSG \$JS\.FC\./).length >= 1, "flow control was answered");
  });

  scenario(name("work queue of the other side, sourced: the queue empties, the copy has all"), { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await from.jsm.streams.add({ name: "WQ", subjects: ["wq.>"], retention: "workqueue" });
    await publishAll(from.js, "wq.1", numbered("j", 3));
    await to.jsm.streams.add({ name: "ALL", ...sourceOn(side, "WQ") });
    await reaches(to.jsm, "ALL", { messages: 3 });
    await reaches(from.jsm, "WQ", { messages: 0 });
    await publishAll(from.js, "wq.1", numbered("k", 30));
    await reaches(to.jsm, "ALL", { messages: 33 });
    await reaches(from.jsm, "WQ", { messages: 0 });
    assert.deepEqual((await texts(to.jsm, "ALL")).sort(), [...numbered("j", 3), ...numbered("k", 30)].sort());
  });

  scenario(name("mirror made before its origin: an error in INFO, then the copy"), {}, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    await to.jsm.streams.add({ name: "ML", ...mirrorOn(side, "L") });
    await until("the error", async () => (await originInfo(to.jsm, "ML")).error?.err_code);
    await from.jsm.streams.add({ name: "L", subjects: ["l.>"] });
    await publishAll(from.js, "l.0", numbered("m", 5));
    await reaches(to.jsm, "ML", { messages: 5 });
    assert.equal((await originInfo(to.jsm, "ML")).error, undefined);
  });

  scenario(name("mirror of a bucket: read there under its own name, written through to the origin"), { quick: true }, async (t) => {
    const w = await t.link();
    const [from, to] = [await own(w, other), await own(w, side)];
    const kv = await from.kvm.create("b", { history: 3 });
    await kv.put("k", "v1");
    const { api } = externalOf(side);
    const copy = await to.kvm.create("c", { mirror: { name: "b", domain: api.split(".")[1] } });
    await until("the key", async () => (await copy.get("k"))?.string() === "v1");
    await copy.put("k", "v2");
    await until("the new value here", async () => (await copy.get("k"))?.string() === "v2");
    assert.equal((await kv.get("k")).string(), "v2");
    await kv.delete("k");
    await until("its end here", async () => (await copy.get("k"))?.operation === "DEL");
  });
}

scenario("mirrors both ways at once, each live", { quick: true }, async (t) => {
  const w = await t.link();
  const [h, l] = [await own(w, "hub"), await own(w, "leaf")];
  await h.jsm.streams.add({ name: "H", subjects: ["h.>"] });
  await l.jsm.streams.add({ name: "L", subjects: ["l.>"] });
  await h.jsm.streams.add({ name: "ML", ...mirrorOn("hub", "L") });
  await l.jsm.streams.add({ name: "MH", ...mirrorOn("leaf", "H") });
  await Promise.all([publishAll(h.js, "h.1", numbered("h", 300)), publishAll(l.js, "l.1", numbered("l", 300))]);
  await reaches(h.jsm, "ML", { messages: 300 });
  await reaches(l.jsm, "MH", { messages: 300 });
  await equalMirror([l.jsm, "L"], [h.jsm, "ML"]);
  await equalMirror([h.jsm, "H"], [l.jsm, "MH"]);
});

scenario("the cluster's mirror of a leaf's stream, three replicas, and the leaf's of the cluster's", { cluster: true }, async (t) => {
  const w = await t.link({ cluster: true });
  const [h, l] = [await own(w, "hub"), await own(w, "leaf")];
  await l.jsm.streams.add({ name: "L", subjects: ["l.>"] });
  await h.jsm.streams.add({ name: "H", subjects: ["h.>"], num_replicas: 3 });
  await publishAll(l.js, "l.1", numbered("l", 50));
  await publishAll(h.js, "h.1", numbered("h", 50));
  await h.jsm.streams.add({ name: "ML", num_replicas: 3, ...mirrorOn("hub", "L") });
  await l.jsm.streams.add({ name: "MH", ...mirrorOn("leaf", "H") });
  await l.jsm.streams.add({ name: "SH", ...sourceOn("leaf", "H") });
  await h.jsm.streams.add({ name: "SL", num_replicas: 3, ...sourceOn("hub", "L") });
  await publishAll(l.js, "l.2", numbered("l", 50, 50));
  await publishAll(h.js, "h.2", numbered("h", 50, 50));
  for (const [side, name] of [[h, "ML"], [h, "SL"], [l, "MH"], [l, "SH"]]) await reaches(side.jsm, name, { messages: 100 });
  await equalMirror([l.jsm, "L"], [h.jsm, "ML"]);
  await equalMirror([h.jsm, "H"], [l.jsm, "MH"]);
  assert.deepEqual(await texts(h.jsm, "SL"), await texts(l.jsm, "L"));
  assert.deepEqual(await texts(l.jsm, "SH"), await texts(h.jsm, "H"));
});
