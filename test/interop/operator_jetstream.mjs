// operator_jetstream.mjs: JetStream by the claims of accounts: limits, tiers, off and on again.
import assert from "node:assert/strict";
import { Operator, STREAMS, World, isMayfly, now } from "./lib/operator.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const JS = 'jetstream { store_dir: "DIR/js" }';

// A client of an account with such limits, and what it asks.
class Client {
  static async open(t, limits, options = {}) {
    const operator = new Operator();
    const a = operator.account("A", { limits });
    return Client.of(await World.start(t, operator, [a], { config: JS, ...options }), a);
  }
  static async of(w, a) {
    return Object.assign(new Client(), { w, a, nc: await w.connect(a.user()) });
  }
  async api(what, body) {
    return (await this.nc.request(`$JS.API.${what}`, body ? JSON.stringify(body) : "", { timeout: LIMIT_MS })).json();
  }
  // "ok", or the error's number.
  async ask(what, body) {
    const r = await this.api(what, body);
    return r.error === undefined ? "ok" : r.error.err_code;
  }
  create(name, config = {}, verb = "CREATE") {
    return this.ask(`STREAM.${verb}.${name}`, { name, subjects: [`${name}.>`], ...config });
  }
  consumer(stream, name, config = {}) {
    return this.ask(`CONSUMER.CREATE.${stream}.${name}`, { stream_name: stream, action: "create", config: { durable_name: name, ack_policy: "explicit", ...config } });
  }
  // "ok", "nobody" or the error's number.
  async publish(subject, bytes = 10) {
    try {
      const ack = (await this.nc.request(subject, "x".repeat(bytes), { timeout: LIMIT_MS })).json();
      return ack.error === undefined ? "ok" : ack.error.err_code;
    } catch (e) {
      if (/no responders/.test(e.message)) return "nobody";
      throw e;
    }
  }
  async info() {
    const { limits, tiers, storage, memory, streams, consumers, reserved_memory, reserved_storage } = await this.api("INFO");
    return { limits, tiers, storage, memory, streams, consumers, reserved_memory, reserved_storage };
  }
  change(limits) {
    return this.w.change(this.a, { limits });
  }
}

const FREE = { subs: -1, payload: -1, conn: -1, leaf: -1, imports: -1, exports: -1, data: -1, wildcards: true };
const shown = (more) => ({ max_memory: 0, max_storage: 0, max_streams: 0, max_consumers: 0, max_ack_pending: -1, memory_max_stream_bytes: -1, storage_max_stream_bytes: -1, max_bytes_required: false, ...more });
const NOTHING = shown({ max_ack_pending: 0, memory_max_stream_bytes: 0, storage_max_stream_bytes: 0 });
const used = (more) => ({ memory: 0, storage: 0, reserved_memory: 0, reserved_storage: 0, streams: 0, consumers: 0, ...more });

scenario("an account without storage has no JetStream", async (t) => {
  const c = await Client.open(t, { streams: 5, consumer: 5 });
  const r = await c.api("INFO");
  assert.deepEqual(r.error, { code: 503, err_code: 10039, description: "JetStream not enabled for account" });
  assert.equal(await c.create("S"), 10039);
  assert.equal((await c.w.accountz(c.a)).jetstream_enabled, false);
});

scenario("flat limits: what INFO shows, and what each refuses", async (t) => {
  const c = await Client.open(t, { mem_storage: 1000, disk_storage: 100000, streams: 3, consumer: 2, max_ack_pending: 50, mem_max_stream_bytes: 500, disk_max_stream_bytes: 50000 });
  assert.deepEqual((await c.info()).limits, shown({ max_memory: 1000, max_storage: 100000, max_streams: 3, max_consumers: 2, max_ack_pending: 50, memory_max_stream_bytes: 500, storage_max_stream_bytes: 50000 }));
  const memory = { storage: "memory" };
  assert.equal(await c.create("M", { ...memory, max_bytes: 2000 }), 10028, "more memory than there is");
  assert.equal(await c.create("M", { ...memory, max_bytes: 600 }), 10122, "more than a stream may have");
  assert.equal(await c.create("M", { ...memory, max_bytes: 500 }), "ok");
  assert.equal(await c.create("N", { ...memory, max_bytes: 500 }), "ok");
  assert.equal(await c.create("O", { ...memory, max_bytes: 1 }), 10028, "all is reserved");
  assert.equal(await c.create("D", { storage: "file", max_bytes: 200000 }), 10047);
  assert.equal(await c.create("D", { max_bytes: 60000 }), 10122);
  assert.equal(await c.create("D", { max_consumers: 3 }), 10026);
  assert.equal(await c.create("D", { max_bytes: 50000 }), "ok");
  assert.equal(await c.create("E"), 10027, "a fourth stream");
  assert.equal(await c.create("D", { max_bytes: 60000 }, "UPDATE"), 10122);
  assert.equal(await c.consumer("D", "a", { max_ack_pending: 51 }), 10121);
  assert.equal(await c.consumer("D", "a"), "ok");
  assert.equal((await c.api("CONSUMER.INFO.D.a")).config.max_ack_pending, 50);
  assert.equal(await c.consumer("D", "b", { max_ack_pending: 50 }), "ok");
  assert.equal(await c.consumer("D", "c"), 10026);
  const info = await c.info();
  assert.deepEqual([info.streams, info.consumers, info.reserved_memory, info.reserved_storage], [3, 2, 1000, 50000]);
});

