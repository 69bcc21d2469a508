// tool_backup.mjs: `mayfly backup` and `mayfly restore`: folders as `nats stream backup` makes them, here and with nats-server, interrupted,
// damaged, resumed.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { headers } from "@nats-io/transport-node";
import { JS, api, ask, contents, other, restore, snapshot } from "./lib/backup.mjs";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, expect, json, live, mayfly } from "./lib/tool.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const only = { only: "mayfly" };
const noise = crypto.randomBytes(1 << 20); // nothing in it can be compressed

async function site(t, program) {
  const s = await t.server({ ...JS, program });
  return { s, nc: await t.connect(s) };
}
// A stream with TTLs and a consumer that is in the middle of it.
async function fill({ nc }, name = "S", subject = "s") {
  await api(nc, `STREAM.CREATE.${name}`, { name, subjects: [`${subject}.>`], allow_msg_ttl: true });
  for (let i = 0; i < 20; i++) {
    const h = headers();
    if (i % 4 === 0) h.set("Nats-TTL", "1h");
    h.set("X-Number", `${i}`);
    await nc.request(`${subject}.${i % 7}`, `message ${i}`, { headers: h });
  }
  await api(nc, `STREAM.MSG.DELETE.${name}`, { seq: 5 });
  await api(nc, `CONSUMER.CREATE.${name}.worker`, { stream_name: name, config: { durable_name: "worker", ack_policy: "explicit" } });
  for (let i = 0; i < 3; i++) {
    const m = await nc.request(`$JS.API.CONSUMER.MSG.NEXT.${name}.worker`, "", { noMux: true, timeout: LIMIT_MS });
    await nc.request(m.reply, "+ACK", { timeout: LIMIT_MS });
  }
}
async function large({ nc }, name, mb) {
  await api(nc, `STREAM.CREATE.${name}`, { name, subjects: [`${name}.>`] });
  for (let i = 0; i < mb; i++) await nc.request(`${name}.x`, noise.subarray(0, (1 << 20) - 100));
}
async function place(nc, stream = "S") {
  const { config, delivered, ack_floor, num_pending } = await api(nc, `CONSUMER.INFO.${stream}.worker`);
  return { ack: config.ack_policy, delivered: delivered.stream_seq, floor: ack_floor.stream_seq, num_pending };
}
// When each message of a stream expires, as the server says.
async function deadlines(s, stream = "S") {
  const { items } = await json(s, "ttl", "ls", stream, "--limit", "100");
  assert.ok(items.length > 0);
  return items.map((x) => [x.seq, x.expires]);
}
const isAbsent = async (nc, name = "S") => (await ask(nc, `STREAM.INFO.${name}`)).error?.code === 404;
const absent = async (nc, name) => assert.ok(await isAbsent(nc, name));
const files = (dir) => fs.readdirSync(dir).sort();

// Whole operations of the server's half of the protocol.  (nats.c leaks half a message when it closes.)
function operations(give) {
  let buf = Buffer.alloc(0);
  return (d) => {
    buf = Buffer.concat([buf, d]);
    for (let end; (end = buf.indexOf("\r\n")) >= 0; ) {
      const line = buf.toString("latin1", 0, end);
      const size = end + 2 + (/^H?MSG /.test(line) ? Number(line.split(" ").at(-1)) + 2 : 0);
      if (buf.length < size) return;
      give(buf.subarray(0, size));
      buf = buf.subarray(size);
    }
  };
}
// A way to the server that is dammed up after so many bytes: what comes later waits for open().
async function dam(t, s, { down = Infinity, up = Infinity }) {
  const held = [];
  const waiting = [];
  let opened = false;
  const pass = (to, left) => (d) => {
    left -= d.length;
    if (opened || left > 0) to.write(d);
    else waiting.push([to, d]);
  };
  const proxy = net.createServer((c) => {
    const u = net.connect(s.port, "127.0.0.1");
    for (const x of [c, u]) held.push(x.on("error", () => {}));
    c.on("close", () => u.destroy()).on("data", pass(u, up));
    u.on("close", () => c.destroy()).on("data", operations(pass(c, down)));
  }).listen(0, "127.0.0.1");
  t.after(() => (held.forEach((c) => c.destroy()), proxy.close()));
  await new Promise((ok) => proxy.once("listening", ok));
  const open = () => {
    opened = true;
    for (const [to, d] of waiting.splice(0)) to.write(d);
  };
  return { url: `nats://127.0.0.1:${proxy.address().port}`, open };
}

