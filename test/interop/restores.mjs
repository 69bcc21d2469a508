// restores.mjs: what a restore may take: streams, bytes, time; and what clients cannot say about it.
import assert from "node:assert/strict";
import fs from "node:fs";
import { ZEROS, framed, zeros } from "./lib/archive.mjs";
import { api, archive, ask, contents, ready, restore } from "./lib/backup.mjs";
import { scenario } from "./lib/scenario.mjs";
import { header, tar } from "./lib/tar.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const mayfly = { only: "mayfly" };
const message = (seq, payload = "x") => ["s.1", seq, 1, "", payload];
const STATE = { first_seq: 1, last_seq: 1 };
const CONFIG = { name: "S", subjects: ["s.>"] };

// --- keys of metadata that are the server's --------------------------------------------------------------

scenario("metadata that begin with _mayfly. are refused, for streams, consumers and restores", mayfly, async (t) => {
  const [, nc] = await ready(t);
  const metadata = { "_mayfly.restoring": "true" };
  const stream = { code: 500, err_code: 10052, description: "stream metadata key '_mayfly.restoring' is reserved" };
  const consumer = { code: 500, err_code: 10012, description: "consumer metadata key '_mayfly.restoring' is reserved" };
  assert.deepEqual((await ask(nc, "STREAM.CREATE.S", { ...CONFIG, metadata })).error, stream);
  assert.deepEqual((await ask(nc, "STREAM.RESTORE.S", { config: { ...CONFIG, metadata }, state: {} })).error, stream);
  await api(nc, "STREAM.CREATE.S", { ...CONFIG, metadata: { "mayfly.restoring": "true", _mayfly: "x" } });
  assert.deepEqual((await ask(nc, "STREAM.UPDATE.S", { ...CONFIG, metadata })).error, stream);
  const config = { durable_name: "C", ack_policy: "explicit" };
  const put = (c) => ask(nc, "CONSUMER.CREATE.S.C", { stream_name: "S", config: c });
  assert.deepEqual((await put({ ...config, metadata })).error, consumer);
  assert.equal((await put(config)).error, undefined);
  assert.deepEqual((await put({ ...config, metadata })).error, consumer);
  await api(nc, "STREAM.DELETE.S");
  const state = { delivered: { consumer_seq: 0, stream_seq: 0 }, ack_floor: { consumer_seq: 0, stream_seq: 0 } };
  const bytes = archive(STATE, [message(1)], { consumers: [["C", { config: { ...config, metadata }, state }]] });
  assert.match((await restore(nc, CONFIG, bytes)).error.description, /consumer metadata key '_mayfly.restoring' is reserved/);
  assert.equal((await ask(nc, "STREAM.INFO.S")).error?.err_code, 10059);
});

// The first version marked unfinished restores by a key of the metadata, which any client could set.
scenario("no key of its metadata deletes a stream at the next start", mayfly, async (t) => {
  const [s, nc] = await ready(t);
  const config = { ...CONFIG, deny_delete: true, deny_purge: true, metadata: { "_mayfly.restoring": "true" } };
  const { error } = await ask(nc, "STREAM.CREATE.S", config);
  if (error) await api(nc, "STREAM.CREATE.S", { ...config, metadata: {} });
  await nc.request("s.1", "precious", { timeout: LIMIT_MS });
  await nc.close();
  await s.restart();
  assert.equal((await contents(await t.connect(s))).state.messages, 1);
});

scenario("a stream that is being restored takes no update, and shows nothing that a client could not set", mayfly, async (t) => {
  const [s, nc] = await ready(t);
  const bytes = archive(STATE, [message(1)]);
  const { deliver_subject } = await api(nc, "STREAM.RESTORE.S", { config: CONFIG, state: {} });
  await nc.request(deliver_subject, bytes, { timeout: LIMIT_MS });
  const { config } = await until("the stream", async () => ((await ask(nc, "STREAM.INFO.S")).config ? ask(nc, "STREAM.INFO.S") : undefined));
  assert.deepEqual(Object.keys(config.metadata).filter((k) => !k.startsWith("_nats.")), []);
  assert.deepEqual((await ask(nc, "STREAM.UPDATE.S", { ...config, subjects: ["s.>"] })).error, { code: 500, err_code: 10069, description: "stream is being restored" });
  assert.equal((await nc.request(deliver_subject, "", { timeout: LIMIT_MS })).json().error, undefined);
  assert.equal((await ask(nc, "STREAM.UPDATE.S", { ...CONFIG, description: "d" })).error, undefined);
  // acknowledged: there after a kill
  await s.kill();
  await s.startAgain();
  s.killed = false;
  assert.equal((await contents(await t.connect(s))).state.messages, 1);
});

