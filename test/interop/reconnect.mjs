// reconnect.mjs: what clients live through when a server goes away and comes back.
import assert from "node:assert/strict";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const stubborn = { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 0 };

scenario("clients come back after a restart and hear again", async (t) => {
  const s = await t.server();
  const a = await t.connect(s, stubborn);
  const b = await t.connect(s, stubborn);
  const got = collect(a, "after.*");
  const crew = collect(a, "work", { queue: "q" });
  a.subscribe("ask", { callback: (_, m) => m.respond("still here") });
  await a.flush();
  await s.restart();
  await until("both to be back", () => [a, b].every((nc) => nc.events.some((e) => e.type === "reconnect")));
  await a.flush();
  b.publish("after.all", "hello");
  b.publish("work", "1");
  await b.flush();
  await until("the messages", () => got.length === 1 && crew.length === 1);
  assert.equal((await b.request("ask", "", { timeout: 60000 })).string(), "still here");
});

scenario("kill -9 and a new start: the same", async (t) => {
  const s = await t.server();
  const nc = await t.connect(s, stubborn);
  const got = collect(nc, "x");
  await nc.flush();
  await s.kill();
  s.killed = false;
  await s.startAgain();
  await until("the client to be back", () => nc.events.some((e) => e.type === "reconnect"));
  nc.publish("x", "1");
  await nc.flush();
  assert.deepEqual(got.texts(), ["1"]);
});

scenario("a client that must not reconnect closes", async (t) => {
  const s = await t.server();
  const nc = await t.connect(s, { reconnect: false });
  await s.stop();
  await nc.closed();
  assert.ok(nc.isClosed());
});

scenario("lame duck: clients are told, then asked to leave, then the server ends", async (t) => {
  const s = await t.server({ config: 'lame_duck_duration: "30s", lame_duck_grace_period: "1s"' });
  const nc = await t.connect(s);
  const old = await (await t.raw(s)).connect({ protocol: 0 });
  const r = await (await t.raw(s)).connect({ protocol: 1 });
  s.signal("SIGUSR2");
  const info = JSON.parse((await r.expect(/INFO ({.*"ldm":true.*})/))[1]);
  assert.equal(info.ldm, true);
  await until("nats.js to be told", () => nc.events.some((e) => e.type === "ldm"));
  assert.doesNotMatch(old.buf, /ldm/);
  await s.logged(/[Ll]ame duck/);
  // No new clients.
  await assert.rejects(t.raw(s), /ECONNREFUSED|closed|vain/);
  nc.close();
  r.close();
  old.close();
  await s.waitExit();
});

scenario("lame duck closes those who stay", async (t) => {
  const s = await t.server({ config: 'lame_duck_duration: "30s", lame_duck_grace_period: "500ms"' });
  const stay = [];
  for (let i = 0; i < 5; i++) stay.push(await (await t.raw(s)).connect());
  s.signal("SIGUSR2");
  for (const r of stay) await r.closed();
  await s.waitExit();
});