scenario("a stream goes into a folder and comes back: messages, lifetimes, consumers", only, async (t) => {
  const a = await site(t);
  const b = await site(t);
  await fill(a);
  const dir = a.s.file("backup/of/s");
  const text = await expect(0, a.s, "backup", "S", dir);
  assert.match(text, /^STREAM +RESULT +MESSAGES +CONSUMERS +UNPACKED +ARCHIVE +FOLDER\nS +made +19 +1 /);
  assert.deepEqual(files(dir), ["backup.json", "stream.tar.s2"]);
  assert.equal(fs.statSync(dir).mode & 0o777, 0o700);
  const back = await expect(0, b.s, "restore", dir);
  assert.match(back, /^S +restored +19 +1 /m);
  assert.deepEqual(await contents(b.nc), await contents(a.nc));
  assert.deepEqual(await place(b.nc), await place(a.nc));
  assert.deepEqual(await deadlines(b.s), await deadlines(a.s));
  assert.equal((await b.nc.request("s.new", "")).json().seq, 21);
});

scenario("the folder is the one of `nats stream backup`, in both directions", only, async (t) => {
  const a = await site(t);
  const b = await site(t);
  await fill(a);
  const ours = a.s.file("ours");
  await expect(0, a.s, "backup", "S", ours);
  const meta = JSON.parse(fs.readFileSync(path.join(ours, "backup.json")));
  assert.equal(meta.type, "io.nats.jetstream.api.v1.stream_snapshot_response");
  assert.equal(meta.config.name, "S");
  assert.equal(meta.state.messages, 19);
  const bytes = fs.readFileSync(path.join(ours, "stream.tar.s2"));
  assert.equal(meta.mayfly.archive_sha256, crypto.createHash("sha256").update(bytes).digest("hex"));
  const made = await restore(b.nc, meta.config, bytes, { step: 65536 }); // as the nats CLI restores
  assert.equal(made.error, undefined, JSON.stringify(made.error));
  assert.deepEqual(await contents(b.nc), await contents(a.nc));

  const theirs = a.s.file("theirs"); // as the nats CLI writes it: the answer, and the chunks
  const { answer, bytes: archive } = await snapshot(a.nc, "S");
  fs.mkdirSync(theirs);
  fs.writeFileSync(path.join(theirs, "backup.json"), JSON.stringify(answer, null, 2));
  fs.writeFileSync(path.join(theirs, "stream.tar.s2"), archive);
  await api(b.nc, "STREAM.DELETE.S");
  await expect(0, b.s, "restore", theirs);
  assert.deepEqual(await contents(b.nc), await contents(a.nc));
  assert.deepEqual(await place(b.nc), await place(a.nc));
});

async function carried(t, from, to) {
  const a = await site(t, from);
  const b = await site(t, to);
  await fill(a);
  const dir = a.s.file("backup");
  await expect(0, a.s, "backup", "S", dir);
  await expect(0, b.s, "restore", dir);
  assert.deepEqual((await contents(b.nc)).msgs, (await contents(a.nc)).msgs);
  assert.deepEqual(await place(b.nc), await place(a.nc));
  const all = b.s.file("all"); // and back
  assert.equal((await json(b.s, "backup", "--all", all)).streams[0].result, "made");
  await api(a.nc, "STREAM.DELETE.S");
  assert.equal((await json(a.s, "restore", "--all", all)).streams[0].result, "restored");
  assert.deepEqual((await contents(a.nc)).msgs, (await contents(b.nc)).msgs);
  assert.deepEqual(await place(a.nc), await place(b.nc));
  return { a, b };
}
if (other) {
  scenario("a stream is carried to nats-server and back", only, async (t) => {
    const { a } = await carried(t, undefined, other);
    assert.equal((await deadlines(a.s)).length, 4); // Nats-TTL counts again from the time of writing
  });
  scenario("a stream is carried from nats-server and back", only, async (t) => {
    const { b } = await carried(t, other, undefined);
    assert.equal((await deadlines(b.s)).length, 4);
  });
}

