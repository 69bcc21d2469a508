// messages.mjs: messages through the link: their lines, queue groups, nobody there, large ones.
import assert from "node:assert/strict";
import { headers } from "../interop/lib/clients.mjs";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, crosses, linked, logged, scenario } from "./lib/setup.mjs";

const ways = [["leaf", "up", "down"], ["hub", "down", "up"]];
const of = (w, side) => (side === "leaf" ? w.leafNc : w.hubNc);
const other = (w, side) => (side === "leaf" ? w.hubNc : w.leafNc);
const hdr = (k, v) => {
  const h = headers();
  h.set(k, v);
  return h;
};

for (const [side, out, back] of ways) {
  scenario(`from the ${side}: plain, with reply, with headers, empty`, { quick: true }, async (t) => {
    const w = await t.link();
    const got = collect(other(w, side), "foo.>");
    await w.proxy.seen(back, /^LS\+ foo\.>$/);
    await linked(w.leafNc, w.hubNc);
    const nc = of(w, side);
    nc.publish("foo.a", "abc");
    nc.publish("foo.b", "abcd", { reply: "the.reply" });
    nc.publish("foo.c", "xy", { headers: hdr("K", "V") });
    nc.publish("foo.d", "", { headers: hdr("K", "V"), reply: "r" });
    nc.publish("foo.e", "\r\n");
    await until("all of them", () => got.length === 5);
    assert.deepEqual(got.map((m) => [m.subject, m.reply || undefined, m.string(), m.headers?.get("K")]),
      [["foo.a", undefined, "abc", undefined], ["foo.b", "the.reply", "abcd", undefined], ["foo.c", undefined, "xy", "V"], ["foo.d", "r", "", "V"], ["foo.e", undefined, "\r\n", undefined]]);
    assert.deepEqual(w.proxy.lines(out, /^[LH]MSG foo/), ["LMSG foo.a 3", "LMSG foo.b the.reply 4", "HMSG foo.c 18 20", "HMSG foo.d r 18 18", "LMSG foo.e 2"]);
  });

  scenario(`from the ${side} to queue groups: one line names the groups, each has it once`, { quick: true }, async (t) => {
    const w = await t.link();
    const to = other(w, side);
    const [plain, g, g2] = [collect(to, "bar"), collect(to, "bar", { queue: "G" }), collect(to, "bar", { queue: "G2" })];
    const only = collect(to, "quz", { queue: "G" });
    await w.proxy.seen(back, /^LS\+ quz G 1$/);
    await linked(w.leafNc, w.hubNc);
    const nc = of(w, side);
    nc.publish("bar", "1");
    nc.publish("bar", "2", { reply: "r" });
    nc.publish("bar", "3", { headers: hdr("K", "V"), reply: "r" });
    nc.publish("quz", "4");
    await until("all of them", () => plain.length === 3 && g.length === 3 && g2.length === 3 && only.length === 1);
    const lines = w.proxy.lines(out, /^[LH]MSG (bar|quz)/).map((l) => l.replace(/G2 G\b/, "G G2"));
    assert.deepEqual(lines, ["LMSG bar | G G2 1", "LMSG bar + r G G2 1", "HMSG bar + r G G2 18 19", "LMSG quz | G 1"]);
    await crosses(w.hubNc, w.leafNc);
    assert.deepEqual([plain.length, g.length, g2.length, only.length], [3, 3, 3, 1]);
  });

  scenario(`a request from the ${side}, and what its service asks back`, { quick: true }, async (t) => {
    const w = await t.link();
    const [asker, service] = [of(w, side), other(w, side)];
    asker.subscribe("ask.back", { callback: (_, m) => m.respond(`back ${m.string()}`) });
    service.subscribe("svc", { queue: "q", callback: async (_, m) => m.respond(`${await ask(service, "ask.back", m.string())}!`) });
    await linked(asker, service);
    for (let i = 0; i < 20; i++) assert.equal(await ask(asker, "svc", `${i}`), `back ${i}!`);
  });

  scenario(`a member on the publisher's own side of the ${side} is preferred, 20 of 20`, { quick: true }, async (t) => {
    const w = await t.link();
    const [near, far] = [collect(of(w, side), "job", { queue: "Q" }), collect(other(w, side), "job", { queue: "Q" })];
    await w.proxy.seen(back, /^LS\+ job Q 1$/);
    await linked(w.leafNc, w.hubNc);
    for (let i = 0; i < 20; i++) of(w, side).publish("job", `${i}`);
    await until("all jobs", () => near.length + far.length >= 20);
    await linked(w.leafNc, w.hubNc);
    assert.deepEqual([near.length, far.length], [20, 0]);
    near.sub.unsubscribe();
    await of(w, side).flush();
    for (let i = 0; i < 20; i++) of(w, side).publish("job", `${i}`);
    await until("all jobs there", () => far.length === 20);
  });

  scenario(`nobody anywhere: the ${side}'s client hears 503, and nothing crosses`, { quick: true }, async (t) => {
    const w = await t.link();
    assert.equal(await ask(of(w, side), "nobody.here"), "503");
    assert.deepEqual(w.proxy.lines(out, /nobody\.here/), []);
    const sub = other(w, side).subscribe("somebody", { callback: () => {} });
    await w.proxy.seen(back, /^LS\+ somebody$/);
    sub.unsubscribe();
    await w.proxy.seen(back, /^LS- somebody$/);
    await linked(w.leafNc, w.hubNc);
    assert.equal(await ask(of(w, side), "somebody"), "503");
  });

  scenario(`the link is down: 503 on the ${side} for what was beyond it`, { quick: true }, async (t) => {
    const w = await t.link();
    const domain = side === "leaf" ? "hub" : "lf";
    other(w, side).subscribe("beyond", { callback: (_, m) => m.respond("yes") });
    await linked(w.leafNc, w.hubNc);
    assert.equal(await ask(of(w, side), "beyond"), "yes");
    assert.ok((await ask(of(w, side), `$JS.${domain}.API.INFO`)).domain === domain);
    await w.proxy.cut();
    await until("503", async () => (await ask(of(w, side), "beyond", "", { timeout: 2000 }).catch(() => "")) === "503");
    assert.equal(await ask(of(w, side), `$JS.${domain}.API.INFO`), "503");
    // The own JetStream goes on.
    const own = side === "leaf" ? "lf" : "hub";
    assert.equal((await ask(of(w, side), "$JS.API.INFO")).domain, own);
    assert.equal((await ask(of(w, side), `$JS.${own}.API.INFO`)).domain, own);
    await w.proxy.restore();
    await linked(w.leafNc, w.hubNc);
  });

  scenario(`ten thousand messages from the ${side} come in order, none twice`, { quick: true }, async (t) => {
    const w = await t.link();
    const got = [];
    other(w, side).subscribe("many", { callback: (_, m) => got.push(Number(m.string().slice(0, 8))) });
    await w.proxy.seen(back, /^LS\+ many$/);
    await crosses(of(w, side), other(w, side));
    const pad = " ".repeat(300);
    for (let i = 0; i < 10000; i++) {
      of(w, side).publish("many", `${String(i).padStart(8, "0")}${pad}`);
      if (i % 1000 === 999) await of(w, side).flush();
    }
    await until("the last", () => got.at(-1) === 9999);
    assert.deepEqual(got, Array.from({ length: 10000 }, (_, i) => i));
  });
}

