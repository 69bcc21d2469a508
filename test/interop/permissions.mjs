// permissions.mjs: what a user may publish and hear, and how the server says no.
import assert from "node:assert/strict";
import { collect, scenario } from "./lib/scenario.mjs";
import { steadily, until } from "./lib/wait.mjs";

const users = (...list) => `authorization { users: [ ${list.join("\n")}\n{user: root, password: p} ] }`;
const as = (user) => ({ user, pass: "p" });

scenario("publish: allowed passes, the rest is refused and not delivered", async (t) => {
  const s = await t.server({
    config: users("{user: u, password: p, permissions: { publish: { allow: [\"ok.>\", plain], deny: \"ok.secret\" } } }"),
  });
  const root = await t.connect(s, as("root"));
  const got = collect(root, ">");
  await root.flush();
  const nc = await t.connect(s, as("u"));
  for (const subject of ["ok.a", "plain", "ok.secret", "other", "ok.b"]) nc.publish(subject, "x");
  await nc.flush();
  await until("both refusals", () => nc.errors.length === 2);
  assert.deepEqual(nc.errors.map((e) => e.message), [
    'Permissions Violation for Publish to "ok.secret"',
    'Permissions Violation for Publish to "other"',
  ]);
  await until("the allowed ones", () => got.length === 3);
  assert.deepEqual(got.map((m) => m.subject), ["ok.a", "plain", "ok.b"]);
  assert.ok(!nc.isClosed());
});

scenario("subscribe: refused with its subject, the connection lives on", async (t) => {
  const s = await t.server({
    config: users('{user: u, password: p, permissions: { subscribe: { allow: ["in.>"], deny: ["in.secret"] } } }'),
  });
  const nc = await t.connect(s, as("u"));
  const bad = collect(nc, "elsewhere");
  const worse = collect(nc, "in.secret");
  const good = collect(nc, "in.a");
  await nc.flush();
  await until("both refusals", () => bad.length === 1 && worse.length === 1);
  assert.match(bad[0].message, /Permissions Violation for Subscription to "elsewhere"/);
  assert.match(worse[0].message, /Subscription to "in.secret"/);
  nc.publish("in.a", "yes");
  await nc.flush();
  assert.deepEqual(good.texts(), ["yes"]);
});

scenario("a wide subscription is kept and what is denied is held back", async (t) => {
  const s = await t.server({
    config: users('{user: u, password: p, permissions: { subscribe: { deny: ["in.secret", "in.*.hidden"] } } }'),
  });
  const nc = await t.connect(s, as("u"));
  const got = collect(nc, "in.>");
  await nc.flush();
  for (const subject of ["in.a", "in.secret", "in.x.hidden", "in.x.shown"]) nc.publish(subject, "");
  await nc.flush();
  assert.deepEqual(got.map((m) => m.subject), ["in.a", "in.x.shown"]);
  assert.equal(nc.errors.length, 0);
});

scenario("queue subscriptions have permissions of their own", async (t) => {
  const s = await t.server({
    config: users('{user: u, password: p, permissions: { subscribe: { allow: ["jobs v1", "jobs *.dev"] } } }'),
  });
  const r = await (await t.raw(s)).connect(as("u"));
  r.send("SUB jobs v1 1", "SUB jobs v2 2", "SUB jobs 3", "SUB jobs a.dev 4");
  const text = await r.ping();
  assert.match(text, /-ERR 'Permissions Violation for Subscription to "jobs" using queue "v2"'/);
  assert.match(text, /-ERR 'Permissions Violation for Subscription to "jobs"'/);
  assert.equal(text.match(/-ERR/g).length, 2);
  const root = await (await t.raw(s)).connect(as("root"));
  root.send("PUB jobs 1", "x");
  await root.ping();
  assert.deepEqual([(await r.expect(/MSG jobs (\d)/))[1], (await r.expect(/MSG jobs (\d)/))[1]].sort(), ["1", "4"]);
});

scenario("nats.js learns which queue was refused", async (t) => {
  const s = await t.server({
    config: users('{user: u, password: p, permissions: { subscribe: { allow: "q.>", deny: "q.> bad" } } }'),
  });
  const nc = await t.connect(s, as("u"));
  const got = collect(nc, "q.a", { queue: "bad" });
  await nc.flush();
  await until("the refusal", () => got.length === 1);
  assert.equal(got[0].operation, "subscription");
  assert.equal(got[0].subject, "q.a");
  assert.equal(got[0].queue, "bad");
});