scenario("no memory storage, and max_bytes required", async (t) => {
  const c = await Client.open(t, { disk_storage: -1, max_bytes_required: true });
  assert.deepEqual((await c.info()).limits, shown({ max_storage: -1, max_bytes_required: true }));
  assert.equal(await c.create("S"), 10113);
  assert.equal(await c.create("M", { storage: "memory", max_bytes: 10 }), 10028);
  assert.equal(await c.create("S", { max_bytes: 1000 }), "ok");
  assert.equal(await c.create("S", { max_bytes: -1 }, "UPDATE"), 10113);
  for (let i = 0; i < 20; i++) assert.equal(await c.create(`S${i}`, { max_bytes: 10 }), "ok", "streams: 0 is no limit");
});

scenario("what is stored counts: publishes beyond the account's limits, of memory and of disk", async (t) => {
  const c = await Client.open(t, { mem_storage: 2000, disk_storage: 2000 });
  assert.equal(await c.create("M", { storage: "memory" }), "ok");
  assert.equal(await c.create("D"), "ok");
  for (const s of ["M", "D"]) {
    assert.equal(await c.publish(`${s}.x`, 1500), "ok");
    assert.equal(await c.publish(`${s}.x`, 1500), 10002);
    assert.equal(await c.publish(`${s}.x`, 100), "ok");
  }
});

// --- tiers -------------------------------------------------------------------------------------------

const TIERS = {
  R1: { mem_storage: 1000, disk_storage: 100000, streams: 2, consumer: 3, max_ack_pending: 70, disk_max_stream_bytes: 60000, max_bytes_required: true },
  R3: { ...STREAMS },
};
const R1 = shown({ max_memory: 1000, max_storage: 100000, max_streams: 2, max_consumers: 3, max_ack_pending: 70, storage_max_stream_bytes: 60000, max_bytes_required: true });
const R3 = shown({ max_memory: -1, max_storage: -1, max_streams: -1, max_consumers: -1 });

scenario("tiers: what INFO shows, and which tier refuses", async (t) => {
  const c = await Client.open(t, { tiered_limits: TIERS });
  assert.deepEqual(await c.info(), { limits: NOTHING, ...used(), tiers: { R1: { ...used(), limits: R1 }, R3: { ...used(), limits: R3 } } });
  assert.equal(await c.create("S"), 10113);
  assert.equal(await c.create("S", { max_bytes: 70000 }), 10122);
  assert.equal(await c.create("S", { max_bytes: 50000 }), "ok");
  assert.equal(await c.create("M", { storage: "memory", max_bytes: 1001 }), 10028);
  assert.equal(await c.create("M", { storage: "memory", max_bytes: 1000 }), "ok");
  assert.equal(await c.create("T", { max_bytes: 10 }), 10027);
  assert.equal(await c.create("R", { num_replicas: 3 }), 10074, "one server has one replica");
  assert.equal(await c.create("R", { num_replicas: 2 }), 10120, "there is no tier R2");
  assert.equal(await c.consumer("S", "a", { max_ack_pending: 71 }), 10121);
  for (const name of ["a", "b", "c"]) assert.equal(await c.consumer("S", name), "ok");
  assert.equal(await c.consumer("S", "d"), 10026);
  assert.equal(await c.publish("S.x"), "ok");
  const info = await c.info();
  const sums = used({ storage: info.storage, reserved_memory: 1000, reserved_storage: 50000, streams: 2, consumers: 3 });
  assert.ok(info.storage > 10);
  assert.deepEqual(info, { limits: NOTHING, ...sums, tiers: { R1: { ...sums, limits: R1 }, R3: { ...used(), limits: R3 } } });
  const row = (await c.w.s.page("/jsz?accounts=1")).json.account_details[0];
  assert.deepEqual([row.reserved_memory, row.reserved_storage, row.storage], [0, 0, info.storage]);
});

