// authorisation.mjs: a permission holds for a thing under each of its names.  A table: each effect of the JetStream API through
// each name it has (plain, the domain's, a mapping, an import), for a user who is denied the plain name.
import assert from "node:assert/strict";
import { headers, wsconnect } from "@nats-io/transport-node";
import WebSocket from "ws";
import { certs, tlsBlock } from "./lib/certs.mjs";
import { jetstreamBlock } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const mayfly = { only: "mayfly" };
const as = (user) => ({ user, pass: "p" });
const text = (body) => (typeof body === "string" ? body : JSON.stringify(body));
const api = async (nc, subject, body = "") =>
  (await nc.request(subject, text(body), { timeout: LIMIT_MS })).json();
const violation = (subject) => `Permissions Violation for Publish to "${subject}"`;
const errorsOf = (nc) => nc.errors.splice(0).map((e) => e.message);

// --- the world: a stream with a consumer, a KV bucket ---------------------------------------------

const X = { name: "X", subjects: ["x.>"], allow_direct: true };
const KV = { name: "KV_secret", subjects: ["$KV.secret.>"], allow_direct: true };
const consumer = (name, more) => ({ stream_name: "X", config: { name, ack_policy: "explicit", ...more } });

async function build(root) {
  for (const name of ["X", "KV_secret", "NEW"]) await api(root, `$JS.API.STREAM.DELETE.${name}`);
  for (const c of [X, KV]) assert.equal((await api(root, `$JS.API.STREAM.CREATE.${c.name}`, c)).error, undefined);
  for (const s of ["x.1", "x.2", "$KV.secret.old"]) await api(root, s, "{}");
  assert.equal((await api(root, "$JS.API.CONSUMER.CREATE.X.C", consumer("C", { durable_name: "C", inactive_threshold: 0 }))).error, undefined);
}

// Everything the effects below may change.
async function look(root) {
  const streams = (await api(root, "$JS.API.STREAM.LIST")).streams ?? [];
  const seen = [];
  for (const s of streams) {
    const list = (await api(root, `$JS.API.CONSUMER.LIST.${s.config.name}`)).consumers ?? [];
    const { metadata, ...config } = s.config;
    seen.push([config, s.state, list.map((c) => [c.name, c.config, c.delivered, c.paused, c.num_ack_pending])]);
  }
  return JSON.stringify(seen);
}

// [what, the plain name behind $JS.API. (or as it is, for buckets), body]
const effects = [
  ["account info", "INFO", ""],
  ["create a stream", "STREAM.CREATE.NEW", { name: "NEW", subjects: ["new"] }],
  ["update a stream", "STREAM.UPDATE.X", { ...X, description: "changed" }],
  ["stream info", "STREAM.INFO.X", ""],
  ["stream names", "STREAM.NAMES", ""],
  ["stream list", "STREAM.LIST", ""],
  ["get a message", "STREAM.MSG.GET.X", { seq: 1 }],
  ["get a message directly", "DIRECT.GET.X", { seq: 1 }],
  ["get the last of a subject directly", "DIRECT.GET.X.x.1", ""],
  ["get several directly", "DIRECT.GET.X", { seq: 1, batch: 2 }],
  ["read a key", "DIRECT.GET.KV_secret.$KV.secret.old", ""],
  ["delete a message", "STREAM.MSG.DELETE.X", { seq: 1 }],
  ["purge", "STREAM.PURGE.X", ""],
  ["purge a subject", "STREAM.PURGE.X", { filter: "x.1" }],
  ["delete a stream", "STREAM.DELETE.X", ""],
  ["snapshot", "STREAM.SNAPSHOT.X", { deliver_subject: "chunks", no_consumers: true }],
  ["restore", "STREAM.RESTORE.NEW", { config: { name: "NEW", subjects: ["new"] }, state: {} }],
  ["create a consumer", "CONSUMER.CREATE.X.D", { ...consumer("D"), action: "create" }],
  ["create a filtered consumer", "CONSUMER.CREATE.X.D.x.1", consumer("D", { filter_subject: "x.1" })],
  ["create an ephemeral", "CONSUMER.CREATE.X", consumer(undefined)],
  ["create a durable", "CONSUMER.DURABLE.CREATE.X.D", consumer(undefined, { durable_name: "D" })],
  ["consumer info", "CONSUMER.INFO.X.C", ""],
  ["consumer names", "CONSUMER.NAMES.X", ""],
  ["consumer list", "CONSUMER.LIST.X", ""],
  ["pause a consumer", "CONSUMER.PAUSE.X.C", { pause_until: "2999-01-01T00:00:00Z" }],
  ["reset a consumer", "CONSUMER.RESET.X.C", ""],
  ["next message", "CONSUMER.MSG.NEXT.X.C", { batch: 1, no_wait: true }],
  ["delete a consumer", "CONSUMER.DELETE.X.C", ""],
  ["write a key", "$KV.secret.k", "new"],
].map(([what, name, body]) => ({ what, name, body, plain: name.startsWith("$") ? name : `$JS.API.${name}` }));

