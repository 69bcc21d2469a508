// operator_pages.mjs: operator mode on pages, in events and in what services are told of who asks.
import assert from "node:assert/strict";
import { Key, Operator, STREAMS, World, decode, isMayfly, now, userInfo } from "./lib/operator.mjs";
import { consume, create, openBrowser, openTab, publish, shows } from "./lib/page.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

// Accounts Apple (tags, a scoped signing key) and Birch.  nats: claims of Apple.
async function world(t, { nats, config = "", birch } = {}) {
  const operator = new Operator({ name: "Orchard", signingKey: true });
  const a = operator.account("Apple", { tags: ["region:eu"], ...nats });
  const b = operator.account("Birch", birch?.(operator, a));
  const far = a.signingKey({ bearer_token: true, src: ["10.0.0.0/8"] }, "far");
  const scoped = a.signingKey({ pub: { allow: ["out.>", "$SYS.REQ.USER.INFO"] }, sub: { allow: ["_INBOX.>"] } });
  return Object.assign(await World.start(t, operator, [a, b], { config }), { a, b, scoped, far });
}

const has = (value, expected, what) => assert.deepEqual(Object.fromEntries(Object.keys(expected).map((k) => [k, value[k]])), expected, what);
// The identity of a user with a JWT, as lists and events show it.
const identity = (user, account, { issuer = account.public, ...more } = {}) => ({ jwt: user.jwt, issuer_key: issuer, name_tag: account.name, tags: undefined, ...more });

// --- the operator and its accounts -------------------------------------------------------------------

scenario("/varz names the operators, their claims and the system account", async (t) => {
  const w = await world(t);
  const z = await w.s.varz();
  assert.deepEqual(z.trusted_operators_jwt, [w.operator.text]);
  assert.equal(z.trusted_operators_claim.length, 1);
  has(z.trusted_operators_claim[0], { name: "Orchard", sub: w.operator.key.public, iss: w.operator.key.public });
  has(z.trusted_operators_claim[0].nats, { signing_keys: [w.operator.signing.public], system_account: w.operator.system.public, type: "operator" });
  has(z, { auth_required: true, system_account: w.operator.system.public, pinned_account_fails: undefined });
});

scenario("/accountz lists the loaded accounts, and refuses unknown ones", async (t) => {
  const w = await world(t);
  const { operator } = w;
  const all = (await w.s.page("/accountz")).json;
  assert.equal(all.system_account, operator.system.public);
  assert.deepEqual(all.accounts.sort(), ["$G", operator.system.public].sort());
  has(await w.accountz(operator.system), { account_name: operator.system.public, name_tag: "SYS", is_system: true, issuer_key: operator.signing.public, expired: false, complete: true });
  for (const name of [w.a.name, new Key("A").public]) {
    const p = await w.s.page(`/accountz?acc=${name}`);
    assert.deepEqual([p.status, p.text], [400, `Account ${name} does not exist`]);
  }
});

