// pages.mjs: the link on the pages of both ends, in answers and events of the system account, and in metrics.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, leafz, linked, scenario } from "./lib/setup.mjs";

const SYS = { user: "s", pass: "s" };
// The leaf's account is one that events name: nats-server does not count $G.
const LEAF_ACCOUNTS = `accounts { G1 { jetstream: enabled, users: [ {user: g, password: g} ] }, SYS { users: [ {user: s, password: s} ] } }
system_account: SYS\n`;
const linkOf = (t) => t.link({ leaf: { accounts: LEAF_ACCOUNTS, remote: "account: G1", client: { user: "g", pass: "g" } } });
const ends = (w) => [{ s: w.hub, account: "ACC", peer: "LF", spoke: false, nc: w.hubNc, other: w.leafNc }, { s: w.leaf, account: "G1", peer: "N1", spoke: true, nc: w.leafNc, other: w.hubNc }];

// Ten messages of five bytes from each side to the other.
async function traffic(w) {
  const got = [collect(w.hubNc, "to.hub"), collect(w.leafNc, "to.leaf")];
  await linked(w.hubNc, w.leafNc);
  for (let i = 0; i < 10; i++) {
    w.leafNc.publish("to.hub", "12345");
    w.hubNc.publish("to.leaf", "12345");
  }
  await until("all of them", () => got.every((g) => g.length === 10));
}

scenario("/leafz: subjects that the peer announced, accounts, traffic", { quick: true }, async (t) => {
  const w = await linkOf(t);
  w.hubNc.subscribe("wanted.by.hub", { callback: () => {} });
  w.leafNc.subscribe("wanted.by.leaf", { queue: "q", callback: () => {} });
  await traffic(w);
  for (const e of ends(w)) {
    const before = (await leafz(e.s)).leafs[0];
    assert.ok(before.in_msgs >= 10 && before.out_msgs >= 10 && before.in_bytes >= 50 && before.out_bytes >= 50, JSON.stringify(before));
    assert.ok(before.in_bytes < 20000, "payloads, not lines");
    assert.equal(before.subscriptions_list, undefined);
    const wanted = e.spoke ? "wanted.by.hub" : "wanted.by.leaf";
    const row = await until(`${wanted} on the page`, async () => {
      const r = (await leafz(e.s, 1, "?subs=1")).leafs[0];
      return r.subscriptions_list.includes(wanted) && r;
    });
    assert.equal(row.subscriptions, row.subscriptions_list.length);
    assert.equal((await e.s.page(`/leafz?acc=${e.account}`)).json.leafs.length, 1);
    const none = (await e.s.page("/leafz?acc=SYS")).json;
    assert.deepEqual([none.leafnodes, none.leafs], [0, []]);
    await until("a round trip time", async () => (await leafz(e.s)).leafs[0].rtt !== "0s");
  }
});

scenario("/varz: the number of links, the configured block, totals with the links", { quick: true }, async (t) => {
  const w = await linkOf(t);
  await traffic(w);
  for (const e of ends(w)) {
    const v = await e.s.varz();
    assert.equal(v.leafnodes, 1);
    assert.ok(v.in_msgs >= v.in_client_msgs + 10 && v.out_msgs >= v.out_client_msgs + 10, JSON.stringify([v.in_msgs, v.in_client_msgs, v.out_msgs, v.out_client_msgs]));
    assert.equal(v.slow_consumer_stats.leafs, 0);
    assert.equal(v.stale_connection_stats.leafs, 0);
  }
  const hub = (await w.hub.varz()).leaf;
  assert.deepEqual([hub.host, hub.port, hub.remotes], ["127.0.0.1", w.hub.leafPort, undefined]);
  const [remote] = (await w.leaf.varz()).leaf.remotes;
  assert.equal(remote.local_account, "G1");
  assert.deepEqual(remote.urls, [`127.0.0.1:${w.proxy.port}`]);
});