// The names of an effect.  `to`: the subject that the permission is about.
const names = {
  "the plain name": { from: (e) => e.plain },
  "the domain's name": { from: (e) => `$JS.hub.API.${e.name}` },
  "a mapping": { from: (e) => (e.name.startsWith("$") ? `way.kv.k` : `way.map.${e.name}`) },
};

const users = `
  {user: root, password: p}
  {user: denied, password: p, permissions: { publish: { deny: ["$JS.API.>", "$KV.>"] } } }
  {user: unlisted, password: p, permissions: { publish: ["$JS.hub.API.>", "way.>"] } }
  {user: narrow, password: p, permissions: { publish: { deny: ["$JS.API.STREAM.DELETE.X", "$KV.secret.k", "$JS.API.STREAM.PURGE.*"] } } }`;
const config = (extra = "") => `accounts {
  A { jetstream: enabled, users: [ ${users} ${extra} ]
      mappings: { "way.map.>": "$JS.API.>", "way.kv.*": "$KV.secret.$1", "way.dom.>": "$JS.hub.API.>" } } }
  ${jetstreamBlock("domain: hub")}`;

// Publishes e by a name, and returns what came back.
async function attempt(nc, e, subject) {
  const inbox = collect(nc, `_INBOX.${nc.info.client_id}.${Math.random().toString(36).slice(2)}`);
  nc.publish(subject, text(e.body), { reply: inbox.sub.getSubject() });
  await nc.flush();
  return inbox;
}

for (const [way, name] of Object.entries(names)) {
  scenario(`whoever may do it does it through ${way}`, async (t) => {
    const s = await t.server({ config: config() });
    const root = await t.connect(s, as("root"));
    collect(root, "chunks"); // of snapshots
    for (const e of effects) {
      await build(root);
      const got = await attempt(root, e, name.from(e));
      await until(`${e.what}: an answer`, () => got.length > 0);
      const said = got[0].string();
      assert.doesNotMatch(said, /"error"/, `${e.what}: ${said}`);
      assert.ok(!["404", "408", "503"].includes(String(got[0].headers?.code ?? "")), `${e.what}: ${got[0].headers?.code}`);
    }
    assert.deepEqual(errorsOf(root), []);
  });

  for (const user of ["denied", "unlisted"])
    scenario(`whoever is ${user} the plain name does nothing through ${way}`, async (t) => {
      const s = await t.server({ config: config() });
      const root = await t.connect(s, as("root"));
      await build(root);
      const before = await look(root);
      const nc = await t.connect(s, as(user));
      for (const e of effects) {
        const got = await attempt(nc, e, name.from(e));
        await until(`${e.what}: the refusal`, () => nc.errors.length > 0);
        assert.deepEqual(errorsOf(nc), [violation(e.plain)], e.what);
        assert.equal(await look(root), before, e.what);
        assert.equal(got.length, 0, `${e.what}: ${got[0]?.data}`);
      }
    });
}

scenario("a narrow deny holds under every name, the rest stays allowed", async (t) => {
  const s = await t.server({ config: config() });
  const root = await t.connect(s, as("root"));
  await build(root);
  const before = await look(root);
  const nc = await t.connect(s, as("narrow"));
  for (const name of Object.values(names))
    for (const e of effects.filter((x) => /^(delete a stream|purge|write a key)/.test(x.what))) {
      const got = await attempt(nc, e, name.from(e));
      await until("the refusal", () => nc.errors.length > 0);
      assert.deepEqual([errorsOf(nc), got.length], [[violation(e.plain)], 0]);
    }
  assert.equal(await look(root), before);
  for (const prefix of ["$JS.API", "$JS.hub.API", "way.map"]) assert.equal((await api(nc, `${prefix}.STREAM.INFO.X`)).config.name, "X");
  assert.deepEqual(errorsOf(nc), []);
});

