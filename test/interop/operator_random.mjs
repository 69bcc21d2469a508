// operator_random.mjs: accounts change, end and come back at random while clients of theirs talk; afterwards the server says what was pushed.
import assert from "node:assert/strict";
import { Operator, STREAMS, World, now, token } from "./lib/operator.mjs";
import { dice } from "./lib/dice.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const ROUNDS = Number(process.env.OPERATOR_ROUNDS ?? 60);

// What an account may be changed to.
function changes(d, accounts, a) {
  const other = d.pick(accounts);
  const end = now() + 1 + d.upTo(3);
  return {
    imports: () => (a.nats.imports = [0, 1, 2].slice(d.upTo(3)).flatMap((i) => {
      const from = accounts[(accounts.indexOf(a) + 1 + i) % accounts.length];
      return [{ name: "s", account: from.public, subject: "pub.>", local_subject: `far.${i}.>`, type: "stream" }, { name: "q", account: from.public, subject: "svc", local_subject: `svc.${i}`, type: "service", share: d.upTo(2) === 1 }];
    })),
    private: () => {
      a.nats.exports = [{ name: "p", subject: "pub.>", type: "stream", token_req: true }, { name: "q", subject: "svc", type: "service" }];
      if (other !== a) other.nats.imports = [{ name: "p", account: a.public, subject: "pub.>", local_subject: "far.9.>", type: "stream", token: a.activation(other, "pub.>", "stream", { claims: { exp: end } }) }];
    },
    open: () => (a.nats.exports = [{ name: "p", subject: "pub.>", type: "stream" }, { name: "q", subject: "svc", type: "service" }]),
    shut: () => (a.nats.exports = []),
    mappings: () => (a.nats.mappings = d.upTo(2) ? { "m.*": [{ subject: "n.{{wildcard(1)}}" }] } : undefined),
    defaults: () => (a.nats.default_permissions = d.upTo(2) ? { sub: { deny: ["far.1.>"] }, pub: { deny: ["no"] } } : undefined),
    revoked: () => (a.nats.revocations = d.upTo(3) ? undefined : { "*": now() - 5 }),
    conns: () => (a.nats.limits.conn = d.upTo(2) ? -1 : 2),
    subs: () => (a.nats.limits.subs = d.upTo(2) ? -1 : 3),
    streams: () => Object.assign(a.nats.limits, d.upTo(2) ? STREAMS : { mem_storage: 0, disk_storage: 0 }),
    keys: () => (a.nats.signing_keys = d.upTo(2) ? [a.scope] : []),
    ends: () => (a.claims = d.upTo(2) ? { exp: end } : undefined),
  };
}

// A client that comes, does something and perhaps goes.
async function visit(d, w, a, open) {
  const scoped = d.upTo(3) === 0;
  const user = a.user("u", {}, { claims: { iat: now() - d.upTo(10), exp: d.upTo(4) ? undefined : now() + 1 + d.upTo(3) }, ...(scoped ? { signer: a.scopeKey, scoped: true } : {}) });
  const r = await w.attempt((info) => user.login(info, { headers: true, no_responders: true }));
  r.send(...["far.>", "svc", "svc.1", "n.*"].map((s, i) => `SUB ${s} ${i + 1}`));
  r.send("PUB pub.x 1", "x", "PUB m.a 0", "", "PUB svc.0 _INBOX.q 0", "", "PUB $JS.API.STREAM.CREATE.S _INBOX.q 29", '{"name":"S","subjects":["s"]}', "PUB s 1", "x");
  open.push(r);
  if (open.length > 20) open.splice(d.upTo(open.length), 1)[0].close();
}

for (const kind of ["full", "mem"])
  scenario(`accounts of ${kind === "full" ? "a directory" : "memory"} change at random under their clients`, async (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1000000);
    const roll = dice(seed);
    const d = { upTo: roll, pick: (list) => list[roll(list.length)] };
    await run(t, kind, d).catch((e) => assert.fail(`SEED=${seed}: ${e.stack}`));
  });

async function run(t, kind, d) {
  const operator = new Operator({ signingKey: true });
  const accounts = Array.from({ length: 6 }, (_, i) => operator.account(`A${i}`));
  for (const a of accounts) {
    a.scopeKey = a.signingKey({ pub: { deny: ["x"] } });
    [a.scope] = a.nats.signing_keys;
  }
  const w = await World.start(t, operator, accounts, { full: kind === "full" ? 'allow_delete: true, timeout: "200ms"' : undefined, config: 'jetstream { store_dir: "DIR/js", max_mem: 100MB, max_file: 100MB }' });
  const root = await w.system();
  const open = [];
  for (let i = 0; i < ROUNDS; i++) {
    const a = d.pick(accounts);
    const what = changes(d, accounts, a);
    d.pick(Object.values(what))();
    root.publish(`$SYS.REQ.ACCOUNT.${a.public}.CLAIMS.UPDATE`, a.jwt());
    if (kind === "full" && d.upTo(10) === 0) root.publish("$SYS.REQ.CLAIMS.DELETE", token({ sub: operator.key.public, nats: { accounts: [d.pick(accounts).public], type: "generic", version: 2 } }, operator.key));
    for (let n = d.upTo(4); n > 0; n--) await visit(d, w, d.pick(accounts), open);
    if (d.upTo(8) === 0) await root.flush();
  }
  // All is as it was, and each account is what was pushed last.
  for (const a of accounts) {
    a.nats = { limits: { ...a.nats.limits, conn: -1, subs: -1, ...STREAMS }, exports: [{ name: "p", subject: "pub.>", type: "stream" }] };
    a.claims = undefined;
  }
  for (const [i, a] of accounts.entries()) a.nats.imports = [{ name: "s", account: accounts[(i + 1) % accounts.length].public, subject: "pub.>", local_subject: "far.>", type: "stream" }];
  for (const a of accounts) await w.push(a);
  const clients = [];
  for (const a of accounts) clients.push(await until(`a client of ${a.name}`, () => w.connect(a.user()).catch(() => undefined)));
  for (const a of accounts) await w.update(a);
  for (const [i, nc] of clients.entries()) {
    const got = collect(nc, "far.>");
    await nc.flush();
    await until(`${accounts[i].name} hears its neighbour`, async () => {
      const from = clients[(i + 1) % clients.length];
      from.publish("pub.x");
      await from.flush();
      await nc.flush();
      return got.length > 0;
    });
    assert.equal((await nc.request("$JS.API.INFO", "")).json().error, undefined);
  }
  for (const r of open) r.close();
}
