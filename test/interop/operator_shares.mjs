// operator_shares.mjs: exports and imports of accounts in operator mode, activation tokens, and what changes while they are in use.
import assert from "node:assert/strict";
import { Operator, World, isMayfly, now } from "./lib/operator.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const stream = (subject, more) => ({ name: subject, subject, type: "stream", ...more });
const service = (subject, more) => ({ name: subject, subject, type: "service", ...more });
const from = (account, share, more) => ({ ...share, account: account.public, ...more });

// An operator with the exporting account E and the importing account I.  exports; imports(e, i): what I imports.
async function world(t, exports, imports, options) {
  const operator = new Operator({ signingKey: true });
  const [e, i] = [operator.account("Exporter", { exports }), operator.account("Importer")];
  i.nats.imports = imports(e, i);
  return Object.assign(await World.start(t, operator, [e, i], options), { e, i });
}

// What a request gets: the answer, or 503.
const ask = async (nc, subject, payload = "") => {
  try {
    return (await nc.request(subject, payload, { timeout: 10000 })).string();
  } catch (error) {
    if (/no responders/i.test(`${error.message} ${error.cause?.message}`)) return 503;
    throw error;
  }
};

// Both ends: a service of E that says what it was asked for, a subscriber of I, and what it received.
async function ends(w, served = [], heard = []) {
  const [out, inn] = [await w.connect(w.e.user("e")), await w.connect(w.i.user("i"))];
  for (const s of served) out.subscribe(s, { callback: (_, m) => m.respond(m.subject) });
  const got = heard.map((s) => collect(inn, s));
  await Promise.all([out.flush(), inn.flush()]);
  // Everything published before has been delivered: to E itself and, over its imports, to I.
  const settle = async () => {
    await out.flush();
    await inn.flush();
  };
  return { out, inn, got, settle };
}
// true: a message of E reaches I's subscription.
async function arrives(x, subject, got) {
  const n = got.length;
  x.out.publish(subject, "m");
  await x.settle();
  return got.length > n;
}
// The same for a new subscription.
async function arrivesNewly(x, subject, filter) {
  const got = collect(x.inn, filter);
  await x.inn.flush();
  const came = await arrives(x, subject, got);
  got.sub.unsubscribe();
  return came;
}
const complete = async (w) => (await w.accountz(w.i)).complete;

scenario("public streams and services, under their own names and others", async (t) => {
  const w = await world(t, [stream("ev.>"), service("svc.*")], (e) => [
    from(e, stream("ev.>"), { local_subject: "far.ev.>" }),
    from(e, stream("ev.own.*")),
    from(e, service("svc.*"), { local_subject: "mine.*" }),
    from(e, service("svc.fix"), { local_subject: "fixed" }),
  ]);
  const x = await ends(w, ["svc.*"], ["far.ev.>", "ev.own.*", "ev.other"]);
  assert.ok(await arrives(x, "ev.other", x.got[0]));
  assert.ok(await arrives(x, "ev.own.a", x.got[1]));
  assert.equal(x.got[2].length, 0);
  assert.deepEqual(x.got[0].map((m) => m.subject), ["far.ev.other", "far.ev.own.a"]);
  assert.equal(await ask(x.inn, "mine.b"), "svc.b");
  assert.equal(await ask(x.inn, "fixed"), "svc.fix");
  assert.equal(await ask(x.inn, "svc.b"), 503);
  assert.equal(await complete(w), true);
});

scenario("`to` of older JWTs: a prefix for streams, the exporter's name for services", async (t) => {
  const w = await world(t, [stream("ev.>"), service("svc.x")], (e) => [from(e, stream("ev.>"), { to: "pre" }), { ...from(e, service("local.x")), to: "svc.x" }]);
  const x = await ends(w, ["svc.x"], ["pre.>"]);
  assert.ok(await arrives(x, "ev.a", x.got[0]));
  assert.equal(x.got[0][0].subject, "pre.ev.a");
  assert.equal(await ask(x.inn, "local.x"), "svc.x");
});