scenario("/accountz of an account: its JWT, claims, revocations, exports and imports", async (t) => {
  const gone = new Key("U").public;
  const revoked = now() - 100;
  const w = await world(t, {
    nats: {
      revocations: { [gone]: revoked }, description: "fruit",
      exports: [{ name: "s", subject: "svc.>", type: "service", token_req: true, revocations: { "*": revoked } }, { name: "t", subject: "st.>", type: "stream" }],
    },
    birch: (operator, a) => ({ imports: [{ name: "t", subject: "st.>", account: a.public, type: "stream", to: "in" }, { name: "x", subject: "nothing", account: a.public, type: "service" }] }),
  });
  const { a, b, operator } = w;
  await w.connect(a.user());
  await w.connect(b.user());
  const apple = await w.accountz(a);
  has(apple, { account_name: a.public, name_tag: "Apple", issuer_key: operator.signing.public, tags: ["region:eu"], expired: false, complete: true, client_connections: 1, jetstream_enabled: false,
    revoked_user: { [gone]: new Date(revoked * 1000).toISOString().replace(".000", "") } });
  assert.ok(Math.abs(Date.parse(apple.update_time) - Date.now()) < LIMIT_MS);
  assert.deepEqual(decode(apple.jwt).sub, a.public);
  has(apple.decoded_jwt, { name: "Apple", sub: a.public, iss: operator.signing.public });
  has(apple.decoded_jwt.nats, { description: "fruit", tags: ["region:eu"] });
  assert.equal(apple.decoded_jwt.nats.exports[0].token_req, true);
  assert.deepEqual(apple.exports, [
    { subject: "svc.>", type: "service", token_req: true, response_type: "Singleton", revoked_activations: { "*": apple.revoked_user[gone] } },
    { subject: "st.>", type: "stream" },
  ]);
  const own = apple.imports.map((i) => i.local_subject);
  assert.deepEqual(own.sort(), ["$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.STATZ", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.USER.INFO"]);
  const birch = await w.accountz(b);
  has(birch, { complete: false, name_tag: "Birch", tags: undefined,
    validation_result_jwt: [{ description: "the field to has been deprecated (use LocalSubject instead)", blocking: false, time_check: false }] });
  assert.deepEqual(birch.imports.filter((i) => !i.local_subject.startsWith("$SYS")), [
    { subject: "st.>", account: a.public, local_subject: "in.st.>", type: "stream", invalid: false, share: false, tracking: false },
  ]);
  // The next JWT shows at once.
  a.name = "Apricot";
  await w.change(a, { tags: ["region:us"], revocations: undefined });
  has(await w.accountz(a), { name_tag: "Apricot", tags: ["region:us"], revoked_user: undefined });
  assert.ok(Date.parse((await w.accountz(a)).update_time) > Date.parse(apple.update_time));
  const root = await w.system();
  has((await root.request(`$SYS.REQ.ACCOUNT.${a.public}.INFO`)).json().data, { account_name: a.public, name_tag: "Apricot" });
});

scenario("/accountz of an account that expired", async (t) => {
  const operator = new Operator();
  const a = operator.account("Short", {}, { claims: { exp: now() + 2 } });
  const w = await World.start(t, operator, [a]);
  const r = await w.raw(a.user());
  assert.equal((await w.accountz(a)).expired, false);
  await r.closed();
  await until("expired", async () => (await w.accountz(a)).expired);
});

scenario("users of accounts that are not pinned are counted", async (t) => {
  const operator = new Operator();
  const [a, b] = [operator.account("A"), operator.account("B")];
  const w = await World.start(t, operator, [a, b], { config: `resolver_pinned_accounts: [${a.public}]` });
  (await w.in((info) => a.user().login(info))).close();
  for (let i = 0; i < 2; i++) await w.out((info) => b.user().login(info));
  assert.equal((await w.s.varz()).pinned_account_fails, 2);
});

// --- connections -------------------------------------------------------------------------------------

scenario("INFO: what it says before and after CONNECT", async (t) => {
  const w = await world(t);
  for (const [account, system] of [[w.a, undefined], [w.operator.system, true]]) {
    const r = await w.attempt((info) => account.user().login(info));
    has(r.info, { auth_required: true, remote_account: undefined, acc_is_sys: undefined });
    assert.match(r.info.nonce, /^[\w-]{15}$/);
    const second = await until("the second INFO", () => /^INFO (\{.*"connect_info":true.*\}) *\r\n/m.exec(r.buf));
    has(JSON.parse(second[1]), { remote_account: account.public, acc_is_sys: system });
  }
});

scenario("/connz: users, issuers, tags and JWTs, open and closed", async (t) => {
  const w = await world(t);
  const { a, b } = w;
  const users = {
    plain: [a, a.user("ann", { tags: ["team:red"] }), { tags: ["team:red"] }],
    scoped: [a, a.user("bob", { tags: ["team:blue"] }, { signer: w.scoped, scoped: true }), { issuer: w.scoped.public, tags: ["team:blue"] }],
    bearer: [b, b.user("bea", { bearer_token: true }), { jwt: undefined }],
    system: [w.operator.system, w.operator.system.user("root"), {}],
  };
  const clients = [];
  for (const [account, user] of Object.values(users)) clients.push(await w.raw(user));
  const refused = await w.out(() => a.user("late").login({ nonce: "of another connection" }));
  const check = (rows, what) => {
    const all = Object.entries(users);
    for (let i = 0; i < all.length; i++) {
      const [name, [account, user, more]] = all[i];
      const row = rows.find((c) => c.cid === clients[i].info.client_id);
      has(row, { authorized_user: user.public, account: account.public, ...identity(user, account, more) }, `${what} ${name}`);
    }
  };
  check((await w.s.page("/connz?auth=1")).json.connections, "open");
  for (const c of (await w.s.page("/connz")).json.connections) has(c, { authorized_user: undefined, account: undefined, jwt: undefined, issuer_key: undefined, name_tag: undefined, tags: undefined });
  const filtered = (await w.s.page(`/connz?auth=1&acc=${b.public}`)).json;
  assert.deepEqual(filtered.connections.map((c) => c.name_tag), ["Birch"]);
  assert.equal((await w.s.page(`/connz?auth=1&user=${users.plain[1].public}`)).json.num_connections, 1);
  for (const c of clients) c.close();
  const closed = () => w.s.page("/connz?auth=1&state=closed").then((p) => p.json.connections);
  await until("all are closed", async () => (await closed()).length === clients.length + 1);
  check(await closed(), "closed");
  const failed = (await closed()).find((c) => c.cid === refused.info.client_id);
  has(failed, { reason: "Authentication Failure", authorized_user: undefined, account: undefined, issuer_key: undefined, name_tag: undefined, tags: undefined });
  assert.match(failed.jwt, /^eyJ/);
});

scenario("/subsz and /accstatz name accounts by key and by name", async (t) => {
  const w = await world(t);
  const r = await w.raw(w.a.user());
  r.send("SUB foo 1");
  await r.ping();
  const sub = (await w.s.page("/subsz?subs=1")).json.subscriptions_list.find((x) => x.subject === "foo");
  has(sub, { account: w.a.public, account_tag: "Apple" });
  const row = (await w.s.page("/accstatz")).json.account_statz.find((x) => x.acc === w.a.public);
  has(row, { acc: w.a.public, name: "Apple", conns: 1 });
});

scenario("/jsz: an account's name, and its key as id and on disk", async (t) => {
  const w = await world(t, { nats: { limits: STREAMS }, config: 'jetstream { store_dir: "DIR/js" }' });
  const nc = await w.connect(w.a.user());
  assert.equal((await nc.request("$JS.API.STREAM.CREATE.S", JSON.stringify({ name: "S", subjects: ["s.>"] }))).json().error, undefined);
  const of = (z) => z.account_details.map((a) => [a.name, a.id]);
  assert.deepEqual(of((await w.s.page("/jsz?accounts=1")).json), [["Apple", w.a.public]]);
  assert.deepEqual(of((await w.s.page(`/jsz?acc=${w.a.public}`)).json), [["Apple", w.a.public]]);
  const root = await w.system();
  has((await root.request(`$SYS.REQ.ACCOUNT.${w.a.public}.JSZ`)).json().data, { name: "Apple", id: w.a.public });
  assert.ok((await w.accountz(w.a)).jetstream_enabled);
});

// --- events ------------------------------------------------------------------------------------------

scenario("events: CONNECT, DISCONNECT and the connections of an account", async (t) => {
  const w = await world(t);
  const { a, b } = w;
  const root = await w.system();
  const [up, down, counts] = ["*.CONNECT", "*.DISCONNECT", "*.SERVER.CONNS"].map((s) => collect(root, `$SYS.ACCOUNT.${s}`));
  await root.flush();
  const ann = a.user("ann", { tags: ["team:red"] });
  const bob = a.user("bob", {}, { signer: w.scoped, scoped: true });
  const bea = b.user("bea", { bearer_token: true });
  for (const [user, account, more] of [[ann, a, { tags: ["team:red"] }], [bob, a, { issuer: w.scoped.public }], [bea, b, isMayfly ? { jwt: undefined } : {}]]) {
    const r = await w.raw(user);
    const expected = { id: r.info.client_id, acc: account.public, user: user.public, kind: "Client", client_type: "nats", ...identity(user, account, more) };
    const of = (list) => () => list.map((m) => m.json()).find((m) => m.client.id === r.info.client_id);
    has((await until("CONNECT", of(up))).client, expected);
    r.close();
    const gone = await until("DISCONNECT", of(down));
    has(gone.client, expected);
    assert.equal(gone.reason, "Client Closed");
  }
  assert.deepEqual([...new Set(up.map((m) => m.subject))], [a, b].map((x) => `$SYS.ACCOUNT.${x.public}.CONNECT`));
  const first = counts[0].json();
  has(first, { acc: a.public, name: "Apple", conns: 1 });
});

scenario("events: refused logins, with the JWT that was shown", async (t) => {
  const w = await world(t);
  const root = await w.system();
  const failed = collect(root, "$SYS.SERVER.*.CLIENT.AUTH.ERR");
  const down = collect(root, "$SYS.ACCOUNT.$G.DISCONNECT");
  await root.flush();
  const late = w.a.user("late", { tags: ["x:y"] }, { claims: { exp: now() - 10 } });
  const wrong = w.a.user("wrong");
  const bearer = w.a.user("bear", { bearer_token: true }, { claims: { exp: now() - 10 } });
  const held = w.a.user("held", {}, { signer: w.far, scoped: true }); // a bearer by its signing key
  const ended = w.a.user("ended", {}, { signer: w.far, scoped: true, claims: { exp: now() - 10 } });
  for (const user of [late, wrong, bearer, held, ended]) {
    const jwt = isMayfly && user !== wrong ? undefined : user.jwt;
    const r = await w.out((info) => user.login(user === wrong ? { nonce: "of another connection" } : info));
    for (const list of [failed, down]) {
      const m = await until("the event", () => list.map((x) => x.json()).find((x) => x.client.id === r.info.client_id));
      assert.equal(m.reason, "Authentication Failure");
      has(m.client, { acc: "$G", user: undefined, jwt, issuer_key: undefined, name_tag: "$G", tags: undefined, kind: "Client" });
    }
  }
});

// --- who asks ----------------------------------------------------------------------------------------

scenario("services of other accounts are told who asks, and latency reports say it too", async (t) => {
  const w = await world(t, {
    nats: { exports: [{ name: "s", subject: "svc", type: "service", service_latency: { sampling: 100, results: "lat" } }] },
    birch: (operator, a) => ({ imports: [
      { name: "s", subject: "svc", account: a.public, type: "service", share: true, local_subject: "ask" },
      { name: "p", subject: "svc", account: a.public, type: "service", local_subject: "quiet" }] }),
  });
  const ann = w.a.user("ann", { tags: ["team:red"] });
  const ben = w.b.user("ben", { tags: ["x:y"] });
  const bea = w.b.user("bea", { bearer_token: true });
  const service = await w.connect(ann);
  const told = [];
  service.subscribe("svc", { callback: (_, m) => { told.push(JSON.parse(m.headers.get("Nats-Request-Info"))); m.respond("ok"); } });
  const reports = collect(service, "lat");
  await service.flush();
  const of = (user, name, more) => ({ acc: w.b.public, user: user.public, jwt: user.jwt, issuer_key: w.b.public, name_tag: name, tags: undefined, ...more });
  const nc = await w.connect(ben);
  await nc.request("ask", "");
  has(told[0], of(ben, "ben", { tags: ["x:y"] }));
  await nc.request("quiet", "");
  has(told[1], { acc: w.b.public, user: undefined, jwt: undefined, issuer_key: undefined, name_tag: undefined, tags: undefined });
  await (await w.connect(bea)).request("ask", "");
  has(told[2], of(bea, "bea", isMayfly ? { jwt: undefined } : {}));
  await until("reports", () => reports.length === 3);
  const report = reports[0].json();
  has(report.requestor, of(ben, "ben", { tags: ["x:y"] }));
  has(report.responder, { acc: w.a.public, user: ann.public, jwt: ann.jwt, issuer_key: w.a.public, name_tag: "ann", tags: ["team:red"] });
});

scenario("audits of the JetStream API name the user, not the JWT", async (t) => {
  const w = await world(t, { nats: { limits: STREAMS }, config: 'jetstream { store_dir: "DIR/js" }' });
  const ann = w.a.user("ann", { tags: ["team:red"] });
  const nc = await w.connect(ann);
  const audits = collect(nc, "$JS.EVENT.ADVISORY.API");
  await nc.flush();
  await nc.request("$JS.API.STREAM.CREATE.S", JSON.stringify({ name: "S", subjects: ["s.>"] }));
  const { client } = (await until("the audit", () => audits[0])).json();
  has(client, { acc: w.a.public, user: ann.public, jwt: undefined, issuer_key: w.a.public, name_tag: "ann", tags: ["team:red"], kind: "Client" });
});

scenario("$SYS.REQ.USER.INFO: user, account and their names, permissions and time left", async (t) => {
  const w = await world(t, { nats: { default_permissions: { pub: { deny: ["no.>"] } } } });
  const { a, b } = w;
  const timed = a.user("ann", { pub: { allow: [">"] }, resp: { max: 3, ttl: 2e9 } }, { claims: { exp: now() + 3600 } });
  const info = await userInfo(await w.connect(timed));
  has(info, { user: timed.public, account: a.public, account_name: "Apple", user_name: "ann" });
  assert.deepEqual(info.permissions, { publish: { allow: [">"] }, subscribe: {}, responses: { max: 3, ttl: 2e9 } });
  assert.equal(info.expires % 1e9, 0, "whole seconds");
  assert.ok(info.expires > 3500e9 && info.expires < 3600e9);
  const scoped = a.user("bob", {}, { signer: w.scoped, scoped: true });
  assert.deepEqual(await userInfo(await w.connect(scoped)), { user: scoped.public, account: a.public, account_name: "Apple", user_name: "bob",
    permissions: { publish: { allow: ["out.>", "$SYS.REQ.USER.INFO"] }, subscribe: { allow: ["_INBOX.>"] } } });
  const plain = a.user("cid");
  assert.deepEqual((await userInfo(await w.connect(plain))).permissions, { publish: { deny: ["no.>"] }, subscribe: {} });
  const free = b.user("dan");
  assert.deepEqual(await userInfo(await w.connect(free)), { user: free.public, account: b.public, account_name: "Birch", user_name: "dan" });
});

scenario("$SYS.REQ.USER.INFO of a sentinel's connection with a user name", async (t) => {
  const operator = new Operator();
  const a = operator.account("A");
  const sentinel = a.user("guest", { bearer_token: true });
  const w = await World.start(t, operator, [a], { config: `default_sentinel: "${sentinel.jwt}"` });
  assert.deepEqual(await userInfo(await t.connect(w.s, { user: "sue", pass: "x" })), { user: "sue", account: a.public, account_name: "A", user_name: "guest" });
  assert.deepEqual(await userInfo(await t.connect(w.s)), { user: sentinel.public, account: a.public, account_name: "A", user_name: "guest" });
});

// --- Mayfly's own pages ------------------------------------------------------------------------------

scenario("the web page and its JSON name accounts by their names, beside their keys", { only: "mayfly" }, async (t) => {
  const w = await world(t, { nats: { limits: STREAMS }, config: 'jetstream { store_dir: "DIR/js" }' });
  const nc = await w.connect(w.a.user("ann"), { name: "watcher" });
  await create(nc, { name: "S", subjects: ["s.>"], allow_msg_ttl: true });
  await create(nc, { name: "COPY", mirror: { name: "S" } });
  await consume(nc, "S", { durable_name: "reader" });
  await publish(nc, "s.1", "1h");
  const both = { account: w.a.public, account_tag: "Apple" };
  const find = async (text) => (await w.s.page(`/ttlz?find=${text}`)).json.streams;
  for (const text of ["appl", w.a.public.slice(3, 20)]) assert.equal((await find(text)).length, 2, text);
  assert.equal((await find("birch")).length, 0);
  has((await find("apple"))[0], both);
  has((await w.s.page("/jsz?lagging=5")).json.lagging[0], both);
  const page = await openTab(await openBrowser(t), `${w.s.http}/`);
  for (const list of ["streams", "consumers", "copies", "connections"]) {
    await page.locator(`#${list}`).scrollIntoViewIfNeeded();
    await shows(page, "Apple", `#${list}-list`);
    assert.ok(!(await page.locator(`#${list}-list`).innerText()).includes(w.a.public), list);
  }
  await page.locator("#streams-list button", { hasText: /^S$/ }).click();
  await shows(page, "Apple › S", "#detail-title");
  await shows(page, "reader", "#detail");
  assert.deepEqual(page.faults, []);
});

// --- secrets -----------------------------------------------------------------------------------------

// nats-server shows the JWT of a bearer in events and in what services are told.
scenario("the JWT of a bearer is nowhere: pages, events, requests, log", { only: "mayfly" }, async (t) => {
  const w = await world(t, {
    nats: { exports: [{ name: "s", subject: "svc", type: "service", service_latency: { sampling: 100, results: "lat" } }], limits: STREAMS },
    birch: (operator, a) => ({ imports: [{ name: "s", subject: "svc", account: a.public, type: "service", share: true }], limits: STREAMS }),
    config: 'debug: true\ntrace: true\njetstream { store_dir: "DIR/js" }',
  });
  const root = await w.system();
  const seen = [collect(root, "$SYS.>")];
  const service = await w.connect(w.a.user());
  seen.push(collect(service, ">"));
  const bea = w.b.user("bea", { bearer_token: true });
  const secret = bea.jwt.split(".")[2];
  const nc = await w.connect(bea);
  seen.push(collect(nc, ">"));
  await Promise.all([root, service, nc].map((x) => x.flush()));
  await nc.request("$JS.API.STREAM.CREATE.S", JSON.stringify({ name: "S", subjects: ["s.>"] }));
  nc.publish("svc", "x", { reply: "answer" });
  await nc.flush();
  await until("the request", () => seen[1].length > 0);
  const pages = ["/connz?auth=1&subs=detail", "/subsz?subs=1", "/varz", "/accountz", `/accountz?acc=${w.b.public}`, "/jsz?accounts=1&streams=1&config=1", "/metrics"];
  const texts = await Promise.all(pages.map(async (p) => (await w.s.page(p)).text));
  await nc.close();
  await until("closed", async () => (await w.s.page("/connz?auth=1&state=closed")).text.includes(bea.public));
  texts.push((await w.s.page("/connz?auth=1&state=closed")).text, w.s.log());
  for (const list of seen) for (const m of list) texts.push(m.string(), String(m.headers ?? ""));
  for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 200));
});