// A stream that cannot be served is still somebody's.
scenario("a restore over a stream that is offline is refused, and leaves it alone", mayfly, async (t) => {
  const [s, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.S", CONFIG);
  await nc.request("s.1", "precious", { timeout: LIMIT_MS });
  await nc.close();
  await s.stop();
  const folder = (name) => s.file(`jetstream/$G/streams/${name}`);
  fs.renameSync(folder("S"), folder("T")); // a folder with another stream in it is not served
  const before = fs.readdirSync(folder("T")).sort();
  await s.startAgain();
  const again = await t.connect(s);
  const config = { name: "T", subjects: ["t"] };
  const { error, deliver_subject } = await ask(again, "STREAM.RESTORE.T", { config, state: {} });
  if (!error) {
    await again.request(deliver_subject, archive(STATE, [["t", 1, 1, "", "x"]]), { timeout: LIMIT_MS });
    await again.request(deliver_subject, "", { timeout: LIMIT_MS });
  }
  assert.deepEqual(fs.readdirSync(folder("T")).sort(), before);
  assert.equal(error?.err_code, 10194);
});

// --- bytes --------------------------------------------------------------------------------------------------

const limited = (limits) => ({
  config: `server_name: one\njetstream { store_dir: "DIR" }\naccounts { A { jetstream { ${limits} }, users [ { user: a, password: a } ] } }\nno_auth_user: a\n`,
});

// 100 files of zeros that no stream has: 1.6 GB in less than 200 KB.
function bomb() {
  const files = 100;
  const parts = [framed(tar([["meta.inf", JSON.stringify(CONFIG)]], { end: false }))];
  for (let i = 0; i < files; i++) parts.push(framed(header(`msgs/${i}.x`, 4 * ZEROS, "0")), ...Array(4).fill(zeros()));
  return Buffer.concat([...parts, framed(Buffer.alloc(1024))]);
}

scenario("what unpacks to more than the account has room for is refused", async (t) => {
  const [, nc] = await ready(t, limited("max_file: 1M"));
  const bytes = bomb();
  assert.ok(bytes.length < 200_000);
  assert.deepEqual((await restore(nc, CONFIG, bytes)).error, { code: 500, err_code: 10047, description: "insufficient storage resources available" });
  assert.equal((await ask(nc, "STREAM.INFO.S")).error?.err_code, 10059);
  // as declared, and as it is
  const large = archive({ ...STATE, bytes: 2_000_000 }, [message(1)]);
  assert.equal((await restore(nc, CONFIG, large)).error?.err_code, 10047);
  const many = [...Array(30).keys()].map((i) => message(i + 1, "x".repeat(50_000)));
  assert.equal((await restore(nc, { ...CONFIG, name: "T" }, archive({ first_seq: 1, last_seq: 30 }, many))).error?.err_code, 10047);
  await ask(nc, "STREAM.DELETE.T"); // nats-server keeps what it had taken
  const few = await restore(nc, { ...CONFIG, name: "U", subjects: ["u"] }, archive({ first_seq: 1, last_seq: 10 }, many.slice(0, 10)));
  assert.equal(few.error, undefined, JSON.stringify(few.error));
  assert.equal(few.state.messages, 10);
});

// nats-server gives such a restore up: its reader is too slow for its own watchdog.
scenario("others are served while a few bytes are unpacked to many", mayfly, async (t) => {
  const [s, nc] = await ready(t);
  const others = await t.connect(s);
  const { deliver_subject } = await api(nc, "STREAM.RESTORE.S", { config: CONFIG, state: {} });
  let answered = 0;
  let read = false;
  const chunk = nc.request(deliver_subject, bomb(), { timeout: 10 * LIMIT_MS }).then(() => (read = true));
  while (!read) {
    await others.flush();
    answered += !read;
  }
  await chunk;
  assert.ok(answered >= 20, `${answered} answers`);
  assert.equal((await nc.request(deliver_subject, "", { timeout: LIMIT_MS })).json().error, undefined);
});

// --- streams ------------------------------------------------------------------------------------------------

scenario("a restore has its place among the account's streams from the beginning", mayfly, async (t) => {
  const [, nc] = await ready(t, limited("max_streams: 2, max_file: 10M"));
  const begin = (name, more = {}) => ask(nc, `STREAM.RESTORE.${name}`, { config: { name, subjects: [name], ...more }, state: {} });
  const create = (name, more = {}) => ask(nc, `STREAM.CREATE.${name}`, { name, subjects: [name], ...more });
  const first = await begin("A", { max_bytes: 6_000_000 });
  assert.equal(first.error, undefined);
  // its bytes are promised, and so is its place
  assert.equal((await create("B", { max_bytes: 6_000_000 })).error?.err_code, 10047);
  assert.equal((await begin("B", { max_bytes: 6_000_000 })).error?.err_code, 10047);
  const second = await begin("B");
  assert.equal(second.error, undefined);
  assert.equal((await begin("C")).error?.err_code, 10027);
  assert.equal((await create("C")).error?.err_code, 10027);
  // one ends, the other fails: then there is room again
  const bytes = archive(STATE, [["A", 1, 1, "", "x"]]);
  await nc.request(first.deliver_subject, bytes, { timeout: LIMIT_MS });
  assert.equal((await create("C")).error?.err_code, 10027);
  const made = (await nc.request(first.deliver_subject, "", { timeout: LIMIT_MS })).json();
  assert.equal(made.error, undefined, JSON.stringify(made.error));
  assert.equal((await create("C")).error?.err_code, 10027);
  assert.equal((await nc.request(second.deliver_subject, "", { timeout: LIMIT_MS })).json().error?.err_code, 10062);
  assert.equal((await create("C", { max_bytes: 6_000_000 })).error?.err_code, 10047);
  assert.equal((await create("C")).error, undefined);
  await api(nc, "STREAM.DELETE.A");
  assert.equal((await create("A", { max_bytes: 6_000_000 })).error, undefined);
});

scenario("what a restore says that it needs is kept free for it", mayfly, async (t) => {
  const [, nc] = await ready(t, limited("max_file: 1M"));
  await api(nc, "STREAM.CREATE.P", { name: "P", subjects: ["p"] });
  const put = async (n) => (await nc.request("p", "x".repeat(n), { timeout: LIMIT_MS })).json();
  const { deliver_subject } = await api(nc, "STREAM.RESTORE.S", { config: CONFIG, state: {} });
  const messages = [...Array(8).keys()].map((i) => message(i + 1, "x".repeat(100_000)));
  const bytes = archive({ first_seq: 1, last_seq: 8, bytes: 801_000 }, messages);
  await nc.request(deliver_subject, bytes.subarray(0, 200_000), { timeout: LIMIT_MS });
  assert.equal((await put(300_000)).error?.err_code, 10002);
  assert.equal((await put(100_000)).error, undefined);
  await nc.request(deliver_subject, bytes.subarray(200_000), { timeout: LIMIT_MS });
  const { error, state } = (await nc.request(deliver_subject, "", { timeout: LIMIT_MS })).json();
  assert.deepEqual([error, state?.messages], [undefined, 8]);
  assert.equal((await ask(nc, "INFO")).storage, state.bytes + (await ask(nc, "STREAM.INFO.P")).state.bytes);
  // and free again after one that fails
  await api(nc, "STREAM.DELETE.S");
  const again = await api(nc, "STREAM.RESTORE.S", { config: CONFIG, state: {} });
  await nc.request(again.deliver_subject, bytes.subarray(0, 200_000), { timeout: LIMIT_MS });
  assert.equal((await nc.request(again.deliver_subject, "", { timeout: LIMIT_MS })).json().error?.err_code, 10062);
  await until("its bytes", async () => (await ask(nc, "INFO")).storage === (await ask(nc, "STREAM.INFO.P")).state.bytes);
});

scenario("an account has 16 restores under way, not more", mayfly, async (t) => {
  const [, nc] = await ready(t);
  const begin = (i) => ask(nc, `STREAM.RESTORE.S${i}`, { config: { name: `S${i}`, subjects: [`${i}`] }, state: {} });
  const begun = [];
  for (let i = 0; i < 16; i++) begun.push(await begin(i));
  assert.deepEqual(begun.map((b) => b.error), Array(16).fill(undefined));
  assert.deepEqual((await begin(16)).error, { code: 500, err_code: 10062, description: "restore failed: too many restores are under way" });
  await nc.request(begun[3].deliver_subject, "", { timeout: LIMIT_MS });
  assert.equal((await begin(16)).error, undefined);
});

// Its last message was removed, so the backup ends with a sequence that nothing has.
scenario("a stream that copies from one that is being restored gets its messages, and nothing else", mayfly, async (t) => {
  const [s, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.COPY", { name: "COPY", sources: [{ name: "S" }] });
  const bytes = archive({ first_seq: 1, last_seq: 9 }, [message(1), message(2)]);
  const { deliver_subject } = await api(nc, "STREAM.RESTORE.S", { config: CONFIG, state: {} });
  await nc.request(deliver_subject, bytes, { timeout: LIMIT_MS });
  await until("the copy of two messages", async () => (await api(nc, "STREAM.INFO.COPY")).state.messages === 2);
  assert.equal((await nc.request(deliver_subject, "", { timeout: LIMIT_MS })).json().error, undefined);
  assert.equal((await api(nc, "STREAM.INFO.S")).state.last_seq, 9);
  await nc.request("s.1", "next", { timeout: LIMIT_MS });
  const copied = async (c) => Object.keys((await api(c, "STREAM.INFO.COPY", { subjects_filter: ">" })).state.subjects);
  await until("the copy of the third", async () => (await api(nc, "STREAM.INFO.COPY")).state.messages >= 3);
  assert.deepEqual(await copied(nc), ["s.1"]);
  await nc.close();
  await s.restart();
  const again = await t.connect(s);
  assert.equal((await api(again, "STREAM.INFO.S")).state.last_seq, 10);
  assert.deepEqual(await copied(again), ["s.1"]);
});
