// shortage.mjs: too few descriptors, files that may not grow, and strangers who ask for much work.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { jetstreamBlock } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary } from "./lib/server.mjs";
import { expect } from "./lib/tool.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

// The server under a limit of bash's ulimit.
function limited(t, limit) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-limited-"));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const program = path.join(dir, path.basename(binary));
  fs.writeFileSync(program, `#!/bin/bash\nulimit ${limit}\nexec "${binary}" "$@"\n`, { mode: 0o755 });
  return program;
}

const managed = async (nc) => [jetstream(nc, { timeout: LIMIT_MS }), await jetstreamManager(nc, { timeout: LIMIT_MS })];
const silent = (t, s) => t.raw(s, { silent: true });

// Publishes until told to stop; every message has its number, and its fate is noted.
function publisher(nc, size) {
  const fate = new Map();
  const p = { fate, stop: false };
  p.done = (async () => {
    for (let n = 1; !p.stop; n++) {
      const answer = await nc.request("s.x", `${n} ${"x".repeat(size)}`, { timeout: LIMIT_MS });
      fate.set(n, answer.json().error ? "refused" : "acked");
    }
  })();
  p.count = (what) => [...fate.values()].filter((f) => f === what).length;
  return p;
}

// Every answer holds: acknowledged messages are there, refused ones are not.
async function assertFates(jsm, js, fate) {
  const { state } = await jsm.streams.info("S");
  const there = new Set();
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const m = await jsm.streams.getMessage("S", { seq }).catch(() => null);
    if (m) there.add(parseInt(m.string()));
  }
  for (const [n, f] of fate) assert.equal(there.has(n), f === "acked", `message ${n} was ${f}`);
}

scenario("silent connections leave descriptors to streams", { only: "mayfly" }, async (t) => {
  const s = await t.server({ program: limited(t, "-n 64"), config: jetstreamBlock() });
  const nc = await t.connect(s);
  let [js, jsm] = await managed(nc);
  await jsm.streams.add({ name: "S", subjects: ["s.>"] });
  const p = publisher(nc, 20000);
  await until("some messages", () => p.fate.size > 3);
  const crowd = await Promise.all(Array.from({ length: 100 }, () => silent(t, s)));
  await s.logged(/descriptors|connections/i);
  const from = p.fate.size;
  await until("many more, over several segments", () => p.fate.size > from + 60);
  assert.equal(p.count("refused"), 0);
  // A client that knows what it wants gets in: one that said nothing in its time gives way.
  await until("a newcomer to be let in", async () => {
    const r = await silent(t, s);
    r.send('CONNECT {"verbose":false}', "PING");
    await until("an answer", () => r.ended || /PONG|-ERR/.test(r.buf));
    return r.buf.includes("PONG");
  });
  p.stop = true;
  await p.done;
  for (const r of crowd) r.close();
  await nc.close();
  await s.restart();
  [js, jsm] = await managed(await t.connect(s));
  await assertFates(jsm, js, p.fate);
});

scenario("streams that find no descriptor go on when there is one", { only: "mayfly" }, async (t) => {
  const s = await t.server({ program: limited(t, "-n 40"), config: jetstreamBlock() });
  const nc = await t.connect(s);
  let [js, jsm] = await managed(nc);
  await jsm.streams.add({ name: "S", subjects: ["s.>"] });
  const p = publisher(nc, 20000);
  await until("some messages", () => p.fate.size > 3);
  // More streams than descriptors: idle ones have none, and those that are written share a few, or wait for one.
  const made = 100;
  for (let i = 0; i < made; i++) await jsm.streams.add({ name: `T${i}`, subjects: [`t.${i}`] });
  for (let i = 0; i < 40 * made; i++) nc.publish(`t.${i % made}`, "x".repeat(20000));
  await nc.flush();
  const from = p.fate.size;
  await until("answers, whatever they are", () => p.fate.size > from + 40);
  for await (const name of await jsm.streams.names()) if (name !== "S") await jsm.streams.delete(name);
  const acked = p.count("acked");
  await until("messages stored again", () => p.count("acked") > acked + 20);
  await jsm.streams.add({ name: "AGAIN", subjects: ["again"] });
  p.stop = true;
  await p.done;
  await nc.close();
  await s.restart();
  [js, jsm] = await managed(await t.connect(s));
  await assertFates(jsm, js, p.fate);
});