scenario("exports for which a token is needed: which tokens do, which do not", async (t) => {
  const operator = new Operator({ signingKey: true });
  const e = operator.account("Exporter", { exports: [stream("priv.>", { token_req: true }), service("svc.>", { token_req: true })] });
  const [key, scoped] = [e.signingKey(), e.signingKey({ pub: { allow: ["x"] } })];
  const other = operator.account("Other");
  const token = (i, subject, kind, options) => ({ token: e.activation(i, subject, kind, options) });
  // name -> what an account I imports, and whether that works.
  const ways = {
    "of the account's key": [true, (i) => [from(e, service("svc.a"), token(i, "svc.a", "service"))]],
    "of a signing key": [true, (i) => [from(e, service("svc.a"), token(i, "svc.a", "service", { signer: key }))]],
    "wider than the import": [true, (i) => [from(e, service("svc.a"), token(i, "svc.>", "service"))]],
    "of a scoped key": [true, (i) => [from(e, service("svc.a"), token(i, "svc.a", "service", { signer: scoped }))]],
    "none": [false, () => [from(e, service("svc.a"))]],
    "for another account": [false, () => [from(e, service("svc.a"), token(other, "svc.a", "service"))]],
    "of another account": [false, (i) => [from(e, service("svc.a"), { token: other.activation(i, "svc.a", "service") })]],
    "of a key that is not the exporter's": [false, (i) => [from(e, service("svc.a"), token(i, "svc.a", "service", { signer: other.key }))]],
    expired: [false, (i) => [from(e, service("svc.a"), token(i, "svc.a", "service", { claims: { exp: now() - 10 } }))]],
    "not yet valid": [false, (i) => [from(e, service("svc.a"), token(i, "svc.a", "service", { claims: { nbf: now() + 1000 } }))]],
  };
  const accounts = Object.fromEntries(Object.keys(ways).map((name) => [name, operator.account(name)]));
  for (const [name, i] of Object.entries(accounts)) i.nats.imports = ways[name][1](i);
  const w = await World.start(t, operator, [e, other, ...Object.values(accounts)]);
  const out = await w.connect(e.user());
  out.subscribe("svc.*", { callback: (_, m) => m.respond("here") });
  await out.flush();
  for (const [name, i] of Object.entries(accounts)) {
    const nc = await w.connect(i.user()).catch((error) => error);
    if (nc instanceof Error) {
      assert.ok(!ways[name][0], `${name}: ${nc.message}`);
      continue;
    }
    assert.equal(await ask(nc, "svc.a"), ways[name][0] ? "here" : 503, name);
    const z = await w.accountz(i);
    assert.equal(z.complete, ways[name][0], name);
    assert.equal(z.imports?.some((m) => m.subject === "svc.a") ?? false, ways[name][0], name);
  }
});

