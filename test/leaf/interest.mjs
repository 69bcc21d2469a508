// interest.mjs: the lines that announce and withdraw interest.
import assert from "node:assert/strict";
import { until } from "../interop/lib/wait.mjs";
import { ask, becomes, crosses, jetstreamOf, nobody, scenario } from "./lib/setup.mjs";

const quiet = { callback: () => {} };
const ways = [["leaf", "up"], ["hub", "down"]];
const of = (w, side) => (side === "leaf" ? w.leafNc : w.hubNc);
const other = (w, side) => (side === "leaf" ? w.hubNc : w.leafNc);
const about = (w, way, subject) => w.proxy.lines(way, new RegExp(`^LS[+-] ${subject.replace(/[$.*>]/g, "\\$&")}( |$)`));

for (const [side, way] of ways) {
  scenario(`two subscriptions on the ${side} are one line; the second to go withdraws it`, { quick: true }, async (t) => {
    const w = await t.link();
    const nc = of(w, side);
    const [a, b] = [nc.subscribe("twice", quiet), nc.subscribe("twice", quiet)];
    await nc.flush();
    a.unsubscribe();
    await nc.flush();
    await crosses(w.leafNc, w.hubNc);
    await crosses(w.hubNc, w.leafNc);
    assert.deepEqual(about(w, way, "twice"), ["LS+ twice"]);
    b.unsubscribe();
    await becomes("one line each", () => about(w, way, "twice"), ["LS+ twice", "LS- twice"]);
  });

  scenario(`a queue group on the ${side}: its weight follows its members`, { quick: true }, async (t) => {
    const w = await t.link();
    const nc = of(w, side);
    const a = nc.subscribe("work", { queue: "Q", ...quiet });
    await w.proxy.seen(way, /^LS\+ work Q 1$/);
    nc.subscribe("work", { queue: "Q", ...quiet });
    await w.proxy.seen(way, /^LS\+ work Q 2$/);
    a.unsubscribe();
    await becomes("three weights", () => about(w, way, "work"), ["LS+ work Q 1", "LS+ work Q 2", "LS+ work Q 1"]);
    await nc.close();
    await becomes("its end", () => about(w, way, "work"), ["LS+ work Q 1", "LS+ work Q 2", "LS+ work Q 1", "LS- work Q"]);
  });

  scenario(`plain and queue interest on the ${side} are lines of their own, wildcards too`, { quick: true }, async (t) => {
    const w = await t.link();
    const nc = of(w, side);
    const subs = [nc.subscribe("both.*", quiet), nc.subscribe("both.*", { queue: "g", ...quiet }), nc.subscribe("both.>", quiet)];
    await w.proxy.seen(way, /^LS\+ both\.>$/);
    assert.deepEqual(about(w, way, "both.*"), ["LS+ both.*", "LS+ both.* g 1"]);
    for (const s of subs) s.unsubscribe();
    await becomes("all withdrawn", () => w.proxy.lines(way, /^LS- both/).sort(), ["LS- both.*", "LS- both.* g", "LS- both.>"]);
  });

  scenario(`a request from the ${side}: its inbox crosses before it, and is withdrawn after the reply`, { quick: true }, async (t) => {
    const w = await t.link();
    other(w, side).subscribe("svc", { callback: (_, m) => m.respond("!") });
    await crosses(w.leafNc, w.hubNc);
    await crosses(w.hubNc, w.leafNc);
    const nc = of(w, side);
    const reply = await ask(nc, "svc", "?", { noMux: true, reply: "_INBOX.mine.1" });
    assert.equal(reply, "!");
    await becomes("the inbox withdrawn", () => about(w, way, "_INBOX.mine.1"), ["LS+ _INBOX.mine.1", "LS- _INBOX.mine.1"]);
    const frames = w.proxy.frames(way);
    const at = (re) => frames.findIndex((f) => re.test(f.line));
    assert.ok(at(/^LS\+ _INBOX\.mine\.1/) < at(/^LMSG svc _INBOX\.mine\.1 1$/));
    assert.ok(at(/^LMSG svc _INBOX/) < at(/^LS- _INBOX\.mine\.1/));
    assert.deepEqual(w.proxy.lines(way === "up" ? "down" : "up", /_INBOX\.mine/), ["LMSG _INBOX.mine.1 1"]);
  });

  scenario(`a subscription with a maximum on the ${side}: withdrawn at once when that is reached`, { quick: true }, async (t) => {
    const w = await t.link();
    const got = [];
    of(w, side).subscribe("three", { max: 3, callback: (_, m) => got.push(m.string()) });
    await w.proxy.seen(way, /^LS\+ three$/);
    await crosses(other(w, side), of(w, side));
    for (let i = 1; i <= 5; i++) other(w, side).publish("three", `${i}`);
    await becomes("its end", () => about(w, way, "three"), ["LS+ three", "LS- three"]);
    assert.deepEqual(got, ["1", "2", "3"]);
    await nobody(other(w, side), "three");
  });

  scenario(`streams and consumers of the ${side} announce their subjects, and withdraw them`, { quick: true }, async (t) => {
    const w = await t.link();
    const { jsm } = await jetstreamOf(of(w, side));
    await jsm.streams.add({ name: "L", subjects: ["l.>"] });
    await w.proxy.seen(way, /^LS\+ l\.>$/);
    await jsm.consumers.add("L", { durable_name: "D", ack_policy: "explicit" });
    await w.proxy.seen(way, /^LS\+ \$JS\.ACK\.L\.D\.\*\.\*\.\*\.\*\.\*$/);
    await jsm.consumers.delete("L", "D");
    await w.proxy.seen(way, /^LS- \$JS\.ACK\.L\.D\.\*\.\*\.\*\.\*\.\*$/);
    await jsm.streams.add({ name: "KV_b", subjects: ["$KV.b.>"], max_msgs_per_subject: 1 });
    await jsm.streams.delete("L");
    await w.proxy.seen(way, /^LS- l\.>$/);
    assert.deepEqual(w.proxy.lines(way, /^LS. \$KV/), []);
  });
}

scenario("a client that is gone: all its interest is withdrawn", { quick: true }, async (t) => {
  const w = await t.link();
  const nc = await t.connect(w.leaf);
  for (let i = 0; i < 50; i++) nc.subscribe(`gone.${i}`, quiet);
  await until("all announced", () => w.proxy.lines("up", /^LS\+ gone\./).length === 50);
  await nc.close();
  await until("all withdrawn", () => w.proxy.lines("up", /^LS- gone\./).length === 50);
  await crosses(w.hubNc, w.leafNc);
});

scenario("services of the server itself are not announced by an ordinary account", { quick: true, leaf: "mayfly" }, async (t) => {
  const w = await t.link();
  await crosses(w.hubNc, w.leafNc);
  await crosses(w.leafNc, w.hubNc);
  assert.deepEqual(w.proxy.lines("up", /^LS\+ \$SYS\./), []);
});