// One mapping is applied to a message, never a second one: what a mapping leads to under the domain's name reaches nobody.
scenario("a mapping to the domain's name leads nowhere", async (t) => {
  const s = await t.server({ config: config() });
  for (const user of ["root", "denied", "unlisted"]) {
    const nc = await t.connect(s, as(user));
    await assert.rejects(nc.request("way.dom.STREAM.NAMES", "", { timeout: LIMIT_MS }), /no responders/, user);
  }
});

scenario("the domain's name leads to the API, and nowhere else", async (t) => {
  const s = await t.server({ config: config() });
  const root = await t.connect(s, as("root"));
  for (const subject of ["$JS.hub.API", "$JS.hub.API.BOGUS", "$JS.hub.API.STREAM", "$JS.hub.API.INFO.x", "$JS.hub.API.$JS.API.INFO", "$JS.hub.x", "$JS.other.API.INFO", "$JS.HUB.API.INFO"])
    await assert.rejects(root.request(subject, "", { timeout: LIMIT_MS }), /no responders/, subject);
  // A subscriber hears a request under the name that permissions and the API know.
  const plain = collect(root, "$JS.API.>");
  const domain = collect(root, "$JS.hub.API.>");
  await root.flush();
  await api(root, "$JS.hub.API.STREAM.NAMES");
  assert.deepEqual([plain.map((m) => m.subject), domain.length], [["$JS.API.STREAM.NAMES"], 0]);
});

// --- however the user came in ---------------------------------------------------------------------

const deny = '{ publish: { deny: ["$JS.API.STREAM.>", "$KV.>"] } }';

async function refusedByDomain(nc) {
  for (const [rest, plain] of [["STREAM.NAMES", "$JS.API.STREAM.NAMES"], ["$KV.secret.k", "$KV.secret.k"]]) {
    nc.publish(`$JS.hub.API.${rest}`, "");
    await until("the refusal", () => nc.errors.length > 0);
    assert.deepEqual(errorsOf(nc), [violation(plain)]);
  }
}

scenario("no_auth_user, default_permissions, WebSocket: the domain's name is refused to each", async (t) => {
  const s = await t.server({
    config: `accounts { A { jetstream: enabled, users: [ {user: guest, password: p, permissions: ${deny}}, {user: plain, password: p} ], default_permissions: ${deny} } }
      no_auth_user: guest
      websocket { listen: "127.0.0.1:-1", no_tls: true, no_auth_user: guest }
      ${jetstreamBlock("domain: hub")}`,
    monitor: true,
  });
  await refusedByDomain(await t.connect(s));
  await refusedByDomain(await t.connect(s, as("plain")));
  const wsFactory = async () => ({ socket: new WebSocket(s.ws), encrypted: false });
  const ws = await wsconnect({ servers: s.ws, reconnect: false, timeout: LIMIT_MS, wsFactory });
  t.after(() => ws.close());
  ws.errors = [];
  (async () => {
    for await (const x of ws.status()) if (x.type === "error") ws.errors.push(x.error);
  })().catch(() => {});
  await refusedByDomain(ws);
});

scenario("a user by certificate: the domain's name is refused", async (t) => {
  const c = certs();
  const s = await t.server({
    config: `${tlsBlock("verify_and_map: true")}
      authorization { users: [ { user: "derek@example.test", permissions: ${deny} } ] }
      ${jetstreamBlock("domain: hub")}`,
  });
  await refusedByDomain(await t.connect(s, { tls: { servername: "localhost", ...c.trust("mapped") } }));
});