scenario("tiers beside flat limits: the flat ones do not count", async (t) => {
  const c = await Client.open(t, { disk_storage: 1000, mem_storage: 0, tiered_limits: { R1: { ...STREAMS, streams: 5 } } });
  assert.deepEqual((await c.info()).limits, NOTHING);
  assert.equal(await c.create("M", { storage: "memory" }), "ok");
  assert.equal(await c.create("S"), "ok");
  assert.equal(await c.publish("S.x", 5000), "ok");
});

scenario("no tier for streams of one replica", async (t) => {
  const c = await Client.open(t, { tiered_limits: { R3: { disk_storage: 5000 } } });
  const tiers = { R3: { ...used(), limits: shown({ max_storage: 5000 }) } };
  assert.deepEqual(await c.info(), { limits: NOTHING, ...used(), tiers });
  assert.deepEqual((await c.api("STREAM.CREATE.S", { name: "S" })).error, { code: 400, err_code: 10120, description: "no JetStream default or applicable tiered limit present" });
  assert.equal(await c.create("S", { num_replicas: 3 }), 10074);
  if (isMayfly) await c.w.s.logged(/no tier R1 in its JetStream limits/);
});

scenario("claims about clusters are checked, and the log says that they have no effect", async (t) => {
  const operator = new Operator();
  const a = operator.account("A", { cluster_traffic: "owner", mappings: { m: [{ subject: "n", cluster: "EAST" }] } });
  const w = await World.start(t, operator, [a]);
  const nc = await w.connect(a.user());
  const got = collect(nc, ">");
  await nc.flush();
  nc.publish("m");
  await until("the message", () => got.length > 0);
  assert.equal(got[0].subject, "m");
  if (isMayfly) {
    await w.s.logged(/cluster_traffic has no effect/);
    await w.s.logged(/mappings for a cluster have no effect/);
  }
  const answer = await w.push(a, a.jwt({ nats: { cluster_traffic: "everywhere" } }));
  assert.match(answer.error?.description ?? "", /unknown cluster traffic option: "everywhere"|account validation failed/);
});

scenario("a tier that is taken away and comes back: its streams are shown, and take nothing meanwhile", async (t) => {
  const c = await Client.open(t, { tiered_limits: { R1: STREAMS } });
  assert.equal(await c.create("S"), "ok");
  assert.equal(await c.publish("S.x"), "ok");
  await c.change({ ...FREE, tiered_limits: { R3: STREAMS } });
  assert.equal(await c.publish("S.x"), 10120);
  assert.equal(await c.consumer("S", "c"), 10120);
  assert.equal(await c.create("S", { description: "d" }, "UPDATE"), 10120);
  assert.equal(await c.create("T"), 10120);
  const r = await c.api("STREAM.INFO.S");
  assert.equal(r.state.messages, 1);
  const info = await c.info();
  // nats-server sometimes leaves out a tier that nothing uses.
  if (isMayfly) assert.deepEqual(info.tiers.R3, { ...used(), limits: R3 });
  assert.deepEqual(info.tiers.R1, { ...used({ storage: info.storage, streams: 1 }), limits: NOTHING });
  await c.change({ ...FREE, tiered_limits: { R1: STREAMS } });
  assert.equal(await c.publish("S.x"), "ok");
  assert.equal(await c.consumer("S", "c"), "ok");
});

// nats-server keeps the tier that a stream was made in: until a restart such streams take nothing.
scenario("from flat limits to tiers and back: streams go on", { only: "mayfly" }, async (t) => {
  const c = await Client.open(t, STREAMS);
  assert.equal(await c.create("S"), "ok");
  await c.change({ ...FREE, tiered_limits: { R1: { disk_storage: 300 } } });
  assert.equal(await c.publish("S.x"), "ok");
  assert.equal(await c.publish("S.x", 1000), 10002);
  const info = await c.info();
  assert.deepEqual(Object.keys(info.tiers), ["R1"]);
  assert.equal(info.tiers.R1.streams, 1);
  await c.change({ ...FREE, ...STREAMS });
  assert.equal(await c.publish("S.x", 1000), "ok");
  assert.equal((await c.info()).tiers, undefined);
});