scenario("allow_responses: one answer to what was asked, nothing else", async (t) => {
  const s = await t.server({
    config: users('{user: svc, password: p, permissions: { subscribe: "ask", allow_responses: true } }'),
  });
  const root = await t.connect(s, as("root"));
  const svc = await t.connect(s, as("svc"));
  svc.subscribe("ask", {
    callback: (_, m) => {
      m.respond("first");
      m.respond("second");
      svc.publish("elsewhere", "x");
    },
  });
  await svc.flush();
  const got = collect(root, "box.>");
  root.publish("ask", "?", { reply: "box.1" });
  await root.flush();
  await until("the refusals", () => svc.errors.length === 2);
  await root.flush(); // the refusals came on another connection
  assert.deepEqual(got.texts(), ["first"]);
  assert.match(svc.errors[0].message, /Publish to "box.1"/);
  assert.match(svc.errors[1].message, /Publish to "elsewhere"/);
  assert.equal((await root.request("ask", "", { timeout: 60000 })).string(), "first");
});

scenario("allow_responses: a number of answers", async (t) => {
  const s = await t.server({
    config: users('{user: svc, password: p, permissions: { subscribe: "ask", allow_responses: { max: 3, expires: "1m" } } }'),
  });
  const root = await (await t.raw(s)).connect(as("root"));
  const svc = await (await t.raw(s)).connect(as("svc"));
  svc.send("SUB ask 1");
  await svc.ping();
  root.send("SUB box.* 1", "PUB ask box.1 0", "");
  await svc.expect(/MSG ask 1 box\.1/);
  for (let i = 0; i < 4; i++) svc.send("PUB box.1 1", String(i));
  assert.equal((await svc.ping()).match(/-ERR 'Permissions Violation for Publish to "box.1"'/g).length, 1);
  await root.expect(/MSG box\.1 1 1\r\n0\r\nMSG box\.1 1 1\r\n1\r\nMSG box\.1 1 1\r\n2\r\n/);
});

scenario("allow_responses: the permission ends with its time", (t) => steadily(async () => {
  const s = await t.server({
    config: users('{user: svc, password: p, permissions: { subscribe: "ask", allow_responses: { max: -1, expires: "300ms" } } }'),
  });
  const root = await (await t.raw(s)).connect(as("root"));
  const svc = await (await t.raw(s)).connect(as("svc"));
  svc.send("SUB ask 1");
  await svc.ping();
  root.send("PUB ask box.1 0", "");
  await svc.expect(/MSG ask 1 box\.1/);
  svc.send("PUB box.1 1", "x");
  assert.doesNotMatch(await svc.ping(), /-ERR/);
  await until("the permission to expire", async () => {
    svc.send("PUB box.1 1", "y");
    return /Publish to "box.1"/.test(await svc.ping());
  });
}));

scenario("default_permissions are for those who have none", async (t) => {
  const s = await t.server({
    config: `authorization {
      default_permissions: { publish: "free", subscribe: ["_INBOX.>", "free"] }
      users: [ {user: plain, password: p}, {user: own, password: p, permissions: { publish: "mine" } } ] }`,
  });
  const plain = await t.connect(s, as("plain"));
  plain.publish("mine", "");
  plain.publish("free", "");
  await plain.flush();
  await until("the refusal", () => plain.errors.length === 1);
  assert.match(plain.errors[0].message, /Publish to "mine"/);
  const own = await t.connect(s, as("own"));
  own.publish("mine", "");
  own.publish("free", "");
  await own.flush();
  await until("the refusal", () => own.errors.length === 1);
  assert.match(own.errors[0].message, /Publish to "free"/);
});