scenario("a reload changes what the domain's name may do", async (t) => {
  const conf = (p) => `authorization { users: [ {user: u, password: p ${p}} ] }\n${jetstreamBlock("domain: hub")}`;
  const s = await t.server({ config: conf("") });
  const r = await (await t.raw(s)).connect(as("u"));
  const said = async (subject) => {
    r.send(`PUB ${subject} 0`, "");
    return (await r.ping()).match(/-ERR '.*'/)?.[0] ?? "";
  };
  assert.equal(await said("$JS.hub.API.STREAM.NAMES"), "");
  s.reload(conf(`, permissions: ${deny}`));
  await until("the new permissions", async () => await said("$JS.API.STREAM.NAMES"));
  assert.equal(await said("$JS.hub.API.STREAM.NAMES"), `-ERR '${violation("$JS.API.STREAM.NAMES")}'`);
  s.reload(conf(""));
  await until("the old permissions", async () => !(await said("$JS.API.STREAM.NAMES")));
  assert.equal(await said("$JS.hub.API.STREAM.NAMES"), "");
});

// --- names in subject and body --------------------------------------------------------------------

scenario("the name in the subject is the name of the thing: another one in the body is refused", async (t) => {
  const s = await t.server({
    config: `authorization { users: [ {user: root, password: p}
      {user: u, password: p, permissions: { publish: { deny: ["$JS.API.STREAM.*.SECRET", "$JS.API.CONSUMER.CREATE.SECRET.>", "$JS.API.CONSUMER.CREATE.X.*.x.secret", "$JS.API.CONSUMER.DURABLE.CREATE.X.BAD"] } } } ] }
      ${jetstreamBlock()}`,
  });
  const root = await t.connect(s, as("root"));
  await build(root);
  const before = await look(root);
  const u = await t.connect(s, as("u"));
  const refusals = [
    ["STREAM.CREATE.FREE", { name: "SECRET", subjects: ["s.>"] }, 10056],
    ["STREAM.UPDATE.X", { name: "SECRET", subjects: ["s.>"] }, 10056],
    ["STREAM.RESTORE.FREE", { config: { name: "SECRET", subjects: ["s.>"] }, state: {} }, 10056],
    ["CONSUMER.CREATE.X", { stream_name: "SECRET", config: {} }, 10056],
    ["CONSUMER.CREATE.X", { stream_name: "X", config: { durable_name: "BAD" } }, 10020],
    ["CONSUMER.CREATE.X", { stream_name: "X", config: { name: "BAD", durable_name: "BAD" } }, 10020],
    ["CONSUMER.CREATE.X.GOOD", { stream_name: "X", config: { name: "GOOD", durable_name: "BAD" } }, 10017],
    ["CONSUMER.DURABLE.CREATE.X.GOOD", { stream_name: "X", config: { durable_name: "BAD" } }, 10017],
    ["CONSUMER.CREATE.X.GOOD.x.open", { stream_name: "X", config: { name: "GOOD", filter_subject: "x.secret" } }, 10131],
    ["CONSUMER.CREATE.X.GOOD.x.open", { stream_name: "X", config: { name: "GOOD", filter_subjects: ["x.open", "x.secret"] } }, 10137],
  ];
  for (const [op, body, code] of refusals) {
    const r = await api(u, `$JS.API.${op}`, body);
    assert.equal(r.error?.err_code, code, `${op} ${JSON.stringify(body)}: ${JSON.stringify(r.error)}`);
  }
  assert.equal(await look(root), before);
  // Where no durable name contradicts it, the subject's name wins.
  for (const op of ["CONSUMER.CREATE.X.GOOD", "CONSUMER.DURABLE.CREATE.X.FINE"]) {
    const durable_name = op.includes("DURABLE") ? "FINE" : undefined;
    assert.equal((await api(u, `$JS.API.${op}`, { stream_name: "X", config: { name: "BAD", durable_name } })).name, op.split(".").at(-1));
  }
});

// --- messages of the server are no requests -------------------------------------------------------

const answered = `accounts {
  A { jetstream: enabled
      users: [ {user: root, password: p}
        {user: u, password: p, permissions: { publish: { deny: ["$JS.API.STREAM.PURGE.>", "$KV.>", "box.>"] } } }
        {user: few, password: p, permissions: { publish: ["in.>", "$JS.API.DIRECT.GET.>", "$JS.API.CONSUMER.MSG.NEXT.>", "$JS.API.STREAM.INFO.*", "$SYS.REQ.USER.INFO", "$JS.ACK.>"] } } ] } }
  ${jetstreamBlock("domain: hub")}`;