scenario("--all: each stream in its folder; a second run keeps what is finished; restore --all", only, async (t) => {
  const a = await site(t);
  const b = await site(t);
  await fill(a);
  await fill(a, "KV_box", "$KV.box");
  await api(a.nc, "STREAM.CREATE.EMPTY", { name: "EMPTY", subjects: ["empty"] });
  const dir = a.s.file("monday");
  const first = await json(a.s, "backup", "--all", dir);
  assert.deepEqual(first.streams.map((x) => [x.stream, x.result, x.messages]), [["EMPTY", "made", 0], ["KV_box", "made", 19], ["S", "made", 19]]);
  assert.deepEqual(files(dir), ["EMPTY", "KV_box", "S"]);
  fs.rmSync(path.join(dir, "S"), { recursive: true });
  const again = await mayfly(a.s, "backup", "--all", dir, "--json");
  assert.equal(again.code, 0);
  assert.match(again.stderr, /2 finished backups were kept as they are; --force or another folder makes new ones/);
  const second = JSON.parse(again.stdout);
  assert.deepEqual(second.streams.map((x) => [x.stream, x.result, x.messages]), [["EMPTY", "kept", 0], ["KV_box", "kept", 19], ["S", "made", 19]]);
  await fill(b, "KV_box", "$KV.box"); // one is there already: the others are restored all the same
  const r = await mayfly(b.s, "restore", "--all", dir, "--json");
  assert.equal(r.code, 4);
  assert.match(r.stderr, /stream KV_box exists/);
  assert.deepEqual(JSON.parse(r.stdout).streams.map((x) => [x.stream, x.result]), [["EMPTY", "restored"], ["KV_box", "failed"], ["S", "restored"]]);
  assert.deepEqual(await contents(b.nc), await contents(a.nc));
});

scenario("kill -9 of a backup: the folder shows what is finished, and the next run goes on", only, async (t) => {
  const a = await site(t);
  await fill(a, "A", "a");
  await large(a, "B", 4);
  const dir = a.s.file("all");
  const half = live(t, await dam(t, a.s, { down: 1 << 20 }), "backup", "--all", dir);
  const partial = path.join(dir, "B/stream.tar.s2.partial");
  await until("half of B", () => fs.existsSync(partial) && fs.statSync(partial).size > 1 << 17);
  await half.end("SIGKILL");
  assert.deepEqual(files(path.join(dir, "B")), ["stream.tar.s2.partial"]);
  assert.match(await expect(3, a.s, "restore", "--verify", path.join(dir, "B")), /holds no finished backup \(no backup\.json\)/);
  const { streams } = await json(a.s, "backup", "--all", dir);
  assert.deepEqual(streams.map((x) => [x.stream, x.result]), [["A", "kept"], ["B", "made"]]);
  assert.deepEqual(files(path.join(dir, "B")), ["backup.json", "stream.tar.s2"]);
  await expect(0, a.s, "restore", "--verify", "--all", dir);
});

scenario("Ctrl-C and a lost server: a backup removes its partial files and says so", only, async (t) => {
  const a = await site(t);
  await large(a, "B", 4);
  const dir = a.s.file("b");
  const begin = async () => {
    const p = live(t, await dam(t, a.s, { down: 1 << 20 }), "backup", "B", dir);
    const partial = path.join(dir, "stream.tar.s2.partial"); // 7 chunks of 128 KiB pass
    await until("all that comes", () => fs.existsSync(partial) && fs.statSync(partial).size === 7 << 17);
    return p;
  };
  const p = await begin();
  assert.equal(await p.end("SIGINT"), 2, p.stderr);
  assert.match(p.stderr, /backup of B: interrupted; run it again/);
  assert.deepEqual(files(dir), []);
  const q = await begin();
  const ended = q.exited;
  await a.s.stop();
  assert.equal((await ended).code, 2, q.stderr);
  assert.match(q.stderr, /backup of B: .*(lost; run it again|[Cc]onnection)/);
  assert.deepEqual(files(dir), []);
  await a.s.startAgain();
});

// A restore that has sent half of its archive.
async function halfRestored(t) {
  const a = await site(t);
  const s = await t.server({ ...JS, monitor: true });
  const nc = await t.connect(s);
  await large(a, "B", 4);
  const dir = a.s.file("b");
  await expect(0, a.s, "backup", "B", dir);
  const way = await dam(t, s, { up: 2 << 20 });
  const tool = live(t, way, "restore", dir);
  await until("half of it", async () => (await s.varz()).in_bytes > 1 << 20);
  return { s, nc, dir, way, tool };
}

scenario("kill -9 of a restore: the server drops what it has, and the next one works", only, async (t) => {
  const { s, nc, dir, tool } = await halfRestored(t);
  await tool.end("SIGKILL");
  await until("no stream", () => isAbsent(nc, "B"));
  await expect(0, s, "restore", dir);
  assert.equal((await api(nc, "STREAM.INFO.B")).state.messages, 4);
});

scenario("Ctrl-C of a restore: no stream stays", only, async (t) => {
  const { s, nc, dir, way, tool } = await halfRestored(t);
  tool.proc.kill("SIGINT");
  await until("its word", () => /restore of B: interrupted/.test(tool.stderr));
  way.open();
  assert.equal((await tool.exited).code, 2);
  await absent(nc, "B");
  await expect(0, s, "restore", dir);
});

