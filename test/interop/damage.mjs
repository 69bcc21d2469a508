// damage.mjs: files that rot under a running server or between two runs: they are found without a reader, /healthz
// says what to do, and what it says works.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { scenario } from "./lib/scenario.mjs";
import { binary } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const tool = process.env.MAYFLY ?? path.join(path.dirname(binary), "mayfly");
const block = (scrub) => `jetstream { store_dir: "DIR/js", scrub: ${scrub} }\n`;
const ONLY = { only: "mayfly" };

const ask = async (nc, subject, body) => (await nc.request(`$JS.API.${subject}`, body === undefined ? "" : JSON.stringify(body), { timeout: LIMIT_MS })).json();
const folder = (s, name = "D") => s.file(`js/jetstream/$G/streams/${name}`);
const logs = (dir) => fs.readdirSync(dir).filter((f) => f.endsWith(".log")).sort().map((f) => path.join(dir, f));

// Overwrites a byte of the first place in the logs that holds this text, `at` bytes behind its beginning.
function scratch(dir, text, at = 0) {
  for (const f of logs(dir)) {
    const where = fs.readFileSync(f).indexOf(text);
    if (where < 0) continue;
    const fd = fs.openSync(f, "r+");
    const byte = Buffer.alloc(1);
    fs.readSync(fd, byte, 0, 1, where + at);
    byte[0] ^= 0x20;
    fs.writeSync(fd, byte, 0, 1, where + at);
    fs.closeSync(fd);
    return;
  }
  assert.fail(`no log holds ${text}`);
}

async function filled(t, scrub, n = 40) {
  const s = await t.server({ monitor: true, config: block(scrub) });
  const nc = await t.connect(s);
  assert.equal((await ask(nc, "STREAM.CREATE.D", { name: "D", subjects: ["d.*"], allow_direct: true })).error, undefined);
  assert.equal((await ask(nc, "CONSUMER.DURABLE.CREATE.D.dur", { stream_name: "D", config: { durable_name: "dur", ack_policy: "explicit" } })).error, undefined);
  for (let i = 1; i <= n; i++)
    assert.equal((await nc.request(`d.${i}`, `body-${i}-${"x".repeat(3000)}`, { timeout: LIMIT_MS })).json().seq, i);
  return [s, nc];
}

const health = (s) => s.page("/healthz");
const red = (s) => until("damage is told", async () => (await health(s)).status === 503);
const green = (s) => until("healthz is ok again", async () => (await health(s)).text === '{"status":"ok"}');
async function metric(s, name) {
  const line = (await s.page("/metrics")).text.split("\n").find((l) => l.startsWith(`${name} `));
  assert.ok(line, name);
  return Number(line.split(" ")[1]);
}
const run = (...args) => spawnSync(tool, ["check", ...args], { encoding: "utf8" });
const get = (nc, seq) => ask(nc, "STREAM.MSG.GET.D", { seq });

const ways = {
  "MSG.DELETE": (nc) => ask(nc, "STREAM.MSG.DELETE.D", { seq: 17 }),
  "MSG.DELETE without erasing": (nc) => ask(nc, "STREAM.MSG.DELETE.D", { seq: 17, no_erase: true }),
  "a purge of its subject": (nc) => ask(nc, "STREAM.PURGE.D", { filter: "d.17" }),
  "a purge up to it": (nc) => ask(nc, "STREAM.PURGE.D", { seq: 18 }),
};
for (const [how, mend] of Object.entries(ways))
  scenario(`a scratched message is found by the scrub, and ${how} turns healthz green`, ONLY, async (t) => {
    const [s, nc] = await filled(t, '"1s"');
    await until("a round over sound files", async () => (await metric(s, "mayfly_scrub_rounds_total")) >= 2);
    assert.equal((await health(s)).text, '{"status":"ok"}');
    scratch(folder(s), "body-17-", 1500);
    await red(s);
    const { json } = await health(s);
    assert.match(json.error, /^JetStream stream '\$G > D' is damaged on disk: 1 message cannot be read \(sequence 17\) in 1 place\./);
    assert.match(json.error, /Delete them \(nats stream rmm\).*mayfly check --repair SRC --to DST.* SRC \$G\/streams\/D in store_dir\/jetstream/);
    const [detail] = (await s.page("/healthz?details=true")).json.errors;
    assert.deepEqual([detail.type, detail.account, detail.stream], ["STREAM", "$G", "D"]);
    assert.equal(await metric(s, "mayfly_scrub_damaged_total"), 1);
    assert.equal(await metric(s, "mayfly_jetstream_damage"), 1);
    assert.ok((await metric(s, "mayfly_scrub_last_round_timestamp_seconds")) > 1.7e9);
    assert.notEqual((await get(nc, 17)).error, undefined);
    assert.equal((await get(nc, 18)).error, undefined);
    const r = await mend(nc);
    assert.equal(r.error, undefined, JSON.stringify(r));
    await green(s);
    const rounds = await metric(s, "mayfly_scrub_rounds_total");
    await until("two more rounds", async () => (await metric(s, "mayfly_scrub_rounds_total")) >= rounds + 2);
    await green(s);
    assert.equal(await metric(s, "mayfly_jetstream_damage"), 0);
  });