async function answering(t) {
  const s = await t.server({ config: answered });
  const root = await t.connect(s, as("root"));
  await build(root);
  await api(root, "$JS.API.STREAM.CREATE.IN", { name: "IN", subjects: ["in.>"], allow_direct: true });
  await api(root, "in.empty", "{}");
  await api(root, "$JS.API.CONSUMER.CREATE.IN.P", { stream_name: "IN", config: { name: "P", durable_name: "P", ack_policy: "none" } });
  return { s, root };
}
const questions = [
  ["a publish", "in.a", "v"],
  ["a direct get", "$JS.API.DIRECT.GET.IN.in.empty", ""],
  ["a direct get of several", "$JS.API.DIRECT.GET.IN", { seq: 1, batch: 1 }],
  ["a pull", "$JS.API.CONSUMER.MSG.NEXT.IN.P", { batch: 1, no_wait: true }],
  ["a request of the API", "$JS.API.STREAM.INFO.IN", ""],
  ["a request about the user", "$SYS.REQ.USER.INFO", ""],
];

// nats-server executes the answer to a direct get, and stores all of these.
for (const user of ["u", "few"])
  scenario(`the server's answer goes where ${user} may not publish: refused, nothing is stored or executed`, mayfly, async (t) => {
    const { s, root } = await answering(t);
    const before = await look(root);
    const nc = await t.connect(s, as(user));
    for (const reply of ["$JS.API.STREAM.PURGE.X", "$KV.secret.k"])
      for (const [what, subject, body] of questions) {
        nc.publish(subject, text(body), { reply });
        await until(`${what}: the refusal`, () => nc.errors.length > 0);
        assert.deepEqual(errorsOf(nc), [`Permissions Violation for Publish with Reply of "${reply}"`], what);
      }
    assert.equal(await look(root), before);
  });

// Whoever may publish there himself: the answer is stored, as in nats-server, but the API does not execute it.
scenario("the server's answer under a subject of the API is not executed", mayfly, async (t) => {
  const { root } = await answering(t);
  for (const reply of ["$JS.API.STREAM.PURGE.X", "$JS.API.STREAM.DELETE.X", "$JS.hub.API.STREAM.PURGE.X"])
    for (const [, subject, body] of questions) root.publish(subject, text(body), { reply });
  await root.flush();
  const x = await api(root, "$JS.API.STREAM.INFO.X");
  assert.deepEqual([x.error, x.state.messages], [undefined, 2]);
});

scenario("the server's answer to an inbox of any name: delivered", async (t) => {
  const { s } = await answering(t);
  const few = await t.connect(s, as("few"));
  const got = collect(few, "mine.*");
  for (const [i, [, subject, body]] of questions.entries()) few.publish(subject, text(body), { reply: `mine.${i}` });
  await until("an answer to each", () => new Set(got.map((m) => m.subject)).size === questions.length);
  assert.deepEqual(errorsOf(few), []);
});

scenario("the server's answer to an inbox, beside a stream that stores everything: delivered", async (t) => {
  const { s, root } = await answering(t);
  for (const name of ["X", "KV_secret", "IN"]) await api(root, `$JS.API.STREAM.DELETE.${name}`);
  assert.equal((await api(root, "$JS.API.STREAM.CREATE.ALL", { name: "ALL", subjects: [">"], no_ack: true })).error, undefined);
  const few = await t.connect(s, as("few"));
  const got = collect(few, "mine.*");
  few.publish("$JS.API.STREAM.INFO.ALL", "", { reply: "mine.1" });
  await until("the answer", () => got.length > 0);
  assert.deepEqual(errorsOf(few), []);
});

// nats-server executes what is republished there.
for (const dest of ["$JS.API.STREAM.PURGE.X", "$JS.API.STREAM.DELETE.X", "$JS.hub.API.STREAM.PURGE.X"])
  scenario(`republished to ${dest}: not executed`, mayfly, async (t) => {
    const { s, root } = await answering(t);
    assert.equal((await api(root, "$JS.API.STREAM.CREATE.REP", { name: "REP", subjects: ["rep"], republish: { src: "rep", dest } })).error, undefined);
    const heard = collect(root, dest);
    await root.flush();
    const u = await t.connect(s, as("u"));
    u.publish("rep", "");
    await until("the copy", () => heard.length > 0);
    const x = await api(root, "$JS.API.STREAM.INFO.X");
    assert.deepEqual([x.error, x.state.messages], [undefined, 2]);
  });