scenario("damage: a restore is refused with a clear text, and no stream is there", only, async (t) => {
  const a = await site(t);
  const b = await site(t);
  await fill(a);
  const dir = a.s.file("b");
  await expect(0, a.s, "backup", "S", dir);
  const data = path.join(dir, "stream.tar.s2");
  const meta = path.join(dir, "backup.json");
  const good = { data: fs.readFileSync(data), meta: fs.readFileSync(meta, "utf8") };
  const foreign = JSON.parse(good.meta);
  delete foreign.mayfly; // as another tool writes it: no size, no digest
  const flipped = Buffer.from(good.data);
  flipped[flipped.length >> 1] ^= 1;
  const cases = [
    ["a bit", flipped, good.meta, 2, /b\/stream\.tar\.s2: (S2 frames near byte|the archive is not)/],
    ["a bit, no digest", flipped, JSON.stringify(foreign), 2, /b\/stream\.tar\.s2: S2 frames near byte/],
    ["cut off", good.data.subarray(0, -20), good.meta, 2, /has \d+ bytes, backup\.json says \d+/],
    ["cut off, no digest", good.data.subarray(0, -20), JSON.stringify(foreign), 2, /the archive is cut off after \d+ bytes|S2 frames/],
    ["more", Buffer.concat([good.data, good.data]), JSON.stringify(foreign), 2, /stream\.tar\.s2: /],
    ["empty", Buffer.alloc(0), JSON.stringify(foreign), 2, /the archive is cut off after 0 bytes/],
    ["another's", good.data, good.meta.replace(/("archive_sha256": ")\w/, (_, x) => `${x}${/256": "0/.test(good.meta) ? 1 : 0}`), 2, /the archive is not the one that backup\.json describes/],
    ["no archive", null, good.meta, 2, /stream\.tar\.s2: No such file/],
    ["no JSON", good.data, "{", 2, /backup\.json holds no configuration of a stream: /],
    ["no name", good.data, "{}", 2, /backup\.json holds no configuration of a stream/],
    ["a bad name", good.data, JSON.stringify({ ...foreign, config: { ...foreign.config, name: "../x" } }), 2, /backup\.json names a stream "\.\.\/x"/],
    ["no folder", good.data, null, 3, /holds no finished backup \(no backup\.json\)/],
  ];
  for (const [what, bytes, text, code, pattern] of cases) {
    fs.rmSync(data, { force: true });
    fs.rmSync(meta, { force: true });
    if (bytes) fs.writeFileSync(data, bytes);
    if (text !== null) fs.writeFileSync(meta, text);
    for (const args of [[], ["--verify"]]) {
      const said = await expect(code, b.s, "restore", dir, ...args);
      assert.match(said, pattern, what);
    }
    await absent(b.nc);
  }
  fs.writeFileSync(meta, good.meta);
  await expect(0, b.s, "restore", dir);
  assert.match(await expect(3, b.s, "restore", b.s.file("nowhere")), /nowhere holds no finished backup/);
  assert.match(await expect(3, b.s, "restore", "--all", b.s.file("nowhere")), /nowhere: No such file/);
  assert.match(await expect(3, b.s, "restore", "--all", dir), /no folder below .* holds a finished backup/);
});

scenario("a stream that exists, or whose subjects are taken, is not touched", only, async (t) => {
  const a = await site(t);
  await fill(a);
  const dir = a.s.file("b");
  await expect(0, a.s, "backup", "S", dir);
  const before = await contents(a.nc);
  assert.match(await expect(4, a.s, "restore", dir), /refused: stream S exists; remove it first \(mayfly stream rm S\), or restore to another server/);
  assert.match(await expect(4, a.s, "restore", dir, "--stream", "COPY"), /refused: restore of COPY: .*subjects overlap with an existing stream.*\nhint: .*remove the stream/);
  assert.deepEqual(await contents(a.nc), before);
  await absent(a.nc, "COPY");
  await api(a.nc, "STREAM.UPDATE.S", { ...(await api(a.nc, "STREAM.INFO.S")).config, subjects: ["elsewhere"] });
  await expect(0, a.s, "restore", dir, "--stream", "COPY");
  assert.deepEqual((await contents(a.nc, "COPY")).msgs, before.msgs);
  assert.match(await expect(2, a.s, "restore", dir, "--stream", "a.b"), /a stream's name holds no blanks/);
  assert.match(await expect(2, a.s, "restore", dir, "--stream", "X", "--all"), /--all keeps the names/);
});

scenario("a bucket is restored under its own name only: nobody would find its keys under another", only, async (t) => {
  const a = await site(t);
  await fill(a, "KV_box", "$KV.box");
  const dir = a.s.file("b");
  await expect(0, a.s, "backup", "KV_box", dir);
  await expect(0, a.s, "stream", "rm", "KV_box", "--force");
  assert.match(await expect(2, a.s, "restore", dir, "--stream", "KV_new"), /holds a bucket, .* remove KV_box first \(mayfly stream rm KV_box\), or restore to another server/);
  await absent(a.nc, "KV_new");
  await expect(0, a.s, "restore", dir, "--verify", "--stream", "KV_new");
  await expect(0, a.s, "restore", dir, "--stream", "KV_box");
});

scenario("a finished backup is replaced only with --force", only, async (t) => {
  const a = await site(t);
  await fill(a);
  await fill(a, "T", "t");
  const dir = a.s.file("b");
  await expect(0, a.s, "backup", "S", dir);
  const before = fs.readFileSync(path.join(dir, "stream.tar.s2"));
  assert.match(await expect(2, a.s, "backup", "S", dir), /holds a finished backup of S; name another folder, or replace it with --force/);
  assert.match(await expect(2, a.s, "backup", "T", dir), /holds a backup of S \(--force replaces it\)/);
  assert.ok(fs.readFileSync(path.join(dir, "stream.tar.s2")).equals(before));
  await a.nc.request("s.more", "");
  const { streams: [row] } = await json(a.s, "backup", "S", dir, "--force", "--no-consumers");
  assert.deepEqual([row.result, row.messages, row.consumers], ["made", 20, 0]);
  fs.writeFileSync(path.join(dir, "backup.json"), "{");
  assert.match(await expect(2, a.s, "backup", "S", dir), /holds no configuration of a stream.*\(--force replaces it\)/);
  await expect(0, a.s, "backup", "S", dir, "--force", "--check");
  const found = await json({}, "restore", "--verify", dir); // needs no server
  assert.deepEqual(found.streams.map((x) => [x.stream, x.result, x.messages, x.consumers]), [["S", "whole", 20, 1]]);
});

scenario("backup: bad input gets its exit code and makes no folder", only, async (t) => {
  const a = await site(t);
  await fill(a);
  const dir = a.s.file("b");
  assert.match(await expect(3, a.s, "backup", "NONE", dir), /stream not found/);
  assert.match(await expect(2, a.s, "backup", "S"), /name the stream and the folder, or --all and the folder/);
  assert.match(await expect(2, a.s, "backup", "--all", "S", dir), /--all takes the folder alone/);
  assert.match(await expect(2, a.s, "backup", "S", dir, "--consumers", "--no-consumers"), /exclude each other/);
  assert.match(await expect(2, { url: "nats://127.0.0.1:1" }, "backup", "S", dir), /no server at/);
  assert.equal(fs.existsSync(dir), false);
  fs.writeFileSync(a.s.file("file"), "");
  assert.match(await expect(2, a.s, "backup", "S", a.s.file("file/b")), /Not a directory/);
  assert.match(await expect(2, a.s, "backup", "S", a.s.file("file")), /file is no folder|Not a directory/);
  const s = await t.server({ config: `jetstream { store_dir: "DIR/js" }\nauthorization { users: [ { user: ann, password: secret, permissions: { publish: { deny: "$JS.API.STREAM.SNAPSHOT.>" } } } ] }\n` });
  const ann = { url: `nats://ann:secret@127.0.0.1:${s.port}` };
  await expect(0, ann, "stream", "create", "S", "--subjects", "s");
  assert.match(await expect(5, ann, "backup", "S", dir), /not permitted: publish to "\$JS\.API\.STREAM\.SNAPSHOT\.S"/);
  assert.equal(fs.existsSync(dir), false);
});

scenario("a terminal: bars while it works, a table at the end", only, async (t) => {
  const a = await site(t);
  const b = await site(t);
  await large(a, "B", 4);
  const dir = a.s.file("b");
  const out = new Terminal(t, a.s, ["backup", "B", dir]);
  assert.equal(await out.end(), 0);
  assert.match(out.screen(), /backing up B .* %  .*\/s[^]*B +made +4 /);
  const back = new Terminal(t, b.s, ["restore", dir], { columns: 60 });
  assert.equal(await back.end(), 0);
  assert.match(back.screen(), /verifying .* %.*restoring B .* %  .*\/s[^]*B +restored +4 /s);
  for (const line of back.screen().split("\n").slice(-4)) assert.ok([...line.split("/s").at(-1)].length <= 60, line);
});
