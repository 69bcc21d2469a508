// permissions.mjs: what the hub's user may do, and the deny lists of the remote, in both directions.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, crosses, scenario } from "./lib/setup.mjs";
import { equalMirror, mirrorOn, numbered, own, publishAll, reaches } from "./lib/copies.mjs";

const accounts = (permissions) => `accounts { ACC { jetstream: enabled, users: [ {user: a, password: a}, {user: r, password: r, permissions: { ${permissions} }} ] }, SYS { users: [ {user: s, password: s} ] } }
system_account: SYS\n`;
const quiet = { callback: () => {} };
// Probes and inboxes cross in each scenario.
const also = `"_INBOX.>", "probe.>", "end.>"`;
const linkAs = (t, permissions, leaf = {}) => t.link({ hub: { accounts: accounts(permissions) }, leaf: { user: "r:r", ...leaf } });

// What was sent before has arrived when this has.
let ends = 0;
async function settled(w) {
  for (const [from, to] of [[w.leafNc, w.hubNc], [w.hubNc, w.leafNc]]) {
    const subject = `end.${++ends}`;
    const got = collect(to, subject);
    await to.flush();
    await until("the end to arrive", () => (from.publish(subject), got.length > 0));
    got.sub.unsubscribe();
  }
}

scenario("the user's permissions come in INFO as import and export", { quick: true }, async (t) => {
  const w = await linkAs(t, `publish: { allow: ["ok.>", ${also}], deny: "ok.not" }, subscribe: { allow: ["sub.>", ${also}] }`);
  const info = w.proxy.links[0].down.list.filter((f) => f.verb === "INFO")[1].json;
  assert.ok(info.export.allow.includes("ok.>") && info.export.deny.includes("ok.not"), JSON.stringify(info.export));
  assert.ok(info.import.allow.includes("sub.>"), JSON.stringify(info.import));
});

scenario("the leaf sends and announces what the hub's user may, and the link stays", { quick: true }, async (t) => {
  const w = await linkAs(t, `publish: { allow: ["ok.>", ${also}], deny: "ok.not" }, subscribe: { allow: ["sub.>", ${also}] }`);
  const [h, l] = [collect(w.hubNc, ">"), collect(w.leafNc, ">")];
  for (const s of ["sub.x", "zz", "sub.*", "*.y"]) w.leafNc.subscribe(s, quiet);
  await settled(w);
  for (const s of ["ok.a", "ok.not", "zz.b", "sub.c"]) {
    w.leafNc.publish(s, "from leaf");
    w.hubNc.publish(s, "from hub");
  }
  await settled(w);
  const seen = (got, from) => got.filter((m) => m.string() === from).map((m) => m.subject).sort();
  assert.deepEqual(seen(h, "from leaf"), ["ok.a"]);
  assert.deepEqual(seen(l, "from hub"), ["sub.c"]);
  assert.deepEqual(w.proxy.lines("up", /^LS\+ zz/), [], "a literal outside is not announced");
  assert.deepEqual(w.proxy.lines("up", /^LMSG (ok\.not|zz|sub)/), []);
  assert.equal(w.proxy.links.length, 1);
});

scenario("a literal that is allowed crosses with a queue group too", { quick: true }, async (t) => {
  const w = await linkAs(t, `publish: { allow: ["job", ${also}] }, subscribe: { allow: ["task", ${also}] }`);
  const jobs = collect(w.hubNc, "job", { queue: "q" });
  const tasks = collect(w.leafNc, "task", { queue: "q" });
  await settled(w);
  w.leafNc.publish("job", "1");
  w.hubNc.publish("task", "2");
  await settled(w);
  assert.deepEqual([jobs.texts(), tasks.texts()], [["1"], ["2"]]);
});