scenario("a push consumer that delivers to the API: not executed", async (t) => {
  const { root } = await answering(t);
  const dest = "$JS.API.STREAM.PURGE.X";
  const heard = collect(root, dest);
  await root.flush();
  assert.equal((await api(root, "$JS.API.CONSUMER.CREATE.IN", { stream_name: "IN", config: { deliver_subject: dest, ack_policy: "none" } })).error, undefined);
  await until("the delivery", () => heard.length > 0);
  assert.equal((await api(root, "$JS.API.STREAM.INFO.X")).state.messages, 2);
});

// --- other accounts -------------------------------------------------------------------------------

const two = (more = "") => `accounts {
  A { jetstream: enabled, users: [ {user: root, password: p} ]
      exports: [ {service: "$JS.API.>", response_type: stream, accounts: [B, P]}, {service: "$KV.>", accounts: [B]}, {service: "svc"}, {service: "$JS.hub.API.>", response_type: stream, accounts: [B]} ] }
  B { jetstream: enabled
      users: [ {user: b, password: p}, {user: u, password: p, permissions: { publish: { deny: ["from.a.STREAM.DELETE.>", "from.a.STREAM.PURGE.>", "a.kv.>", "$JS.API.>"] } } } ]
      mappings: { "way.a.>": "from.a.>", "way.kv.>": "a.kv.>" }
      imports: [ {service: {account: A, subject: "$JS.API.>"}, to: "from.a.>"}, {service: {account: A, subject: "$JS.hub.API.>"}, to: "hub.a.>"}
                 {service: {account: A, subject: "$KV.>"}, to: "a.kv.>"}, {service: {account: A, subject: "svc"}} ] }
  P { users: [ {user: p, password: p} ], imports: [ {service: {account: A, subject: "$JS.API.>"}} ] }
  N { users: [ {user: n, password: p} ] }
  S { users: [ {user: s, password: p} ] }
  ${more} }
  system_account: S
  ${jetstreamBlock("domain: hub")}`;

scenario("an imported API: permissions are about its local name", async (t) => {
  const s = await t.server({ config: two() });
  const root = await t.connect(s, as("root"));
  await build(root);
  const before = await look(root);
  const u = await t.connect(s, as("u"));
  for (const [subject, refused] of [
    ["from.a.STREAM.DELETE.X", "from.a.STREAM.DELETE.X"],
    ["way.a.STREAM.DELETE.X", "from.a.STREAM.DELETE.X"],
    ["way.a.STREAM.PURGE.X", "from.a.STREAM.PURGE.X"],
    ["a.kv.secret.k", "a.kv.secret.k"],
    ["way.kv.secret.k", "a.kv.secret.k"],
    ["$JS.API.STREAM.NAMES", "$JS.API.STREAM.NAMES"],
    ["$JS.hub.API.STREAM.NAMES", "$JS.API.STREAM.NAMES"],
  ]) {
    u.publish(subject, "");
    await until("the refusal", () => u.errors.length > 0);
    assert.deepEqual(errorsOf(u), [violation(refused)], subject);
  }
  assert.equal(await look(root), before);
  // What is not denied reaches A's streams under each name, and B's own under the plain one.
  for (const prefix of ["from.a", "way.a", "hub.a"]) assert.deepEqual((await api(u, `${prefix}.STREAM.NAMES`)).streams.sort(), ["KV_secret", "X"], prefix);
  assert.equal((await api(await t.connect(s, as("b")), "$JS.hub.API.STREAM.NAMES")).streams, null);
  assert.deepEqual(errorsOf(u), []);
});

