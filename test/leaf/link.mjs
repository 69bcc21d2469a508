// link.mjs: the handshake, as both ends see it on the wire, and the pages of both ends.
import assert from "node:assert/strict";
import { until } from "../interop/lib/wait.mjs";
import { crosses, leafz, logged, scenario } from "./lib/setup.mjs";

const infos = (proxy) => proxy.links[0].down.list.filter((f) => f.verb === "INFO").map((f) => f.json);

scenario("the handshake: INFO, CONNECT, INFO with the account, PINGs", { quick: true }, async (t) => {
  const { hub, leaf, proxy } = await t.link();
  const [first, second] = infos(proxy);
  assert.equal(proxy.links[0].down.list[0].verb, "INFO");
  assert.equal(first.server_name, "N1");
  assert.ok(first.client_id > 0);
  assert.equal(first.headers, true);
  assert.equal(first.jetstream, true);
  assert.equal(first.domain, "hub");
  assert.equal(first.max_payload, 1048576);
  assert.equal(first.info_on_connect, true);
  assert.equal(first.leafnode_urls, undefined, "no_advertise");
  assert.equal(first.connect_urls, undefined);
  assert.match(first.nonce, /^[\w-]{11,}$/);
  assert.equal(first.connect_info, undefined);

  const c = proxy.links[0].up.list[0];
  assert.equal(c.verb, "CONNECT");
  assert.deepEqual({ user: c.json.user, pass: c.json.pass, name: c.json.name, cluster: c.json.cluster, domain: c.json.domain, headers: c.json.headers, remote_account: c.json.remote_account, jetstream: c.json.jetstream },
    { user: "a", pass: "a", name: "LF", cluster: "LF", domain: "lf", headers: true, remote_account: "$G", jetstream: true });
  assert.match(c.json.server_id, /^N[A-Z2-7]{55}$/);
  for (const k of ["lang", "gateway", "is_hub", "deny_pub"]) assert.equal(c.json[k] || undefined, undefined, k);

  assert.equal(second.connect_info, true);
  assert.equal(second.remote_account, "ACC");
  assert.equal(second.nonce, undefined);
  assert.equal(second.server_id, first.server_id);
  assert.equal(second.import, undefined);
  // Interest waits for the second INFO on both ways.
  const ups = proxy.links[0].up.list;
  const connected = proxy.links[0].down.list.filter((f) => f.verb === "INFO")[1].at;
  assert.ok(ups.filter((f) => f.verb === "LS+").every((f) => f.at >= connected - 1));
  for (const way of ["up", "down"]) {
    await proxy.seen(way, /^PING$/);
    await proxy.seen(way, /^PONG$/);
  }
  assert.equal(proxy.links.length, 1);
  assert.doesNotMatch(hub.log() + leaf.log(), /\[ERR\]/);
});

scenario("each end announces its own domain, and none of the bare APIs of the leaf", { quick: true }, async (t) => {
  const { proxy } = await t.link();
  for (const [way, own, other] of [["up", "lf", "hub"], ["down", "hub", "lf"]]) {
    await until(`${own}'s API`, () => proxy.lines(way, new RegExp(`^LS\\+ \\$JS\\.${own}\\.API\\.(>|STREAM\\.>)`)).length > 0);
    assert.deepEqual(proxy.lines(way, new RegExp(`^LS\\+ \\$JS\\.${other}\\.`)), []);
    assert.equal(proxy.lines(way, /^LS\+ \$LDS\.\w{22}$/).length, 1, "one mark against loops");
  }
  assert.deepEqual(proxy.lines("up", /^LS\+ (\$JS\.API|\$KV|\$OBJ)\./), []);
});

scenario("/leafz of both ends: names crossed, roles and accounts", { quick: true }, async (t) => {
  const { hub, leaf, hubNc, leafNc } = await t.link();
  leafNc.publish("nobody.wants.this");
  hubNc.subscribe("on.the.hub", { callback: () => {} });
  await crosses(leafNc, hubNc);
  const [h, l] = [await leafz(hub), await leafz(leaf)];
  const facts = (z) => ({ leafnodes: z.leafnodes, name: z.leafs[0].name, is_spoke: z.leafs[0].is_spoke, account: z.leafs[0].account, ip: z.leafs[0].ip, compression: z.leafs[0].compression });
  assert.deepEqual(facts(h), { leafnodes: 1, name: "LF", is_spoke: false, account: "ACC", ip: "127.0.0.1", compression: "off" });
  assert.deepEqual(facts(l), { leafnodes: 1, name: "N1", is_spoke: true, account: "$G", ip: "127.0.0.1", compression: "off" });
  for (const z of [h, l]) {
    assert.ok(z.leafs[0].id > 0 && z.leafs[0].port > 0 && z.leafs[0].subscriptions > 0);
    assert.equal(z.leafs[0].subscriptions_list, undefined);
    assert.equal(typeof z.leafs[0].rtt, "string");
  }
  await until("the subject on the leaf's page", async () => (await leafz(leaf, 1, "?subs=1")).leafs[0].subscriptions_list.includes("on.the.hub"));
});

scenario("a hub that is not there yet: the leaf tells, and dials again until it is", { quick: true }, async (t) => {
  const hub = await t.hub();
  const proxy = await t.proxy(hub);
  await proxy.cut();
  const leaf = await t.leaf({ to: proxy });
  await logged(leaf, /Error trying to connect as leafnode to remote server/);
  await proxy.restore();
  const [h, l] = [await t.connect(hub, { user: "a", pass: "a" }), await t.connect(leaf)];
  await crosses(h, l);
});

scenario("a client port in the remote: the wrong port is named, and nothing else ends", { quick: true }, async (t) => {
  const hub = await t.hub();
  const leaf = await t.leaf({ to: { port: hub.port } });
  await logged(leaf, /wrong port/i);
  const nc = await t.connect(leaf);
  await nc.flush();
});

scenario("the link is up again after each loss, with all interest", { quick: true }, async (t) => {
  const { proxy, hubNc, leafNc } = await t.link();
  const got = [];
  leafNc.subscribe("kept", { callback: (_, m) => got.push(m.string()) });
  await proxy.seen("up", /^LS\+ kept$/);
  for (let i = 1; i <= 3; i++) {
    proxy.drop();
    await until("the next connection", () => proxy.links.length === i + 1 && proxy.alive.length === 1);
    await until("the interest again", () => proxy.links[i].up.list.some((f) => f.line === "LS+ kept"));
    await crosses(leafNc, hubNc);
    hubNc.publish("kept", `m${i}`);
    await until(`m${i}`, () => got.at(-1) === `m${i}`);
  }
  assert.deepEqual(got, ["m1", "m2", "m3"]);
});