scenario("files that may not grow: the log goes on in smaller ones", { only: "mayfly" }, async (t) => {
  const s = await t.server({ program: limited(t, "-f 256"), config: `max_payload: 4MB\n${jetstreamBlock()}` });
  const nc = await t.connect(s);
  let [js, jsm] = await managed(nc);
  await jsm.streams.add({ name: "S", subjects: ["s.>"] });
  const p = publisher(nc, 30000);
  await until("more than any file holds", () => p.fate.size > 60);
  p.stop = true;
  await p.done;
  assert.equal(p.count("refused"), 0);
  const large = await nc.request("s.x", `0 ${"x".repeat(1 << 20)}`, { timeout: LIMIT_MS });
  assert.ok(large.json().error, "larger than a file may be");
  p.fate.set(0, "refused");
  await until("smaller ones to be stored", async () => {
    const answer = await nc.request("s.x", "1000 small", { timeout: LIMIT_MS });
    return !answer.json().error;
  });
  p.fate.set(1000, "acked");
  await nc.close();
  await s.restart();
  [js, jsm] = await managed(await t.connect(s));
  await assertFates(jsm, js, p.fate);
});

scenario("passwords of strangers do not stand before the disk", { only: "mayfly" }, async (t) => {
  const cheap = "$2a$04$nN5Dk2pYcxXK7JZuRCxFkOBwuXPTNUnCNPnyHOPPgTWbsGNBmkiPK"; // of nobody: its check is quick
  const dear = cheap.replace("$04$", "$12$");
  const s = await t.server({
    config: `${jetstreamBlock()} authorization { timeout: 300, users: [ {user: app, password: plain}, {user: dear, password: "${dear}"},
      {user: cheap, password: "${cheap}"} ] }`,
  });
  const nc = await t.connect(s, { user: "app", pass: "plain" });
  const [js, jsm] = await managed(nc);
  await jsm.streams.add({ name: "S", subjects: ["s.>"] });
  const strangers = await Promise.all(Array.from({ length: 24 }, () => t.raw(s)));
  for (const r of strangers) r.send('CONNECT {"user":"dear","pass":"wrong","verbose":false}');
  const answered = () => strangers.filter((r) => r.buf.includes("-ERR") || r.ended).length;
  await until("the first answer", () => answered() > 0);
  await js.publish("s.x", "x");
  assert.ok(answered() < 12, `${answered()} of 24 passwords were checked before a message was on disk`);
  // Another address waits for a check that is under way, not for all of them.
  const other = await t.raw(s, { localAddress: "127.0.0.2" });
  other.send('CONNECT {"user":"cheap","pass":"wrong","verbose":false}');
  await other.expect(/-ERR 'Authorization Violation'/);
  assert.ok(answered() < 20, `${answered()} of 24 passwords were checked before that of another address`);
  await until("all answers", () => answered() === 24);
  for (const r of strangers) assert.match(r.buf, /-ERR 'Authorization Violation'/);
});

scenario("few descriptors: /varz, `mayfly server check` and the log give one number of possible connections", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, program: limited(t, "-n 320") });
  const said = Number(await until("the line in the log", () => s.log().match(/At most (\d+) connections, not 65536/)?.[1]));
  const varz = (await s.page("/varz")).json;
  assert.deepEqual([varz.max_connections, varz.possible_connections], [65536, said]);
  assert.match(await expect(0, {}, "server", "check", s.http), new RegExp(`^connections +0 of ${said}, `, "m"));
});