scenario("TTL policies of the configuration name an account by its key", { only: "mayfly" }, async (t) => {
  const operator = new Operator();
  const [a, b] = ["A", "B"].map((name) => operator.account(name, { limits: STREAMS }));
  const w = await World.start(t, operator, [a, b], { config: `${JS}\nttl { namespaces: [ { account: ${a.public}, stream: "S*", default: "1h" } ] }` });
  const governed = [];
  for (const account of [a, b]) {
    const c = await Client.of(w, account);
    assert.equal(await c.create("S", { allow_msg_ttl: true }), "ok");
    governed.push((await c.nc.request("$MAYFLY.TTL.POLICY.S", "", { timeout: LIMIT_MS })).json().policy.default);
  }
  assert.deepEqual(governed, ["1h0m0s", ""]);
  const streams = (await w.s.page(`/ttlz?acc=${a.public}`)).json.streams;
  assert.deepEqual(streams.map((s) => [s.account, s.stream]), [[a.public, "S"]]);
});

// --- live changes ------------------------------------------------------------------------------------

scenario("limits below what is used refuse publishes and remove nothing", async (t) => {
  const c = await Client.open(t, STREAMS);
  assert.equal(await c.create("D"), "ok");
  assert.equal(await c.create("M", { storage: "memory" }), "ok");
  for (const s of ["D", "M"]) assert.equal(await c.publish(`${s}.x`, 1000), "ok");
  await c.change({ ...FREE, ...STREAMS, disk_storage: 500, mem_storage: 500 });
  for (const s of ["D", "M"]) {
    const ack = (await c.nc.request(`${s}.x`, "y")).json();
    assert.deepEqual(ack.error, { code: 400, err_code: 10002, description: "resource limits exceeded for account" });
    assert.equal((await c.api(`STREAM.INFO.${s}`)).state.messages, 1);
  }
  await c.change({ ...FREE, ...STREAMS });
  for (const s of ["D", "M"]) assert.equal(await c.publish(`${s}.x`), "ok");
});

scenario("JetStream off: streams are gone at once, and all back when it is on again", async (t) => {
  const c = await Client.open(t, STREAMS);
  assert.equal(await c.create("S"), "ok");
  assert.equal(await c.consumer("S", "c"), "ok");
  for (let i = 0; i < 3; i++) assert.equal(await c.publish("S.x"), "ok");
  for (let round = 0; round < 3; round++) {
    await c.change(FREE);
    for (const what of ["INFO", "STREAM.INFO.S", "STREAM.NAMES", "CONSUMER.INFO.S.c"]) assert.equal(await c.ask(what), 10039, what);
    assert.equal(await c.create("S"), 10039);
    assert.equal(await c.publish("S.x"), "nobody");
    assert.equal((await c.w.accountz(c.a)).jetstream_enabled, false);
    await c.change({ ...FREE, ...STREAMS });
    // mayflyd closes the files of an account in a worker, so they may open a moment later.
    if (isMayfly) await until("the stream", async () => (await c.ask("STREAM.INFO.S")) === "ok");
    assert.equal((await c.api("STREAM.INFO.S")).state.messages, 3 + round);
    assert.equal((await c.api("CONSUMER.INFO.S.c")).num_pending, 3 + round);
    assert.equal(await c.publish("S.x"), "ok");
  }
});

scenario("JetStream off across a restart: the files stay", async (t) => {
  const operator = new Operator();
  const a = operator.account("A", { limits: STREAMS }, { claims: { iat: now() - 100 } }); // a preload does not replace what is newer
  const w = await World.start(t, operator, [a], { config: JS, full: "" });
  a.claims = {};
  let c = await Client.of(w, a);
  assert.equal(await c.create("S"), "ok");
  for (let i = 0; i < 3; i++) assert.equal(await c.publish("S.x"), "ok");
  await c.change(FREE);
  await c.nc.close();
  await w.s.stop();
  await w.s.start();
  w.root = undefined;
  c = await Client.of(w, a);
  assert.equal(await c.ask("INFO"), 10039);
  await c.change({ ...FREE, ...STREAMS });
  await until("the stream", async () => (await c.ask("STREAM.INFO.S")) === "ok");
  assert.equal((await c.api("STREAM.INFO.S")).state.messages, 3);
});

scenario("the streams of an account are served after a restart, before a user of it logs in", async (t) => {
  const operator = new Operator();
  const [a, b] = [operator.account("A", { limits: STREAMS }), operator.account("B", { limits: STREAMS })];
  a.nats.exports = [{ name: "s", subject: "S.>", type: "service" }];
  b.nats.imports = [{ name: "s", subject: "S.x", account: a.public, type: "service" }];
  const w = await World.start(t, operator, [a, b], { config: JS });
  const c = await Client.of(w, a);
  assert.equal(await c.create("S"), "ok");
  await c.nc.close();
  await w.s.stop();
  await w.s.start();
  const nc = await w.connect(b.user());
  const ack = (await nc.request("S.x", "hello", { timeout: LIMIT_MS })).json();
  assert.deepEqual([ack.stream, ack.seq], ["S", 1]);
});
