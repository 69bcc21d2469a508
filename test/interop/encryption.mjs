// encryption.mjs: jetstream { key, cipher, prev_key }: nothing of a stream can be read in the files, with the key everything is
// as before, with another key nothing is changed, keys and ciphers change, and streams from before the encryption are encrypted.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { headers } from "@nats-io/transport-node";
import { restore, snapshot } from "./lib/backup.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary, isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const CANARY = "canary-Zx81";
const FIRST = "the first key, which is long enough";
const SECOND = "the second key, which is long enough";
const conf = (more) => ({ config: `server_name: one\njetstream { store_dir: "DIR/js" ${more} }\n` });
const keyed = (cipher, key, prev) => `, cipher: ${cipher}, key: "${key}"${prev ? `, prev_key: "${prev}"` : ""}`;
const tool = process.env.MAYFLY ?? path.join(path.dirname(binary), "mayfly");

const files = (s) =>
  fs
    .readdirSync(s.file("js"), { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile())
    .map((f) => path.join(f.parentPath ?? f.path, f.name))
    .sort();
const read = (file) => {
  try {
    return fs.readFileSync(file);
  } catch (e) {
    assert.equal(e.code, "ENOENT"); // it goes meanwhile
    return Buffer.alloc(0);
  }
};
// The files that hold the word, in their names or their bytes.
const grep = (s, word) => files(s).filter((f) => f.includes(word) || read(f).includes(word));
const contents = (s) => files(s).filter((f) => f.includes("/streams/")).map((f) => `${f} ${fs.readFileSync(f, "hex")}`);

const ask = async (nc, subject, body = "") => (await nc.request(`$JS.API.${subject}`, body && JSON.stringify(body), { timeout: LIMIT_MS })).json();
const good = async (nc, subject, body) => {
  const r = await ask(nc, subject, body);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  return r;
};

async function publish(nc, subject, n) {
  const h = headers();
  h.set("X-Header", `${CANARY} header ${n}`);
  h.set("Nats-Msg-Id", `${CANARY}-${subject}-${n}`);
  const ack = (await nc.request(subject, `${CANARY} payload ${n} ${"x".repeat(n % 50)}`, { timeout: LIMIT_MS, headers: h })).json();
  assert.equal(ack.error, undefined, JSON.stringify(ack.error));
}

// Streams with the word wherever a user can put it, names apart: those are names of folders.
async function fill(nc, streams = ["S", "T", "U"]) {
  for (const name of streams) {
    await good(nc, `STREAM.CREATE.${name}`, {
      name,
      subjects: [`${CANARY}.${name}.>`],
      description: `${CANARY} description`,
      metadata: { [`${CANARY}-key`]: `${CANARY} value` },
      storage: "file",
      max_msgs_per_subject: 20,
    });
    await good(nc, `CONSUMER.CREATE.${name}.C`, {
      stream_name: name,
      config: { name: "C", durable_name: "C", filter_subject: `${CANARY}.${name}.a.>`, description: `${CANARY} consumer`, ack_policy: "explicit" },
    });
  }
  // Groups of several streams at once meet in the commit journal.
  for (let round = 0; round < 40; round++) await Promise.all(streams.map((name) => publish(nc, `${CANARY}.${name}.a.${round % 7}`, round)));
}

// rotated: nats-server loses consumers where the key changes.
async function holds(nc, streams = ["S", "T", "U"], rotated = false) {
  for (const name of streams) {
    const info = await good(nc, `STREAM.INFO.${name}`);
    assert.equal(info.state.messages, 40);
    assert.equal(info.config.description, `${CANARY} description`);
    for (const seq of [1, 17, 40]) {
      const { message } = await good(nc, `STREAM.MSG.GET.${name}`, { seq });
      assert.equal(message.subject, `${CANARY}.${name}.a.${(seq - 1) % 7}`);
      assert.match(Buffer.from(message.data, "base64").toString(), new RegExp(`^${CANARY} payload ${seq - 1} x*$`));
      assert.match(Buffer.from(message.hdrs, "base64").toString(), new RegExp(`X-Header: ${CANARY} header ${seq - 1}`));
    }
    const last = await good(nc, `STREAM.MSG.GET.${name}`, { last_by_subj: `${CANARY}.${name}.a.4` });
    assert.equal(last.message.seq, 40);
    if (rotated && !isMayfly) continue;
    const c = await good(nc, `CONSUMER.INFO.${name}.C`);
    assert.equal(c.config.filter_subject, `${CANARY}.${name}.a.>`);
    assert.equal(c.num_pending, 40);
  }
}

const restarted = async (t, s, more) => {
  s.config = conf(more).config;
  await s.startAgain();
  return t.connect(s);
};
const run = (...args) => new Promise((done) => execFile(tool, args, (e, out, err) => done({ code: e ? e.code : 0, text: out + err })));
const silent = (s) => assert.ok(!s.log().includes("which is long enough"), "the log holds a key");

for (const cipher of ["chacha", "aes"]) {
  scenario(`${cipher}: nothing can be read in the files: while it runs, after a kill and after a stop`, async (t) => {
    const s = await t.server(conf(keyed(cipher, FIRST)));
    const nc = await t.connect(s);
    await fill(nc);
    assert.deepEqual(grep(s, CANARY), []);
    await s.kill();
    assert.deepEqual(grep(s, CANARY), []);
    const again = await restarted(t, s, keyed(cipher, FIRST));
    await holds(again);
    await s.stop();
    assert.deepEqual(grep(s, CANARY), []);
    await holds(await restarted(t, s, keyed(cipher, FIRST)));
    silent(s);
  });
}

scenario("another key, or none: the streams are not served, and nothing is changed", async (t) => {
  const s = await t.server(conf(keyed("chacha", FIRST)));
  await fill(await t.connect(s));
  await s.stop();
  const before = contents(s);
  for (const more of [keyed("chacha", SECOND), keyed("aes", SECOND, "yet another key"), ""]) {
    const nc = await restarted(t, s, more);
    assert.notEqual((await ask(nc, "STREAM.INFO.S")).error, undefined);
    if (isMayfly) {
      assert.match(s.log(), more === "" ? /stream S is offline:.*no key is configured/ : /stream S is offline:.*does not open store\.key/);
      assert.notEqual((await ask(nc, "STREAM.CREATE.S", { name: "S", subjects: ["other"] })).error, undefined);
    }
    silent(s);
    await s.stop();
    if (isMayfly) assert.deepEqual(contents(s), before);
  }
  if (isMayfly) await holds(await restarted(t, s, keyed("chacha", FIRST)));
});

scenario("prev_key: the streams get the new key, and then it alone opens them", async (t) => {
  const s = await t.server(conf(keyed("chacha", FIRST)));
  await fill(await t.connect(s));
  await s.stop();
  await holds(await restarted(t, s, keyed("chacha", SECOND, FIRST)), undefined, true);
  await s.kill();
  await holds(await restarted(t, s, keyed("chacha", SECOND)), undefined, true);
  await s.stop();
  const nc = await restarted(t, s, keyed("chacha", FIRST));
  assert.notEqual((await ask(nc, "STREAM.INFO.S")).error, undefined);
  silent(s);
});

scenario("streams from before the encryption are encrypted", async (t) => {
  const s = await t.server(conf(""));
  await fill(await t.connect(s));
  await s.stop();
  assert.notDeepEqual(grep(s, CANARY), []);
  const nc = await restarted(t, s, keyed("aes", FIRST));
  await holds(nc);
  if (isMayfly) await until("the files to hold nothing readable", () => grep(s, CANARY).length === 0);
  await s.stop();
  if (isMayfly) assert.deepEqual(grep(s, CANARY), []);
  await holds(await restarted(t, s, keyed("aes", FIRST)));
});

scenario("the cipher changes: what was written with the other one is read", { only: "mayfly" }, async (t) => {
  const s = await t.server(conf(keyed("chacha", FIRST)));
  await fill(await t.connect(s), ["S"]);
  await s.stop();
  const nc = await restarted(t, s, keyed("aes", FIRST));
  await holds(nc, ["S"]);
  await fill(nc, ["T"]);
  await s.kill();
  await holds(await restarted(t, s, keyed("chacha", FIRST)), ["S", "T"]);
  await s.stop();
  assert.deepEqual(grep(s, CANARY), []);
});

scenario("mayfly check: without the key, with it, with another one", { only: "mayfly" }, async (t) => {
  const s = await t.server(conf(keyed("aes", FIRST)));
  await fill(await t.connect(s), ["S"]);
  await s.stop();
  fs.writeFileSync(s.file("key"), `${FIRST}\n`);
  fs.writeFileSync(s.file("other"), SECOND);
  const dir = s.file("js/jetstream/$G/streams/S");
  let r = await run("check", dir);
  assert.equal(r.code, 0, r.text);
  assert.match(r.text, /contents were not/);
  assert.match(r.text, /40 live/);
  r = await run("check", dir, "--key-file", s.file("key"));
  assert.equal(r.code, 0, r.text);
  assert.match(r.text, /40 live, .* 7 keys/);
  assert.match(r.text, /matches the log/);
  r = await run("check", dir, "--key-file", s.file("other"));
  assert.equal(r.code, 2, r.text);
  assert.match(r.text, /does not open store\.key/);
  r = await run("check", "--repair", dir, "--to", s.file("copy"));
  assert.equal(r.code, 2, r.text);
  assert.match(r.text, /--key-file/);
  // A copy is encrypted by the same key, and serves in the place of its source.
  r = await run("check", "--repair", dir, "--to", s.file("copy"), "--key-file", s.file("key"));
  assert.equal(r.code, 0, r.text);
  fs.rmSync(dir, { recursive: true });
  fs.renameSync(s.file("copy"), dir);
  assert.deepEqual(grep(s, CANARY), []);
  await holds(await restarted(t, s, keyed("aes", FIRST)), ["S"]);
});

scenario("prev_key without key is refused", { only: "mayfly" }, async (t) => {
  const s = t.prepare(conf(`, prev_key: "${FIRST}"`));
  await assert.rejects(s.start(), /prev_key/);
});

scenario("a snapshot is not encrypted, and is restored into an encrypted server", async (t) => {
  const s = await t.server(conf(keyed("chacha", FIRST)));
  const nc = await t.connect(s);
  await fill(nc, ["S"]);
  const { config } = await good(nc, "STREAM.INFO.S");
  const { bytes } = await snapshot(nc, "S");
  await good(nc, "STREAM.DELETE.S");
  const r = await restore(nc, config, bytes);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  await holds(nc, ["S"]);
  await s.stop();
  assert.deepEqual(grep(s, CANARY), []);
});