scenario("/connz: the link is a connection of kind Leafnode, also when it is closed", { quick: true }, async (t) => {
  const w = await linkOf(t);
  await traffic(w);
  for (const e of ends(w)) {
    const z = (await e.s.page("/connz?subs=1")).json;
    const row = z.connections.find((c) => c.kind === "Leafnode");
    assert.ok(row, JSON.stringify(z.connections.map((c) => c.kind)));
    assert.equal(z.num_connections, z.connections.length);
    // nats-server names only those that dialled.
    assert.ok(row.name === e.peer || (e.spoke && row.name === undefined), row.name);
    assert.equal(row.ip, "127.0.0.1");
    assert.ok(row.cid === (await leafz(e.s)).leafs[0].id && row.port > 0 && row.in_msgs >= 10 && row.out_msgs >= 10);
    assert.ok(row.subscriptions > 0 && row.subscriptions_list.length === row.subscriptions);
    for (const k of ["start", "last_activity", "rtt", "uptime", "idle", "pending_bytes"]) assert.ok(row[k] !== undefined, k);
    assert.equal((await e.s.page(`/connz?cid=${row.cid}`)).json.connections[0].kind, "Leafnode");
    const mark = row.subscriptions_list.find((x) => x.startsWith("$LDS."));
    const filtered = async (subject) => (await e.s.page(`/connz?acc=${e.account}&filter_subject=${subject}`)).json.connections.map((c) => c.cid);
    assert.ok((await filtered(mark)).includes(row.cid), "the link announced its mark");
  }
  const before = (await leafz(w.leaf)).leafs[0].id;
  w.proxy.drop();
  for (const e of ends(w)) {
    const row = await until("a closed link", async () => (await e.s.page("/connz?state=closed")).json.connections.find((c) => c.kind === "Leafnode"));
    assert.match(row.reason, /Client Closed|Read Error/);
    assert.ok(row.stop);
  }
  await until("the next link", async () => (await leafz(w.leaf)).leafs[0].id > before);
});

scenario("/accountz and /accstatz: links of the account and their part of the traffic", { quick: true }, async (t) => {
  const w = await linkOf(t);
  await traffic(w);
  for (const e of ends(w)) {
    const a = (await e.s.page(`/accountz?acc=${e.account}`)).json.account_detail;
    assert.deepEqual([a.leafnode_connections, a.client_connections], [1, 1]);
    const st = (await e.s.page("/accstatz")).json.account_statz.find((x) => x.acc === e.account);
    assert.deepEqual([st.conns, st.leafnodes, st.total_conns], [1, 1, 2]);
    for (const way of ["sent", "received"]) {
      assert.ok(st[way].leafs.msgs >= 10 && st[way].leafs.bytes >= 50, JSON.stringify(st[way]));
      assert.ok(st[way].msgs >= st[way].leafs.msgs);
    }
  }
});

scenario("requests of the system account: LEAFZ of all, of one server, of one account", { quick: true }, async (t) => {
  const w = await linkOf(t);
  for (const e of ends(w)) {
    const sys = await t.connect(e.s, SYS);
    const id = sys.info.server_id;
    for (const subject of ["$SYS.REQ.SERVER.PING.LEAFZ", `$SYS.REQ.SERVER.${id}.LEAFZ`, `$SYS.REQ.ACCOUNT.${e.account}.LEAFZ`]) {
      const r = await ask(sys, subject, "");
      assert.equal(r.server.id, id, subject);
      assert.deepEqual([r.data.leafnodes, r.data.leafs[0].name, r.data.leafs[0].account], [1, e.peer, e.account], subject);
      const subs = await ask(sys, subject, JSON.stringify({ subscriptions: true }));
      assert.ok(subs.data.leafs[0].subscriptions_list.length > 0, subject);
    }
    assert.equal((await ask(sys, "$SYS.REQ.SERVER.PING.LEAFZ", JSON.stringify({ account: "SYS" }))).data.leafnodes, 0);
    const conns = await ask(sys, `$SYS.REQ.ACCOUNT.${e.account}.CONNZ`);
    assert.ok(conns.data.connections.some((c) => c.kind === "Leafnode"));
  }
});