scenario("a message for both sides: each subscriber has it once, and none comes back", { quick: true }, async (t) => {
  const w = await t.link();
  const [h, l] = [collect(w.hubNc, "all.>"), collect(w.leafNc, "all.>")];
  await w.proxy.seen("up", /^LS\+ all/);
  await w.proxy.seen("down", /^LS\+ all/);
  await linked(w.leafNc, w.hubNc);
  w.hubNc.publish("all.h", "1");
  w.leafNc.publish("all.l", "2");
  await until("both", () => h.length >= 2 && l.length >= 2);
  await linked(w.leafNc, w.hubNc);
  assert.deepEqual([h.texts().sort(), l.texts().sort()], [["1", "2"], ["1", "2"]]);
});

// nats-server sends it, and the other end closes the link for it, again and again.
scenario("a message beyond the other end's max_payload does not end the link", { leaf: "mayfly" }, async (t) => {
  const w = await t.link({ hub: { more: "max_payload: 8192" } });
  const got = collect(w.hubNc, "big");
  await w.proxy.seen("down", /^LS\+ big$/);
  w.leafNc.publish("big", "x".repeat(20000));
  w.leafNc.publish("big", "small");
  await until("the small one", () => got.length > 0);
  assert.deepEqual(got.texts(), ["small"]);
  assert.equal(w.proxy.links.length, 1);
  assert.match(w.leaf.log(), /big.*(8192|max_payload)|max_payload.*big/i);
});

// -V of both ends: what one sends is what the other receives, in nats-server's words, and no secret.
scenario("the trace of a link", { quick: true }, async (t) => {
  const more = "trace: true";
  const w = await t.link({ hub: { more }, leaf: { more, user: "a:a" } });
  w.leafNc.subscribe("svc", { queue: "Q", callback: (_, m) => m.respond("ok") });
  await crosses(w.hubNc, w.leafNc);
  const h = headers();
  h.set("A", "b");
  await w.hubNc.request("svc", "hi", { headers: h });
  await w.leafNc.close();
  const lid = String.raw`127\.0\.0\.1:\d+ - lid:\d+ - `;
  for (const [out, inn] of [[w.leaf, w.hub], [w.hub, w.leaf]])
    for (const line of out === w.leaf ? [String.raw`\[LS\+ svc Q 1\]`, String.raw`\[LMSG _INBOX\.\S+ 2\]`, String.raw`MSG_PAYLOAD: \["ok"\]`, String.raw`\[LS- svc Q\]`] : [String.raw`\[LS\+ _INBOX\.\S+\]`, String.raw`\[HMSG svc \+ _INBOX\.\S+ Q 18 20\]`, String.raw`MSG_PAYLOAD: \["NATS\/1\.0\\r\\nA: b\\r\\n\\r\\nhi"\]`, String.raw`\[PONG\]`]) {
      await logged(out, new RegExp(`${lid}->> ${line}`));
      await logged(inn, new RegExp(`${lid}<<- ${line}`));
    }
  await logged(w.hub, new RegExp(`${lid}<<- \\[CONNECT .*"pass":"\\[REDACTED\\]"`));
  await logged(w.hub, new RegExp(`${lid}<-> \\[DELSUB svc Q\\]`));
});