scenario("accounts that import the API, have none, or are the system's: what the domain's name leads to", async (t) => {
  const s = await t.server({ config: two() });
  const root = await t.connect(s, as("root"));
  await build(root);
  const p = await t.connect(s, as("p"));
  assert.deepEqual((await api(p, "$JS.API.STREAM.NAMES")).streams.sort(), ["KV_secret", "X"]);
  for (const op of ["INFO", "STREAM.NAMES", "STREAM.DELETE.X"]) await assert.rejects(p.request(`$JS.hub.API.${op}`, "", { timeout: LIMIT_MS }), /no responders/, op);
  const n = await t.connect(s, as("n"));
  for (const op of ["INFO", "STREAM.NAMES", "STREAM.DELETE.X"]) assert.equal((await api(n, `$JS.hub.API.${op}`)).error.err_code, 10039, op);
  const sys = await t.connect(s, as("s"));
  for (const op of ["INFO", "STREAM.NAMES", "STREAM.DELETE.X", "BOGUS"]) assert.equal((await api(sys, `$JS.hub.API.${op}`)).error.err_code, 10039, op);
  assert.equal((await api(root, "$JS.API.STREAM.INFO.X")).error, undefined);
});

scenario("an account that the export does not name may not import the API", async (t) => {
  for (const [what, local] of [["$JS.API.>", "x.>"], ["$JS.API.STREAM.DELETE.*", "x.*"], ["$JS.hub.API.>", "x.>"], ["$KV.>", "x.>"]]) {
    const s = t.prepare({ config: two(`Z { users: [ {user: z, password: p} ], imports: [ {service: {account: A, subject: "${what}"}, to: "${local}"} ] }`) });
    await assert.rejects(s.start());
    assert.match(s.log(), /service import not authorized/, what);
  }
});

scenario("the answer of another account's service is no request, whatever subject it was asked for", async (t) => {
  const s = await t.server({ config: two() });
  const root = await t.connect(s, as("root"));
  await build(root);
  const asked = collect(root, "svc");
  root.subscribe("svc", { callback: (_, m) => m.respond("") });
  const b = await t.connect(s, as("b"));
  await api(b, "$JS.API.STREAM.CREATE.OWN", { name: "OWN", subjects: ["own"] });
  await api(b, "own", "");
  await root.flush();
  for (const reply of ["$JS.API.STREAM.PURGE.OWN", "$JS.API.STREAM.DELETE.OWN", "$JS.hub.API.STREAM.PURGE.OWN", "from.a.STREAM.PURGE.X"]) {
    const heard = reply.startsWith("$JS.API") ? collect(b, reply) : [];
    b.publish("svc", "", { reply });
    if (reply.startsWith("$JS.API")) await until("the answer", () => heard.length > 0);
  }
  await until("each question", () => asked.length === 4);
  await root.flush(); // its answers were taken
  await b.flush();
  assert.equal((await api(b, "$JS.API.STREAM.INFO.OWN")).state.messages, 1);
  assert.equal((await api(root, "$JS.API.STREAM.INFO.X")).state.messages, 2);
});

const system = ["SERVER.PING", "SERVER.PING.VARZ", "SERVER.PING.JSZ", "ACCOUNT.A.INFO", "ACCOUNT.A.CONNZ", "ACCOUNT.A.JSZ", "ACCOUNT.S.CONNZ", "ACCOUNT.PING.SUBSZ", "ACCOUNT.NSUBS", "CLAIMS.LIST"];
scenario("requests to the system account are refused to all others, also by an import under another name", async (t) => {
  const s = await t.server({ config: two() });
  for (const user of ["root", "b", "n"]) {
    const nc = await t.connect(s, as(user));
    const id = JSON.parse((await nc.request("$SYS.REQ.USER.INFO", "", { timeout: LIMIT_MS })).string()).server.id;
    for (const op of [...system, `SERVER.${id}.KICK`, `SERVER.${id}.RELOAD`, `SERVER.${id}.LDM`])
      await assert.rejects(nc.request(`$SYS.REQ.${op}`, "", { timeout: LIMIT_MS }), /no responders/, `${user} ${op}`);
    for (const subject of ["$SYS.DEBUG.SUBSCRIBERS", "$SYS.ACCOUNT.A.CONNECT", "$SYS.SERVER.x.STATSZ"])
      await assert.rejects(nc.request(subject, "", { timeout: LIMIT_MS }), /no responders/, `${user} ${subject}`);
  }
  const bad = t.prepare({ config: two('Z { users: [ {user: z, password: p} ], imports: [ {service: {account: S, subject: "$SYS.REQ.SERVER.PING"}, to: "x"} ] }') });
  await assert.rejects(bad.start());
  assert.match(bad.log(), /service import not authorized/);
});

// --- allow_responses ------------------------------------------------------------------------------