scenario("events: a link comes and goes", { quick: true }, async (t) => {
  const w = await linkOf(t);
  const seen = [];
  for (const e of ends(w)) {
    const sys = await t.connect(e.s, SYS);
    seen.push({ e, came: collect(sys, `$SYS.ACCOUNT.${e.account}.CONNECT`), went: collect(sys, `$SYS.ACCOUNT.${e.account}.DISCONNECT`), conns: collect(sys, `$SYS.ACCOUNT.${e.account}.SERVER.CONNS`), also: collect(sys, `$SYS.SERVER.ACCOUNT.${e.account}.CONNS`) });
    await sys.flush();
  }
  w.proxy.drop();
  for (const { e, came, went, conns, also } of seen) {
    const leafEvent = (list) => list.map((m) => m.json()).find((x) => x.client.kind === "Leafnode");
    const bye = await until("its end", () => leafEvent(went));
    assert.equal(bye.type, "io.nats.server.advisory.v1.client_disconnect");
    assert.match(bye.reason, /Client Closed|Read Error/);
    const hello = await until("its beginning", () => leafEvent(came));
    assert.equal(hello.type, "io.nats.server.advisory.v1.client_connect");
    assert.deepEqual([hello.client.acc, hello.client.host, hello.client.client_type], [e.account, "127.0.0.1", undefined]);
    assert.ok(hello.client.id > bye.client.id);
    if (!e.spoke) assert.deepEqual([hello.client.name, hello.client.user], ["LF", "a"]);
    await until("the counts", () => [conns, also].every((list) => list.some((m) => m.json().leafnodes === 1) && list.some((m) => m.json().leafnodes === 0)));
  }
});

// Prometheus' own names; nats-server has no such page.
for (const place of ["hub", "leaf"])
  scenario(`metrics of the ${place}: up, round trip, messages, interest, and a link that is down`, { quick: true, [place]: "mayfly" }, async (t) => {
    const w = await linkOf(t);
    await traffic(w);
    const e = ends(w).find((x) => x.spoke === (place === "leaf"));
    const sample = async (name) => {
      const text = (await e.s.page("/metrics")).text;
      const line = text.split("\n").find((l) => l.startsWith(`${name}{account="${e.account}"`));
      return line === undefined ? undefined : [Number(line.split(" ").at(-1)), line];
    };
    const [up, line] = await sample("mayfly_leaf_up");
    assert.equal(up, 1);
    assert.ok(line.includes(`{account="${e.account}",peer="${e.peer}",role="${e.spoke ? "spoke" : "hub"}"}`), line);
    for (const way of ["in", "out"]) {
      assert.ok((await sample(`mayfly_leaf_${way}_msgs_total`))[0] >= 10);
      assert.ok((await sample(`mayfly_leaf_${way}_bytes_total`))[0] >= 50);
    }
    assert.ok((await sample("mayfly_leaf_interest"))[0] > 0);
    assert.equal((await sample("mayfly_leaf_pending_bytes"))[0], 0);
    await until("a round trip time", async () => (await sample("mayfly_leaf_rtt_seconds"))[0] > 0);
    if (place === "leaf") {
      assert.equal((await sample("mayfly_leaf_remote_up"))[0], 1);
      assert.equal((await sample("mayfly_leaf_remote_links_total"))[0], 1);
    }
    await w.proxy.cut();
    await until("the link to be gone", async () => (await sample("mayfly_leaf_up")) === undefined);
    if (place === "leaf") {
      assert.equal((await sample("mayfly_leaf_remote_up"))[0], 0);
      const attempts = (await sample("mayfly_leaf_remote_attempts_total"))[0];
      await until("further attempts", async () => (await sample("mayfly_leaf_remote_attempts_total"))[0] > attempts);
      await w.proxy.restore();
      await until("the second link", async () => (await sample("mayfly_leaf_remote_links_total"))[0] === 2);
    }
  });