scenario("deny_exports and deny_imports of the remote", { quick: true }, async (t) => {
  const w = await t.link({ leaf: { remote: `deny_exports: ["secret.>", "one"], deny_imports: ["noise.>"]` } });
  assert.deepEqual(w.proxy.links[0].up.list[0].json.deny_pub, ["noise.>"]);
  const [h, l] = [collect(w.hubNc, ">"), collect(w.leafNc, ">")];
  w.leafNc.subscribe("noise.literal", quiet);
  await settled(w);
  for (const s of ["secret.a", "one", "fine", "noise.b"]) {
    w.leafNc.publish(s, "from leaf");
    w.hubNc.publish(s, "from hub");
  }
  await settled(w);
  const seen = (got, from) => got.filter((m) => m.string() === from).map((m) => m.subject).sort();
  assert.deepEqual(seen(l, "from hub"), ["fine", "one", "secret.a"]);
  // 2.15.1 stops noise.b from the leaf as well, once the other end announced a wildcard over it.
  assert.deepEqual(seen(h, "from leaf").filter((s) => s !== "noise.b"), ["fine"]);
  if (t.is("leaf", "mayfly") && t.is("hub", "mayfly")) assert.ok(seen(h, "from leaf").includes("noise.b"), "a denied import may be exported");
  assert.deepEqual(w.proxy.lines("up", /^LS\+ noise\.literal/), []);
  assert.equal(w.proxy.links.length, 1);
  l.sub.unsubscribe();
  h.sub.unsubscribe();
  await w.proxy.seen("up", /^LS- >$/);
  await settled(w);
  assert.equal(await ask(w.hubNc, "noise.literal", "x"), "503");
});

const MINIMAL = `publish: ["$JSC.R.>", "$JS.M.>", "$JS.S.>", "$JS.FC.>", "$JS.hub.API.CONSUMER.>", ${also}],
  subscribe: ["$JS.lf.API.CONSUMER.>", "$JS.FC.>", "$JSC.R.>", "$JS.M.>", "$JS.S.>", ${also}]`;
scenario("a user with no more than mirrors need: mirrors both ways, and nothing else of the API", { quick: true }, async (t) => {
  const w = await linkAs(t, MINIMAL);
  const [h, l] = [await own(w, "hub"), await own(w, "leaf")];
  await h.jsm.streams.add({ name: "H", subjects: ["h.>"] });
  await l.jsm.streams.add({ name: "L", subjects: ["l.>"] });
  await h.jsm.streams.add({ name: "ML", ...mirrorOn("hub", "L") });
  await l.jsm.streams.add({ name: "MH", ...mirrorOn("leaf", "H") });
  await Promise.all([publishAll(h.js, "h.1", numbered("h", 30)), publishAll(l.js, "l.1", numbered("l", 30))]);
  await reaches(h.jsm, "ML", { messages: 30 });
  await reaches(l.jsm, "MH", { messages: 30 });
  await equalMirror([l.jsm, "L"], [h.jsm, "ML"]);
  await equalMirror([h.jsm, "H"], [l.jsm, "MH"]);
  const answer = await Promise.race([ask(w.hubNc, "$JS.lf.API.INFO", "", { timeout: 1000 }).catch(() => "none"), ask(w.hubNc, "$JS.lf.API.STREAM.NAMES", "", { timeout: 1000 }).catch(() => "none")]);
  assert.ok(answer === "503" || answer === "none", JSON.stringify(answer));
  assert.equal(w.proxy.links.length, 1);
});

// nats-server's link keeps the old ones.
scenario("permissions of the hub's user change by reload: the link obeys the new ones", { hub: "mayfly" }, async (t) => {
  const w = await linkAs(t, `publish: { allow: ["ok.>", ${also}] }, subscribe: { allow: ["sub.>", ${also}] }`);
  const h = collect(w.hubNc, ">");
  await settled(w);
  w.leafNc.publish("new.a", "1");
  await settled(w);
  assert.ok(!h.some((m) => m.subject === "new.a"));
  w.hub.reload(w.hub.config.replace(`"ok.>"`, `"ok.>", "new.>"`));
  await until("the new subject to cross", () => (w.leafNc.publish("new.a", "2"), h.some((m) => m.subject === "new.a")));
});
