// import_refusals.mjs: stores that `mayfly import` refuses, damage that it names, and imports that are cut short.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { JS, api, ask, ready } from "./lib/backup.mjs";
import { HOUR, check, create, durable, fetch, imported, made, outcomes, picture, program, publish, settle, streamDir } from "./lib/nats_files.mjs";
import { expect, inTerminal, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const tenMessages = async (nc, name = "A") => {
  await create(nc, { name, subjects: [`${name}.>`] });
  for (let i = 1; i <= 10; i++) await publish(nc, `${name}.x`, `message number ${i} of ten`);
};
const change = (file, fn) => fs.writeFileSync(file, fn(fs.readFileSync(file)));
const flip = (text) => (bytes) => {
  bytes[bytes.indexOf(text)] ^= 1;
  return bytes;
};
const have = async (nc, name) => {
  const { state } = await api(nc, `STREAM.INFO.${name}`, { deleted_details: true });
  return [state.messages, state.last_seq, state.deleted ?? []];
};

// --- damage --------------------------------------------------------------------------------------------------

// Each stream has one kind of damage: [what is done to it, how it is told, what can be read].
const damages = {
  FLIPPED: [(dir) => change(`${dir}/msgs/1.blk`, flip("number 4")), /^msgs\/1\.blk: byte \d+: wrong checksum \(\d+ bytes are passed over\): sequences 4 to 4$/, [9, 10, [4]]],
  LENGTH: [(dir) => change(`${dir}/msgs/1.blk`, (b) => (b.writeUInt32LE(7, b.indexOf("LENGTH.x") - 22), b)), /^msgs\/1\.blk: byte 0: not a record .*: sequences 1 to 1$/, [9, 10, []]],
  CUT: [(dir) => change(`${dir}/msgs/1.blk`, (b) => b.subarray(0, b.indexOf("number 9") - 40)), /^msgs: the blocks end with sequence \d, index.db with 10: sequences between are lost$/, [7, 10, [8, 9, 10]]],
  NOBLOCK: [(dir) => fs.rmSync(`${dir}/msgs/1.blk`), /^msgs\/1\.blk: missing; it had 10 messages, sequences 1 to 10$/, [0, 10, []]],
  NOMSGS: [(dir) => fs.rmSync(`${dir}/msgs`, { recursive: true }), /^msgs: the folder of the messages is missing$/, [0, 0, []]],
  META: [(dir) => change(`${dir}/meta.inf`, (b) => Buffer.from(b.toString().replace('"max_consumers":-1', '"max_consumers":99'))), /^meta\.inf: wrong checksum$/, [10, 10, []]],
  PLACE: [(dir) => change(`${dir}/obs/C/o.dat`, () => Buffer.from("nonsense")), /^obs\/C\/o\.dat: damaged; the consumer is left out$/, [10, 10, []]],
};
check("each damage is named by file and sequence, and what can be read is taken only if asked", async (t) => {
  const store = await made(t, async (nc) => {
    for (const name of Object.keys(damages)) await tenMessages(nc, name);
    await tenMessages(nc, "SOUND");
    await durable(nc, "PLACE", "C");
    await settle(nc, (await fetch(nc, "PLACE", "C", 2))[0]);
  });
  for (const [name, [harm]] of Object.entries(damages)) harm(streamDir(store, name));
  const { code, doc, nc, server } = await imported(t, store);
  assert.equal(code, 1);
  assert.deepEqual(outcomes(doc), { ...Object.fromEntries(Object.keys(damages).map((n) => [n, "refused"])), SOUND: "imported" });
  for (const s of doc.streams.filter((x) => x.name !== "SOUND")) {
    assert.ok(s.damage.some((d) => damages[s.name][1].test(d)), `${s.name}: ${s.damage}`);
    assert.match(s.reason, /damaged, see below; --keep-readable/);
    assert.equal((await ask(nc, `STREAM.INFO.${s.name}`)).error.code, 404);
  }
  const kept = await mayfly(server, "import", store.dir, "--keep-readable", "--skip-existing");
  assert.equal(kept.code, 0, kept.stdout + kept.stderr);
  for (const [name, [, told, want]] of Object.entries(damages)) {
    assert.deepEqual(await have(nc, name), want, name);
    assert.ok(kept.stdout.split("\n").some((l) => l.startsWith(`${name}: `) && told.test(l.slice(name.length + 2))), kept.stdout);
  }
});

// A server that was killed leaves such files, and starts with them.
check("index.db that is missing, damaged or old, and a last record that is cut off, are no damage", async (t) => {
  const store = await made(t, async (nc) => {
    for (const name of ["MISSING", "GARBLED", "OLD", "TORN"]) {
      await tenMessages(nc, name);
      for (const seq of [3, 4, 10]) await api(nc, `STREAM.MSG.DELETE.${name}`, { seq, no_erase: seq === 4 });
    }
  }, {
    kill: true,
    damage: ({ dir }) => {
      const at = (name, file) => path.join(streamDir({ dir }, name), "msgs", file);
      fs.rmSync(at("MISSING", "index.db"), { force: true });
      fs.writeFileSync(at("GARBLED", "index.db"), "nonsense");
      change(at("TORN", "1.blk"), (b) => Buffer.concat([b, b.subarray(0, 40)]));
    },
  });
  const { code, doc, nc, stdout } = await imported(t, store);
  assert.equal(code, 0, stdout);
  for (const [name, s] of Object.entries(store.said)) assert.deepEqual(await have(nc, name), [s.state.messages, s.state.last_seq, s.state.deleted ?? []], name);
  assert.match(doc.streams.find((s) => s.name === "TORN").remarks.join(), /msgs\/1\.blk: the last record, at byte \d+, is cut off/);
  assert.match(doc.streams.find((s) => s.name === "GARBLED").remarks.join(), /index\.db is damaged; the blocks decide/);
});

// --- folders -------------------------------------------------------------------------------------------------

check("a running server's store is refused, also without a file open; so is an encrypted one", async (t) => {
  const config = 'server_name: one\njetstream { store_dir: "DIR", cipher: aes, key: "k" }\n';
  const [server, nc] = await ready(t, { config, program });
  await tenMessages(nc);
  const refused = async (...args) => {
    const r = await mayfly("import", ...args, "--dry-run");
    assert.equal(r.code, 1);
    assert.match(r.stderr, /process \d+ uses .*: stop nats-server first/);
    assert.equal(r.stdout, ""); // no table that says "ready"
  };
  await refused(server.dir);
  await nc.close();
  await server.restart();
  for (const dir of ["", "jetstream", "jetstream/$G", "jetstream/$G/streams/A"]) await refused(server.file(dir));
  await server.stop();
  const r = await mayfly("import", server.dir, "--dry-run");
  assert.equal(r.code, 1);
  assert.match(r.stdout, /A: encrypted: .*backup/);
});

check("other folders are refused in words; links are followed", async (t) => {
  const store = await made(t, (nc) => tenMessages(nc));
  const [server] = await ready(t);
  const dir = (name) => (fs.mkdirSync(path.join(store.dir, name), { recursive: true }), path.join(store.dir, name));
  const told = async (where, code, text, ...args) => {
    const r = await mayfly("import", where, "--dry-run", ...args);
    assert.equal(r.code, code, r.stdout + r.stderr);
    assert.match(r.stdout + r.stderr, text);
  };
  await told("/nonexistent", 3, /\/nonexistent: no such folder/);
  await told(path.join(store.dir, "server.conf"), 3, /is no store of nats-server/);
  await told(dir("empty"), 3, /is no store of nats-server: .*store_dir/);
  await told(server.dir, 3, /is no store of nats-server|is Mayfly's/);
  await told(path.join(streamDir(store, "A"), "msgs"), 3, /is no store of nats-server/);
  dir("half/jetstream/$G/streams/H/msgs");
  await told(path.join(store.dir, "half"), 1, /H: .*meta\.inf/);
  fs.mkdirSync(dir("pipe/jetstream/$G/streams/P/meta.inf"), { recursive: true });
  await told(path.join(store.dir, "pipe"), 1, /P: .*meta\.inf is no plain file/);
  await told(store.dir, 3, /account \$G of the store has no stream B on disk \(streams in memory/, "--stream", "B");
  await told(store.dir, 3, /no account X; the store has \$G/, "--account", "X");
  fs.mkdirSync(dir("links/jetstream/$G/streams"), { recursive: true });
  fs.symlinkSync(streamDir(store, "A"), path.join(store.dir, "links/jetstream/$G/streams/A"));
  fs.symlinkSync(".", path.join(store.dir, "links/jetstream/$G/streams/LOOP"));
  await told(path.join(store.dir, "links"), 1, /A +10 [^]*LOOP: .*meta\.inf/);
});

check("several accounts: one run for each, with a user of the account that gets them", async (t) => {
  const config = 'server_name: one\njetstream { store_dir: "DIR" }\naccounts { ONE { jetstream: enabled, users: [{user: a, password: a}] }, TWO { jetstream: enabled, users: [{user: b, password: b}] } }\n';
  const store = await made(t, async (nc, server) => {
    await tenMessages(nc, "A");
    await tenMessages(await t.connect(server, { user: "b", pass: "b" }), "B");
  }, { config, user: { user: "a", pass: "a" } });
  const server = await t.server({ config });
  const run = (...args) => mayfly(server, "import", store.dir, "--json", ...args);
  const r = await run("--user", "a", "--password", "a");
  assert.equal(r.code, 2);
  assert.match(r.stderr, /streams of several accounts; the store has ONE, TWO: run once for each, with --account NAME and a user of the account/);
  for (const [account, user, stream] of [["ONE", "a", "A"], ["TWO", "b", "B"]]) {
    const one = await run("--account", account, "--user", user, "--password", user);
    assert.equal(one.code, 0, one.stdout + one.stderr);
    assert.deepEqual([JSON.parse(one.stdout).account, outcomes(JSON.parse(one.stdout))], [account, { [stream]: "imported" }]);
    const nc = await t.connect(server, { user, pass: user });
    assert.deepEqual((await api(nc, "STREAM.NAMES")).streams, [stream]);
  }
});

// --- the server's side ---------------------------------------------------------------------------------------

check("nothing is changed by --dry-run; existing streams are refused or skipped; a terminal gets a table", async (t) => {
  const store = await made(t, (nc) => tenMessages(nc));
  const dry = await imported(t, store, "--dry-run");
  assert.deepEqual([dry.doc.dry_run, dry.doc.streams[0].outcome, dry.doc.streams[0].messages], [true, "ready", 10]);
  assert.equal((await ask(dry.nc, "STREAM.INFO.A")).error.code, 404);
  const shown = await inTerminal(t, dry.server, ["import", store.dir], { columns: 100 });
  assert.equal(shown.code, 0, shown.text);
  assert.match(shown.text, /importing A[^]*A +10 .*imported/);
  const again = await mayfly(dry.server, "import", store.dir, "--json");
  assert.equal(again.code, 1);
  assert.match(JSON.parse(again.stdout).streams[0].reason, /has a stream of that name/);
  const tried = async (code, ...args) => {
    const r = await mayfly(dry.server, "import", store.dir, "--dry-run", "--json", ...args);
    assert.equal(r.code, code, r.stdout + r.stderr);
    return JSON.parse(r.stdout);
  };
  const known = await tried(1);
  assert.deepEqual([known.server_asked, outcomes(known)], [true, { A: "refused" }]);
  assert.match(known.streams[0].reason, /has a stream of that name; --skip-existing/);
  assert.deepEqual(outcomes(await tried(0, "--skip-existing")), { A: "skipped" });
  const skipped = await mayfly(dry.server, "import", store.dir, "--json", "--skip-existing");
  assert.equal(skipped.code, 0);
  assert.deepEqual(outcomes(JSON.parse(skipped.stdout)), { A: "skipped" });
});

check("--dry-run asks the server for its subjects and its limit of a message; without a server it checks the files", async (t) => {
  const store = await made(t, (nc) => tenMessages(nc));
  const { config: stored } = store.said.A;
  const server = await t.server({ config: 'max_payload: 1KB\njetstream { store_dir: "DIR/js" }\n' });
  const dry = (...args) => mayfly(server, "import", store.dir, "--dry-run", ...args);
  assert.equal((await dry()).code, 0);
  await expect(0, server, "stream", "create", "OTHER", "--subjects", stored.subjects[0]);
  const taken = await dry();
  assert.equal(taken.code, 1);
  assert.match(taken.stdout, /A: stream OTHER of the server has messages on \S+, or could have\n0 can be imported, 0 skipped, 1 refused; nothing was changed/);
  const large = await made(t, async (nc) => {
    await create(nc, { name: "LARGE", subjects: ["large"] });
    await publish(nc, "large", "x".repeat(2000));
  });
  const r = await mayfly(server, "import", large.dir, "--dry-run");
  assert.equal(r.code, 1);
  assert.match(r.stdout, /LARGE: message 1 has \d+ bytes; max_payload of the server is 1024/);
  await server.stop();
  const alone = await dry();
  assert.equal(alone.code, 0, alone.stderr);
  assert.match(alone.stderr, /no server at [^]*only the files are checked/);
  assert.match(alone.stdout, /1 can be imported, 0 skipped, 0 refused, by their files alone; nothing was changed/);
});

check("a server with too little room refuses a stream, and keeps nothing of it", async (t) => {
  const store = await made(t, async (nc) => {
    await tenMessages(nc);
    await create(nc, { name: "BIG", subjects: ["b"] });
    for (let i = 0; i < 3; i++) await publish(nc, "b", randomBytes(100000));
  });
  for (const [config, why] of [
    ['max_payload: 50000\njetstream { store_dir: "DIR" }\n', /message 1 has 100000 bytes; max_payload of the server is 50000: raise it there/],
    ['jetstream { store_dir: "DIR", max_file_store: 100000 }\n', /./],
  ]) {
    const [server, nc] = await ready(t, { config });
    const r = await mayfly(server, "import", store.dir, "--json");
    assert.equal(r.code, 1, r.stdout + r.stderr);
    const doc = JSON.parse(r.stdout);
    assert.deepEqual(outcomes(doc), { A: "imported", BIG: "refused" });
    assert.match(doc.streams[1].reason, why);
    assert.deepEqual((await api(nc, "STREAM.NAMES")).streams, ["A"]);
  }
});

// A way to the server on which everything stands still after the first megabytes.
async function slowWay(t, server) {
  const way = { passed: 0, sockets: [] };
  const proxy = net.createServer((near) => {
    const far = net.connect(server.port, "127.0.0.1");
    way.sockets.push(near, far);
    near.on("data", (d) => (way.passed += d.length) < 5e6 && far.write(d));
    far.on("data", (d) => way.passed < 5e6 && near.write(d));
    for (const [a, b] of [[near, far], [far, near]]) a.on("error", () => {}).on("close", () => b.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => (proxy.close(), way.sockets.forEach((x) => x.destroy())));
  way.url = `nats://127.0.0.1:${proxy.address().port}`;
  return way;
}

// The tool, in the middle of an import that does not go on.
async function stuck(t, store) {
  const [server, nc] = await ready(t);
  const way = await slowWay(t, server);
  const run = live(t, way, "import", store.dir);
  await until("the middle of the import", () => way.passed >= 5e6);
  return { server, nc, run };
}
check("an import that is cut short leaves nothing, and can be run again", async (t) => {
  const store = await made(t, async (nc) => {
    await create(nc, { name: "BIG", subjects: ["b"] });
    for (let i = 0; i < 30; i++) await publish(nc, "b", randomBytes(1000000));
  });
  const before = picture(store.dir);
  for (const [what, end] of [["SIGINT", 2], ["SIGKILL", "SIGKILL"], ["the server dies", 2]]) {
    const { server, nc, run } = await stuck(t, store);
    if (what.startsWith("SIG")) {
      assert.equal(await run.end(what), end, what);
      // A restore without a sender ends after five seconds.
      await until(`nothing of the import, after ${what}`, async () => (await ask(nc, "STREAM.INFO.BIG")).error?.code === 404);
    } else {
      await nc.close();
      await server.kill();
      assert.equal((await run.exited).code, end, run.lines.join("\n") + run.stderr);
      assert.match(run.lines.join("\n") + run.stderr, /connection|no answer/i);
      server.killed = false;
      await server.startAgain();
    }
    const r = await mayfly(server, "import", store.dir, "--json");
    assert.equal(r.code, 0, `${what}: ${r.stdout}${r.stderr}`);
    assert.equal(JSON.parse(r.stdout).streams[0].stored.messages, 30);
  }
  assert.deepEqual(picture(store.dir), before);
});
