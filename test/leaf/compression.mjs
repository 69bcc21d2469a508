// compression.mjs: the S2 streams of a link: which pairs of modes agree, and that everything comes through them.
import assert from "node:assert/strict";
import { until } from "../interop/lib/wait.mjs";
import { crosses, leafz, linked, scenario } from "./lib/setup.mjs";
import { equalMirror, mirrorOn, numbered, own, publishAll, reaches } from "./lib/copies.mjs";

const A = { user: "a", pass: "a" };
async function pairOf(t, hubMode, leafMode) {
  const hub = await t.hub({ leafnodes: `no_advertise: true\n${hubMode ? `compression: ${hubMode}` : ""}` });
  const proxy = await t.proxy(hub, { opaque: true });
  const leaf = await t.leaf({ to: proxy, compression: leafMode });
  const w = { hub, leaf, proxy, hubNc: await t.connect(hub, A), leafNc: await t.connect(leaf) };
  await linked(w.hubNc, w.leafNc);
  return w;
}

// [hub, leaf, what the hub's page says, what the leaf's says]; "" is the default.
const modes = [
  ["", "", /^s2_/, /^s2_/, true],
  ["s2_fast", "s2_best", /^s2_fast$/, /^s2_best$/, true],
  ["s2_better", "s2_fast", /^s2_better$/, /^s2_fast$/],
  ["accept", "s2_fast", /^s2_fast$/, /^s2_fast$/, true],
  ["s2_fast", "accept", /^s2_fast$/, /^s2_fast$/],
  ["off", "s2_auto", /^off$/, /^(off|not supported)$/, true],
  ["s2_auto", "off", /^(off|not supported)$/, /^(off|not supported)$/],
  ["accept", "accept", /^(accept|off|not supported)$/, /^(accept|off|not supported)$/],
];
for (const [h, l, hubShows, leafShows, quick] of modes)
  scenario(`hub ${h || "as it is"}, leaf ${l || "as it is"}: they agree, and messages cross`, { quick }, async (t) => {
    const w = await pairOf(t, h, l);
    const [hz, lz] = [await leafz(w.hub), await leafz(w.leaf)];
    assert.match(hz.leafs[0].compression, hubShows);
    assert.match(lz.leafs[0].compression, leafShows);
    w.leafNc.subscribe("echo", { callback: (_, m) => m.respond(m.data) });
    w.hubNc.subscribe("echo.h", { callback: (_, m) => m.respond(m.data) });
    await linked(w.hubNc, w.leafNc);
    for (const n of [0, 1, 100, 70000, 1000000])
      for (const [nc, subject] of [[w.hubNc, "echo"], [w.leafNc, "echo.h"]]) {
        const bytes = Buffer.alloc(n, "mayfly and nats, ");
        assert.deepEqual(Buffer.from((await nc.request(subject, bytes)).data), bytes);
      }
    await until("a PONG inside of it", async () => (await leafz(w.leaf)).leafs[0].rtt !== "0s");
  });

scenario("what is compressed is less on the wire: a mirror of 1000 similar messages, best mode", { quick: true }, async (t) => {
  const w = await pairOf(t, "s2_best", "s2_best");
  const [h, l] = [await own(w, "hub"), await own(w, "leaf")];
  await h.jsm.streams.add({ name: "H", subjects: ["h.>"] });
  await l.jsm.streams.add({ name: "L", subjects: ["l.>"] });
  const row = "temperature 21.5 C, humidity 45 %, pressure 1013 hPa; ".repeat(20);
  await publishAll(h.js, "h.1", numbered(row, 500));
  await publishAll(l.js, "l.1", numbered(row, 500));
  await h.jsm.streams.add({ name: "ML", ...mirrorOn("hub", "L") });
  await l.jsm.streams.add({ name: "MH", ...mirrorOn("leaf", "H") });
  await reaches(h.jsm, "ML", { messages: 500 });
  await reaches(l.jsm, "MH", { messages: 500 });
  await equalMirror([l.jsm, "L"], [h.jsm, "ML"]);
  await equalMirror([h.jsm, "H"], [l.jsm, "MH"]);
  const { up, down } = w.proxy.links[0].bytes;
  const plain = 500 * row.length;
  assert.ok(up < plain / 3 && down < plain / 3, `${up} up, ${down} down of ${plain}`);
});

scenario("random bytes, which compress badly, come through whole", { quick: true }, async (t) => {
  const w = await pairOf(t, "s2_best", "s2_fast");
  const { randomBytes } = await import("node:crypto");
  w.leafNc.subscribe("echo", { callback: (_, m) => m.respond(m.data) });
  await crosses(w.hubNc, w.leafNc);
  for (let i = 0; i < 40; i++) {
    const bytes = randomBytes(Math.floor(Math.random() * 200000));
    assert.deepEqual(Buffer.from((await w.hubNc.request("echo", bytes)).data), bytes);
  }
});