const responders = `accounts {
  A { jetstream: enabled
      users: [ {user: root, password: p}
        {user: r, password: p, permissions: { publish: { allow: ["ask"], deny: ["no.>"] }, subscribe: ["ask", "mine.>", "box.>"], allow_responses: { max: 5, expires: "1m" } } } ] } }
  ${jetstreamBlock("domain: hub")}`;

// nats-server grants each of these.
scenario("allow_responses: nobody grants himself what he is denied, nor a stream, nor the API", mayfly, async (t) => {
  const s = await t.server({ config: responders });
  const root = await t.connect(s, as("root"));
  await build(root);
  const before = await look(root);
  const [r, other] = [await t.connect(s, as("r")), await t.connect(s, as("r"))];
  const got = collect(r, "ask");
  await r.flush();
  for (const asker of [r, other])
    for (const reply of ["$JS.API.STREAM.PURGE.X", "$SYS.REQ.USER.INFO", "$KV.secret.k", "x.3", "no.such"]) {
      const n = got.length;
      asker.publish("ask", "", { reply });
      await until("the question", () => got.length > n);
      r.publish(reply, "");
      await until("the refusal", () => r.errors.length > 0);
      assert.deepEqual(errorsOf(r), [violation(reply)]);
    }
  // Even if somebody else asks, the API is not an answer.
  const n = got.length;
  root.publish("ask", "", { reply: "$JS.API.STREAM.PURGE.X" });
  await until("the question", () => got.length > n);
  r.publish("$JS.API.STREAM.PURGE.X", "");
  await until("the refusal", () => r.errors.length > 0);
  assert.equal(await look(root), before);
});

scenario("allow_responses: answers to oneself, to others, and acks", async (t) => {
  const s = await t.server({ config: responders });
  const root = await t.connect(s, as("root"));
  await build(root);
  const r = await t.connect(s, as("r"));
  const mine = collect(r, "mine.>");
  r.subscribe("ask", { callback: (_, m) => m.respond("answer") });
  await r.flush();
  r.publish("ask", "", { reply: "mine.1" });
  await until("its own answer", () => mine.length > 0);
  assert.equal((await root.request("ask", "", { timeout: LIMIT_MS })).string(), "answer");
  root.publish("ask", "", { reply: "x.3" }); // into a stream, for somebody else
  await until("the answer in the stream", async () => (await api(root, "$JS.API.STREAM.INFO.X")).state.messages === 3);
  const box = collect(r, "box.1");
  await r.flush();
  root.publish("$JS.API.CONSUMER.MSG.NEXT.X.C", '{"batch":1}', { reply: "box.1" });
  await until("the message", () => box.length > 0);
  box[0].respond("+ACK");
  await until("its ack", async () => (await api(root, "$JS.API.CONSUMER.INFO.X.C")).ack_floor.consumer_seq === 1);
  assert.deepEqual(errorsOf(r), []);
});

// --- what a message or a configuration names ------------------------------------------------------

// As in nats-server: the stream's subjects limit a schedule's target; the permissions of whoever placed it do not.
scenario("a schedule fires on subjects of its own stream only", async (t) => {
  const { s, root } = await answering(t);
  const sched = { name: "SCH", subjects: ["sch.>", "box.>"], allow_msg_schedules: true, allow_msg_ttl: true };
  assert.equal((await api(root, "$JS.API.STREAM.CREATE.SCH", sched)).error, undefined);
  const u = await t.connect(s, as("u"));
  const place = async (target) => {
    const h = headers();
    h.set("Nats-Schedule", `@at ${new Date(Date.now() + 1000).toISOString()}`);
    h.set("Nats-Schedule-Target", target);
    return (await u.request("sch.a", "v", { headers: h, timeout: LIMIT_MS })).json();
  };
  for (const target of ["$KV.secret.k", "x.3", "$JS.API.STREAM.PURGE.X", "$JS.hub.API.STREAM.PURGE.X", "in.a"])
    assert.equal((await place(target)).error?.err_code, 10190, target);
  assert.equal((await place("box.1")).error, undefined);
  await until("the message", async () => (await api(root, "$JS.API.STREAM.MSG.GET.SCH", { last_by_subj: "box.1" })).message);
  assert.equal((await api(root, "$JS.API.STREAM.INFO.X")).state.messages, 2);
});
