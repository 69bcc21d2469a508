// operator_kv.mjs: a bucket of an account that is a JWT: keys that end, and who is told.
import assert from "node:assert/strict";
import { Kvm } from "@nats-io/kv";
import { Operator, STREAMS, World, now } from "./lib/operator.mjs";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const MARKER = "PURGE"; // what nats.js makes of a marker of the server
const bucket = (nc, how) => new Kvm(nc)[how]("sessions", { markerTTL: 5000, timeout: LIMIT_MS });

// What a bucket tells one who watches it.
async function watch(kv) {
  const told = [];
  const iter = await kv.watch();
  (async () => {
    for await (const e of iter) told.push(e);
  })();
  return told;
}

scenario("a key of a bucket ends: its watchers are told once, though its writer was revoked; another account is not", async (t) => {
  const operator = new Operator({ signingKey: true });
  const [a, b] = [operator.account("Apple", { limits: STREAMS }), operator.account("Birch", { limits: STREAMS })];
  const key = a.signingKey({ pub: { allow: ["$JS.API.>", "$KV.{{tag(bucket)}}.>", "_INBOX.>"] }, sub: { allow: ["_INBOX.>"] } });
  const w = await World.start(t, operator, [a, b], { config: 'jetstream { store_dir: "DIR/js" }' });
  const scoped = (name) => a.user("reader", { tags: [`bucket:${name}`] }, { signer: key, scoped: true });
  const writer = a.user("writer");
  const kv = await bucket(await w.connect(writer), "create");
  // Whoever watches has the rights of a template and nothing more.
  const told = await watch(await bucket(await w.connect(scoped("sessions")), "open"));
  const foreign = await bucket(await w.connect(b.user()), "create");
  const elsewhere = await watch(foreign);
  const from = Date.now();
  await kv.create("alice", "in", "2s");
  await kv.put("bob", "in");
  await w.change(a, { revocations: { [writer.public]: now() } });
  await until("the marker", () => told.length >= 3);
  assert.ok(Date.now() - from >= 2000, "not before its second");
  const keeper = await bucket(await w.connect(a.user()), "open");
  await keeper.put("carol", "in");
  await until("the key behind the marker", () => told.length >= 4);
  assert.deepEqual(told.map((e) => [e.key, e.operation, e.string()]), [["alice", "PUT", "in"], ["bob", "PUT", "in"], ["alice", MARKER, ""], ["carol", "PUT", "in"]]);
  assert.equal((await keeper.get("alice"))?.length ?? 0, 0);
  assert.equal((await keeper.get("bob")).string(), "in");
  await foreign.put("dave", "in");
  await until("its own key", () => elsewhere.length >= 1);
  assert.deepEqual(elsewhere.map((e) => e.key), ["dave"]);
  const other = await w.raw(scoped("other"));
  other.send("PUB $KV.sessions.bob 1", "x");
  assert.match(await other.ping(), /Permissions Violation for Publish to "\$KV\.sessions\.bob"/);
});