scenario("permissions written as a single string or a list", async (t) => {
  const s = await t.server({
    config: users(
      '{user: one, password: p, permissions: { pub: "a", sub: "a" } }',
      '{user: two, password: p, permissions: { publish: ["a", "b"], subscribe: ["a", "b"] } }',
    ),
  });
  for (const [user, refused] of [["one", ["b", "c"]], ["two", ["c"]]]) {
    const r = await (await t.raw(s)).connect(as(user));
    for (const subject of ["a", "b", "c"]) r.send(`PUB ${subject} 0`, "", `SUB ${subject} ${subject}`);
    const text = await r.ping();
    for (const way of ["Publish", "Subscription"]) {
      const no = [...text.matchAll(new RegExp(`Violation for ${way} to "(.)"`, "g"))].map((m) => m[1]);
      assert.deepEqual(no, refused, `${user} ${way}`);
    }
  }
});

scenario("reserved subjects and replies are refused to everybody", async (t) => {
  const s = await t.server();
  const r = await (await t.raw(s)).connect();
  r.send("SUB > 1", "SUB x _sys_ 2");
  r.send("PUB _GR_.x 0", "", "PUB $NRG.x 0", "", "PUB a $JS.ACK.x 0", "", "PUB a _R_.x 0", "", "PUB a _GR_.x 0", "");
  const text = await r.ping();
  assert.match(text, /Publish to "_GR_.x"/);
  assert.match(text, /Publish to "\$NRG.x"/);
  for (const reply of ["$JS.ACK.x", "_R_.x", "_GR_.x"]) assert.ok(text.includes(`Publish with Reply of "${reply}"`), reply);
  assert.match(text, /Subscription to "x" using queue "_sys_"/);
  assert.doesNotMatch(text, /\r\nMSG /);
});

scenario("USER.INFO tells a user his permissions", async (t) => {
  const s = await t.server({
    config: users('{user: u, password: p, permissions: { publish: { allow: ["$SYS.REQ.USER.INFO", "a"], deny: "b" }, subscribe: ["_INBOX.>"] } }'),
  });
  const nc = await t.connect(s, as("u"));
  const { data, server } = JSON.parse((await nc.request("$SYS.REQ.USER.INFO", "", { timeout: 60000 })).string());
  assert.equal(data.user, "u");
  assert.equal(data.account, "$G");
  assert.deepEqual(data.permissions.publish.allow.sort(), ["$SYS.REQ.USER.INFO", "a"]);
  assert.deepEqual(data.permissions.publish.deny, ["b"]);
  assert.deepEqual(data.permissions.subscribe.allow, ["_INBOX.>"]);
  assert.equal(server.id, nc.info.server_id);
});

scenario("a refusal with a very long subject is one whole line", async (t) => {
  const s = await t.server({
    config: `max_control_line: 32768\nmax_subscriptions: 100\n${users('{user: u, password: p, permissions: { publish: ok, subscribe: ok } }')}`,
  });
  const c = await t.raw(s);
  await c.connect({ protocol: 0, user: "u", pass: "p" });
  for (const size of [4000, 4290, 4360, 5150, 5180, 5190, 5200, 9000, 16000]) {
    const subject = "s".repeat(size);
    c.send(`PUB ${subject} 0`, "");
    assert.equal(await c.ping(), `-ERR 'Permissions Violation for Publish to "${subject}"'\r\n`);
    c.send(`PUB ok _R_.${subject} 0`, "");
    assert.equal(await c.ping(), `-ERR 'Permissions Violation for Publish with Reply of "_R_.${subject}"'\r\n`);
    c.send(`SUB ${subject} 1`);
    assert.equal(await c.ping(), `-ERR 'Permissions Violation for Subscription to "${subject}"'\r\n`);
    c.send(`SUB no ${subject} 1`);
    assert.equal(await c.ping(), `-ERR 'Permissions Violation for Subscription to "no" using queue "${subject}"'\r\n`);
  }
});

scenario("a subscription with too many tokens is refused in one whole line, however long it is", async (t) => {
  const s = await t.server({ config: "max_control_line: 32768\nmax_subscription_tokens: 4" });
  const c = await t.raw(s);
  await c.connect({ protocol: 0 });
  for (const size of [1000, 2100, 2600, 8000]) {
    const subject = Array(size).fill("s").join(".");
    c.send(`SUB ${subject} 1`);
    assert.match(await c.ping(), new RegExp(`^-ERR 'Permissions Violation for Subscription to "${subject}", too many tokens'\r\n$`));
  }
});