// The head of a record: nothing in it tells which messages lie there, but the index knows.
scenario("a stretch of damage is told with its messages, and the repair keeps all others", ONLY, async (t) => {
  const [s, nc] = await filled(t, '"1s"');
  assert.equal((await ask(nc, "STREAM.MSG.DELETE.D", { seq: 5 })).success, true);
  scratch(folder(s), "d.23body-23-", -20); // the sequences and lengths lie before the subject
  await red(s);
  await until("which message it is", async () => /1 message cannot be read \(sequence 23\)/.test((await health(s)).json.error));
  const config = (await ask(nc, "STREAM.INFO.D")).config;
  await nc.close();
  // What the page says: not while the server runs, then to another place.
  const src = folder(s), dst = s.file("repaired");
  assert.equal(run("--repair", src, "--to", dst).status, 3);
  assert.ok(!fs.existsSync(dst));
  await s.stop();
  assert.equal(run(src).status, 1);
  const r = run("--repair", src, "--to", dst, "--json");
  assert.equal(r.status, 1, r.stderr);
  const [store] = JSON.parse(r.stdout).stores;
  assert.deepEqual([store.messages, store.lost, store.unknown.count, store.configuration, store.by_checkpoint],
    [38, { count: 1, ranges: [{ first: 23, last: 23 }] }, 0, "kept", true]);
  assert.deepEqual(store.consumers, [{ name: "dur", may_be_older: false }]);
  assert.equal(run(dst).status, 0);
  assert.equal(run(src).status, 1); // it is as it was
  assert.equal(run("--repair", src, "--to", dst).status, 2); // not empty
  fs.renameSync(src, s.file("damaged"));
  fs.renameSync(dst, src);
  await s.startAgain();
  const again = await t.connect(s);
  assert.equal((await health(s)).text, '{"status":"ok"}');
  const info = await ask(again, "STREAM.INFO.D");
  assert.deepEqual([info.state.messages, info.state.last_seq, info.state.num_deleted], [38, 40, 2]);
  assert.deepEqual(info.config, config);
  assert.equal((await ask(again, "CONSUMER.INFO.D.dur")).num_pending, 38);
  for (let i = 1; i <= 40; i++) {
    const m = await get(again, i);
    if (i === 5 || i === 23) assert.equal(m.error?.err_code, 10037);
    else assert.ok(Buffer.from(m.message.data, "base64").toString().startsWith(`body-${i}-`));
  }
  assert.equal((await again.request("d.41", "goes on", { timeout: LIMIT_MS })).json().seq, 41);
});

scenario("the scrub is turned on and off by a reload", ONLY, async (t) => {
  const [s] = await filled(t, "off");
  scratch(folder(s), "body-30-", 1000);
  assert.equal(await metric(s, "mayfly_scrub_bytes_total"), 0);
  await s.reload(block('"1s"'));
  await red(s);
  await s.reload(block("0"));
  const at = () => metric(s, "mayfly_scrub_bytes_total");
  await until("it is at rest", async () => (await at()) === (await at()));
});

scenario("a lost configuration is given back with --config", ONLY, async (t) => {
  const [s, nc] = await filled(t, "off");
  const info = await ask(nc, "STREAM.INFO.D");
  fs.writeFileSync(s.file("info.json"), JSON.stringify(info));
  fs.writeFileSync(s.file("other.json"), JSON.stringify({ ...info.config, name: "E" }));
  await nc.close();
  await s.stop();
  const src = folder(s), dst = s.file("out/D");
  fs.mkdirSync(s.file("out"));
  scratch(src, '"subjects":["d.*"]', 3);
  fs.unlinkSync(path.join(src, "checkpoint"));
  await s.startAgain();
  assert.match((await health(s)).json.error, /its configuration is lost/);
  await s.stop();
  const bare = run("--repair", src, "--to", s.file("out/bare"), "--keep-unknown");
  assert.equal(bare.status, 1);
  assert.match(bare.stdout, /configuration +lost: repair it once more with --config FILE/);
  assert.match(run("--repair", src, "--to", dst, "--config", s.file("other.json")).stderr, /is that of stream E/);
  assert.match(run("--repair", src, "--to", dst, "--config", s.file("nothing.json")).stderr, /--config/);
  const r = run("--repair", src, "--to", dst, "--config", s.file("info.json"));
  assert.equal(r.status, 1, r.stderr); // a blob was lost, and others may be
  fs.renameSync(src, s.file("damaged"));
  fs.renameSync(dst, src);
  await s.startAgain();
  assert.equal((await health(s)).text, '{"status":"ok"}');
  const again = await t.connect(s);
  assert.deepEqual((await ask(again, "STREAM.INFO.D")).config, info.config);
  assert.equal((await ask(again, "STREAM.INFO.D")).state.messages, 40);
});