scenario("tokens that do not fit their import make an invalid account", async (t) => {
  const w = await world(t, [stream("priv.>", { token_req: true })], () => [], { full: "" });
  const push = async (imported, subject, kind) =>
    (await w.push(w.i, w.i.jwt({ nats: { imports: [from(w.e, imported, { token: w.e.activation(w.i, subject, kind) })] } }))).error?.description;
  assert.match(await push(stream("priv.>"), "priv.x", "stream"), /^jwt validation failed - .*activation token import subject "priv\.x" doesn't match import "priv\.>"/);
  assert.match(await push(stream("priv.x"), "priv.x", "service"), /^jwt validation failed - .*mismatch between token import type service and type of import stream/);
  assert.equal(await push(stream("priv.x"), "priv.>", "stream"), undefined);
});

scenario("a token ends while its import is in use: silence, and the next JWT brings it back", async (t) => {
  const soon = now() + 2;
  const token = (e, i, claims) => ({ token: e.activation(i, "priv.>", "stream", { claims }) });
  const w = await world(t, [stream("priv.>", { token_req: true })], (e, i) => [from(e, stream("priv.>"), token(e, i, { exp: soon }))]);
  const x = await ends(w, [], ["priv.>"]);
  assert.ok(await arrives(x, "priv.a", x.got[0]));
  await until("the end of the token", async () => !(await arrives(x, "priv.a", x.got[0])));
  assert.ok(Date.now() / 1000 >= soon, "not before its second");
  assert.deepEqual([x.inn.errors, x.out.errors, x.inn.isClosed()], [[], [], false]);
  const z = await w.accountz(w.i);
  assert.equal(z.imports.find((m) => m.subject === "priv.>").invalid, true);
  await w.change(w.i, { imports: [from(w.e, stream("priv.>"), token(w.e, w.i))] });
  await until("the import again", () => arrivesNewly(x, "priv.a", "priv.>"));
  // nats-server compares subjects only: subscriptions that were there stay without it.
  if (isMayfly) assert.ok(await arrives(x, "priv.a", x.got[0]), "the subscription from before");
});

scenario("revoked tokens: by their account and by all, while they are in use", async (t) => {
  const token = (e, i, claims) => ({ token: e.activation(i, "priv.>", "stream", { claims }) });
  const w = await world(t, [stream("priv.>", { token_req: true })], (e, i) => [from(e, stream("priv.>"), token(e, i, { iat: now() - 100 }))]);
  const x = await ends(w, [], ["priv.>"]);
  assert.ok(await arrives(x, "priv.a", x.got[0]));
  const revoke = (who, at) => w.change(w.e, { exports: [stream("priv.>", { token_req: true, revocations: { [who]: at } })] });
  await revoke(w.i.public, now() - 200);
  assert.ok(await arrives(x, "priv.a", x.got[0]), "issued later");
  await revoke(w.i.public, now() - 50);
  assert.ok(!(await arrives(x, "priv.a", x.got[0])), "revoked");
  assert.deepEqual(Object.keys((await w.accountz(w.e)).exports[0].revoked_activations), [w.i.public]);
  await w.change(w.i, { imports: [from(w.e, stream("priv.>"), token(w.e, w.i))] });
  await until("the newer token", () => arrivesNewly(x, "priv.a", "priv.>"));
  if (isMayfly) assert.ok(await arrives(x, "priv.a", x.got[0]), "the subscription from before");
  await revoke("*", now() + 100);
  assert.ok(!(await arrivesNewly(x, "priv.a", "priv.>")), "all revoked");
});

scenario("account_token_position: the importer's own key stands in the subject", async (t) => {
  const w = await world(t, [service("own.*.q", { account_token_position: 2 }), stream("st.*", { account_token_position: 2 })], (e, i) => [
    from(e, service(`own.${i.public}.q`), { local_subject: "mine" }),
    from(e, service(`own.${e.public}.q`), { local_subject: "theirs" }),
    from(e, stream(`st.${i.public}`), { local_subject: "st" }),
  ]);
  const x = await ends(w, ["own.*.q"], ["st"]);
  assert.equal(await ask(x.inn, "mine"), `own.${w.i.public}.q`);
  assert.equal(await ask(x.inn, "theirs"), 503);
  assert.ok(await arrives(x, `st.${w.i.public}`, x.got[0]));
});

scenario("an export goes and comes back: so do streams and services", async (t) => {
  const exports = [stream("ev.>"), service("svc")];
  const w = await world(t, exports, (e) => [from(e, stream("ev.>")), from(e, service("svc"))]);
  const x = await ends(w, ["svc"], ["ev.>"]);
  const both = async () => [await arrives(x, "ev.a", x.got[0]), await ask(x.inn, "svc")];
  assert.deepEqual(await both(), [true, "svc"]);
  await w.change(w.e, { exports: [] });
  assert.deepEqual(await both(), [false, 503]);
  assert.deepEqual((await w.accountz(w.i)).imports.filter((m) => m.subject === "ev.>").map((m) => m.invalid), [true]);
  await w.change(w.e, { exports });
  assert.deepEqual(await both(), [true, "svc"]);
  // An import goes and comes back.
  const { imports } = w.i.nats;
  await w.change(w.i, { imports: [] });
  assert.deepEqual(await both(), [false, 503]);
  await w.change(w.i, { imports });
  assert.deepEqual(await both(), [true, "svc"]);
});

scenario("an import from an account that does not exist yet starts when it does", async (t) => {
  const operator = new Operator({ signingKey: true });
  const [e, i] = [operator.account("Exporter", { exports: [stream("ev.>"), service("svc")] }), operator.account("Importer")];
  i.nats.imports = [from(e, stream("ev.>")), from(e, service("svc"))];
  const w = Object.assign(await World.start(t, operator, [i], { full: 'timeout: "300ms"' }), { e, i });
  const inn = await w.connect(i.user());
  const got = collect(inn, "ev.>");
  await inn.flush();
  assert.equal(await ask(inn, "svc"), 503);
  assert.equal(await complete(w), false);
  await w.update(e);
  const out = await w.connect(e.user());
  out.subscribe("svc", { callback: (_, m) => m.respond("here") });
  await out.flush();
  const x = { out, inn, settle: async () => { await out.flush(); await inn.flush(); } };
  await until("the import", () => arrives(x, "ev.a", got));
  assert.equal(await ask(inn, "svc"), "here");
  assert.equal(await complete(w), true);
});

scenario("Nats-Request-Info: all about the requestor with share, else its account", async (t) => {
  const w = await world(t, [service("svc.>")], (e) => [from(e, service("svc.open"), { share: true }), from(e, service("svc.shut"))]);
  const [out, inn] = [await w.connect(w.e.user()), await w.connect(w.i.user("asker", { tags: ["a:b"] }))];
  out.subscribe("svc.>", { callback: (_, m) => m.respond(m.headers?.get("Nats-Request-Info") ?? "none") });
  await out.flush();
  const shut = JSON.parse(await ask(inn, "svc.shut"));
  assert.deepEqual(Object.keys(shut).filter((k) => k !== "rtt"), ["acc"]);
  assert.equal(shut.acc, w.i.public);
  const open = JSON.parse(await ask(inn, "svc.open"));
  assert.deepEqual([open.acc, open.name_tag, open.issuer_key, open.tags], [w.i.public, "asker", w.i.public, ["a:b"]]);
});

scenario("two importers of one account, three accounts in a row, and back again", async (t) => {
  const operator = new Operator({ signingKey: true });
  const a = operator.account("A", { exports: [service("q.>")] });
  const b = operator.account("B", { imports: [from(a, service("q.b"))], exports: [service("q.b")] });
  const c = operator.account("C", { imports: [from(b, service("q.b")), from(a, service("q.c"))] });
  a.nats.imports = [from(c, stream("news"))];
  c.nats.exports = [stream("news")];
  const w = await World.start(t, operator, [a, b, c]);
  const [na, nb, nc] = [await w.connect(a.user()), await w.connect(b.user()), await w.connect(c.user())];
  na.subscribe("q.*", { callback: (_, m) => m.respond(m.subject) });
  const news = collect(na, "news");
  await na.flush();
  assert.deepEqual([await ask(nb, "q.b"), await ask(nc, "q.b"), await ask(nc, "q.c"), await ask(nb, "q.c")], ["q.b", "q.b", "q.c", 503]);
  nc.publish("news", "1");
  await nc.flush();
  await until("the news", () => news.length === 1);
});
