// store_dir.mjs: the directory of the streams: whose it may be, who uses it, and what else may lie in it.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { jetstreamBlock, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { binary } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const mayfly = { only: "mayfly" };
const STREAMS = "js/jetstream/$G/streams";
const NOBODY = 65534;
const isRoot = process.getuid() === 0;

const tool = (...args) =>
  new Promise((resolve) => {
    execFile(path.join(path.dirname(binary), "mayfly"), args, (error, stdout, stderr) => resolve({ code: error ? error.code : 0, text: stdout + stderr }));
  });

// A server that must refuse to start: what it said.
async function refused(s, args = []) {
  s.writeConfig();
  s.spawn(["-c", s.confFile, ...s.args, ...args]);
  const gone = await until("the server to end", () => s.gone);
  assert.equal(gone.code, 1, s.text);
  s.checkReports();
  s.killed = true; // it has told, and that was wanted
  return s.text;
}

// All names below a folder with what they hold, links not followed.
function tree(dir) {
  return fs
    .readdirSync(dir, { recursive: true })
    .sort()
    .map((name) => {
      const st = fs.lstatSync(path.join(dir, name));
      return `${name} ${st.mode.toString(8)} ${st.isFile() ? fs.readFileSync(path.join(dir, name), "hex") : ""}`;
    });
}

// Permissions do not hold for root, so a server that must meet them runs as another user.
function asUser(t, options = {}) {
  const s = t.prepare(options);
  if (!isRoot) return s;
  const program = s.file("mayflyd");
  fs.copyFileSync(binary, s.file("server"));
  fs.writeFileSync(program, `#!/bin/sh\nexec setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups "${s.file("server")}" "$@"\n`, { mode: 0o755 });
  fs.chmodSync(s.file("server"), 0o755);
  fs.symlinkSync("mayflyd", s.file("server.link"));
  s.program = program;
  s.portsFile = () => s.file(`server_${s.proc.pid}.ports`);
  fs.chownSync(s.dir, NOBODY, NOBODY);
  return s;
}

// A stream A with a message, the server stopped.
async function stopped(t) {
  const { s, nc, stream } = await ownServer(t);
  await stream("A").create();
  await stream("A").pub("x", "one");
  await nc.close();
  await s.stop();
  return s;
}

async function startedAgain(t, s) {
  await s.startAgain();
  s.killed = false;
  return onServer(t, s);
}

// --- links -------------------------------------------------------------------------------------

for (const name of [".gone-x", ".new-x"])
  scenario(`a link called ${name} is removed, its target is not`, mayfly, async (t) => {
    const s = await stopped(t);
    fs.mkdirSync(s.file("victim"));
    fs.writeFileSync(s.file("victim/file"), "precious");
    fs.symlinkSync(s.file("victim"), s.file(`${STREAMS}/${name}`));
    const { stream } = await startedAgain(t, s);
    assert.equal((await stream("A").state()).messages, 1);
    assert.equal(fs.readFileSync(s.file("victim/file"), "utf8"), "precious");
    assert.throws(() => fs.lstatSync(s.file(`${STREAMS}/${name}`)), /ENOENT/);
  });

scenario("a link in the place of a stream is not followed, and named", mayfly, async (t) => {
  const s = await stopped(t);
  s.head += 'http: "127.0.0.1:-1"\n';
  fs.mkdirSync(s.file("victim"), { mode: 0o700 });
  fs.symlinkSync(s.file("victim"), s.file(`${STREAMS}/B`));
  fs.writeFileSync(s.file(`${STREAMS}/C`), "a file");
  const { stream } = await startedAgain(t, s);
  assert.deepEqual(fs.readdirSync(s.file("victim")), []);
  assert.match(s.log(), /stream B is offline: .*symbolic link/);
  assert.match(s.log(), /stream C is offline: .*a file, not a directory/);
  assert.equal((await stream("A").pub("x", "two")), 2);
  const health = await s.page("/healthz");
  assert.equal(health.status, 503);
  assert.match(health.text, /B/);
});

scenario("a link in the place of the streams' folders is refused", mayfly, async (t) => {
  for (const place of ["js/jetstream", "js/jetstream/$G", STREAMS]) {
    const s = await stopped(t);
    fs.renameSync(s.file(place), s.file("elsewhere"));
    fs.symlinkSync(s.file("elsewhere"), s.file(place));
    const before = tree(s.file("elsewhere"));
    assert.match(await refused(s), /is a symbolic link, not a directory/);
    assert.deepEqual(tree(s.file("elsewhere")), before);
  }
});

scenario("store_dir may be a link", mayfly, async (t) => {
  const s = await stopped(t);
  fs.renameSync(s.file("js"), s.file("elsewhere"));
  fs.symlinkSync(s.file("elsewhere"), s.file("js"));
  const { stream } = await startedAgain(t, s);
  assert.equal((await stream("A").state()).messages, 1);
});

// --- owners and modes --------------------------------------------------------------------------

scenario("a folder that others may write is refused with its mode and the remedy", mayfly, async (t) => {
  for (const place of ["js/jetstream", "js/jetstream/$G", STREAMS]) {
    const s = await stopped(t);
    fs.chmodSync(s.file(place), 0o775);
    assert.match(await refused(s), /mode 0775.*chmod go-w/);
    if (place === "js/jetstream") assert.match(await refused(s, ["-t"]), /mode 0775.*chmod go-w/);
    fs.chmodSync(s.file(place), 0o700);
    await startedAgain(t, s);
  }
});

scenario("a stream's folder that others may write is offline, the others go on", mayfly, async (t) => {
  const { s, nc, stream } = await ownServer(t);
  await stream("A").create();
  await stream("B").create();
  await nc.close();
  await s.stop();
  fs.chmodSync(s.file(`${STREAMS}/A`), 0o777);
  const now = await startedAgain(t, s);
  assert.match(s.log(), /stream A is offline: .*mode 0777/);
  assert.equal(await now.stream("B").pub("x"), 1);
});

scenario("what is made is the owner's alone", mayfly, async (t) => {
  const s = await stopped(t);
  for (const f of fs.readdirSync(s.file("js"), { recursive: true })) {
    const st = fs.lstatSync(s.file(`js/${f}`));
    assert.equal((st.mode & 0o777).toString(8), st.isDirectory() ? "700" : "600", f);
  }
});

if (isRoot)
  scenario("another user's folder is refused with the owner and the remedy", mayfly, async (t) => {
    for (const place of ["js/jetstream", STREAMS]) {
      const s = await stopped(t);
      fs.chownSync(s.file(place), NOBODY, NOBODY);
      assert.match(await refused(s), /uid 65534.*runs as root \(uid 0\).*chown/);
    }
    const s = await stopped(t);
    fs.chownSync(s.file(`${STREAMS}/A/0000000000000001.log`), NOBODY, NOBODY);
    await startedAgain(t, s);
    assert.match(s.log(), /stream A is offline: .*another user's/);
  });

// --- a directory that cannot be used -----------------------------------------------------------

scenario("a directory that cannot be written is fatal, for -t as well", mayfly, async (t) => {
  const s = asUser(t, { config: jetstreamBlock() });
  fs.mkdirSync(s.file("js"), { mode: 0o755 });
  if (isRoot) fs.chownSync(s.file("js"), 0, 0);
  else fs.chmodSync(s.file("js"), 0o555);
  assert.match(await refused(s), /store directory: .*js.*: Permission denied/);
  assert.match(await refused(s, ["-t"]), /store directory: .*js.*: Permission denied/);
  assert.deepEqual(fs.readdirSync(s.file("js")), []);
});

scenario("a jetstream folder that cannot be written any more is fatal", mayfly, async (t) => {
  for (const place of ["js/jetstream", STREAMS]) {
    const s = asUser(t, { config: jetstreamBlock() });
    await s.start();
    const { nc, stream } = await onServer(t, s);
    await stream("A").create();
    await nc.close();
    await s.stop();
    fs.chmodSync(s.file(place), 0o500);
    assert.match(await refused(s), /write in folder .*: Permission denied/);
    fs.chmodSync(s.file(place), 0o700);
  }
});

scenario("a file in the place of the directory is fatal", async (t) => {
  const s = t.prepare({ config: jetstreamBlock() });
  fs.writeFileSync(s.file("js"), "");
  assert.match(await refused(s, []), /\[FTL\] Can't start JetStream: storage directory is not a directory/);
});
scenario("a file in the place of the directory is found by -t", mayfly, async (t) => {
  const s = t.prepare({ config: jetstreamBlock() });
  fs.writeFileSync(s.file("js"), "");
  assert.match(await refused(s, ["-t"]), /storage directory is not a directory: .*js: move it away/);
});

scenario("a directory in a tree of the kernel is found by -t", mayfly, async (t) => {
  const s = t.prepare({ config: 'jetstream { store_dir: "/proc/nope/js" }\n' });
  for (const args of [[], ["-t"]]) assert.match(await refused(s, args), /store directory: .*\/proc/);
});

scenario("folders that are missing are made, by a start and not by -t", mayfly, async (t) => {
  const s = t.prepare({ config: 'jetstream { store_dir: "DIR/a/b/c" }\n' });
  s.writeConfig();
  execFileSync(binary, ["-t", "-c", s.confFile], { stdio: "pipe" });
  assert.equal(fs.existsSync(s.file("a")), false);
  await s.start();
  assert.equal(fs.existsSync(s.file("a/b/c/jetstream/.lock")), true);
  await s.stop();
});

// --- streams of nats-server --------------------------------------------------------------------

for (const account of ["$G", "OTHER"])
  scenario(`a store of nats-server is not touched, account ${account}`, mayfly, async (t) => {
    const s = t.prepare({ config: jetstreamBlock() });
    const dir = s.file(`js/jetstream/${account}/streams/ORDERS`);
    for (const d of ["msgs", "obs"]) fs.mkdirSync(path.join(dir, d), { recursive: true });
    for (const f of ["meta.inf", "meta.sum", "msgs/1.blk", "msgs/index.db"]) fs.writeFileSync(path.join(dir, f), "{}");
    const before = tree(s.file("js"));
    for (const args of [[], ["-t"]]) {
      const text = await refused(s, args);
      assert.match(text, /streams\/ORDERS is a stream of nats-server/);
      assert.match(text, /ORDERS is a stream of nats-server.*another store_dir.*mayfly import DIR/);
    }
    for (const at of ["js", `js/jetstream/${account}/streams/ORDERS`]) {
      const r = await tool("check", s.file(at));
      assert.equal(r.code, 2);
      assert.match(r.text, /ORDERS.*nats-server/);
    }
    assert.deepEqual(tree(s.file("js")), before);
  });

scenario("a folder without a log among the streams is left as it is", mayfly, async (t) => {
  const s = await stopped(t);
  fs.mkdirSync(s.file(`${STREAMS}/B`), { mode: 0o700 });
  fs.writeFileSync(s.file(`${STREAMS}/B/notes.txt`), "mine");
  const { stream } = await startedAgain(t, s);
  assert.match(s.log(), /stream B is offline: .*it has no log/);
  assert.deepEqual(fs.readdirSync(s.file(`${STREAMS}/B`)), ["notes.txt"]);
  const r = await stream("B").api("STREAM.CREATE.B", { name: "B", subjects: ["b.>"] });
  assert.ok(r.error);
  assert.equal(fs.readFileSync(s.file(`${STREAMS}/B/notes.txt`), "utf8"), "mine");
});

// --- one server at a time ----------------------------------------------------------------------

scenario("a second server is refused, names the first, and harms nothing", mayfly, async (t) => {
  const { s, stream } = await ownServer(t);
  await stream("A").create();
  fs.mkdirSync(s.file(`${STREAMS}/.new-1`), { mode: 0o700 }); // a stream that is being made
  fs.symlinkSync(s.file("js"), s.file("other"));
  for (const name of ["DIR/js", "DIR/other", "DIR/./js/"]) {
    const second = t.prepare({ config: jetstreamBlock().replace("DIR/js", name.replace("DIR", s.dir)) });
    assert.match(await refused(second), new RegExp(`is in use by process ${s.proc.pid}; stop it, or name another store_dir \\(-sd DIR\\)`));
    assert.equal(fs.existsSync(s.file(`${STREAMS}/.new-1`)), true);
  }
  assert.equal(await stream("A").pub("x"), 1);
  const check = t.prepare({ config: jetstreamBlock().replace("DIR", s.dir) });
  check.writeConfig();
  execFileSync(binary, ["-t", "-c", check.confFile], { stdio: "pipe" }); // its own configuration, before a reload
});

scenario("after kill -9 the directory is free, whatever the lock file says", mayfly, async (t) => {
  const { s, nc, stream } = await ownServer(t);
  await stream("A").create();
  const lock = s.file("js/jetstream/.lock");
  assert.equal(Number(fs.readFileSync(lock, "utf8")), s.proc.pid);
  await nc.close();
  await s.kill();
  fs.writeFileSync(lock, "1\n1234567890123456789012345"); // another's pid, and rubbish
  const now = await startedAgain(t, s);
  assert.equal(Number(fs.readFileSync(lock, "utf8").split("\n")[0]), s.proc.pid);
  assert.equal(await now.stream("A").pub("x"), 1);
});

scenario("mayfly check of a store in use says so and who uses it", mayfly, async (t) => {
  const { s, nc, stream } = await ownServer(t);
  await stream("A").create();
  await stream("A").pub("x");
  for (const at of ["js", "js/jetstream", `${STREAMS}/A`]) {
    const r = await tool("check", s.file(at));
    assert.equal(r.code, 3, r.text);
    assert.match(r.text, new RegExp(`pid ${s.proc.pid}\\b`));
  }
  assert.equal((await tool("check", s.file("js"), "--no-lock")).code, 0);
  await nc.close();
  await s.stop();
  for (const at of ["js", `${STREAMS}/A`]) assert.equal((await tool("check", s.file(at))).code, 0);
});

// --- odd things in a stream's folder -----------------------------------------------------------

const SECOND_SEGMENT = "0000000000000002.log";
const oddities = {
  "a named pipe": (f) => execFileSync("mkfifo", [f]),
  "a symbolic link": (f) => fs.symlinkSync("/etc/passwd", f),
  "a link to nothing": (f) => fs.symlinkSync("/nonexistent/x", f),
  "a directory": (f) => fs.mkdirSync(f),
};
for (const [what, make] of Object.entries(oddities))
  for (const name of [SECOND_SEGMENT, "checkpoint", "0000000000000003.log.tmp", "n".repeat(255), ".lock", "store.lock"])
    scenario(`${what} called ${name.slice(0, 30)} in a stream's folder blocks nothing and is not followed`, mayfly, async (t) => {
      const { s, nc, stream } = await ownServer(t);
      await stream("A").create();
      await stream("B").create();
      await stream("A").pub("x");
      await nc.close();
      await s.stop();
      const file = s.file(`${STREAMS}/A/${name}`);
      fs.rmSync(file, { force: true });
      make(file);
      s.head += 'http: "127.0.0.1:-1"\n';
      const now = await startedAgain(t, s);
      assert.equal(await now.stream("B").pub("x"), 1);
      if (name === SECOND_SEGMENT) {
        assert.match(s.log(), /stream A is offline: /);
        assert.match((await s.page("/healthz")).text, /A/);
      } else if (!/stream A is offline: /.test(s.log())) {
        assert.equal(await now.stream("A").pub("x"), 2);
      }
      await now.nc.close();
      await s.stop();
      await tool("check", s.file("js")); // whatever it finds, it ends
    });

scenario("a stream's folder that cannot be opened is offline, the others go on", mayfly, async (t) => {
  const s = asUser(t, { config: jetstreamBlock() });
  await s.start();
  const { nc, stream } = await onServer(t, s);
  await stream("A").create();
  await stream("B").create();
  await nc.close();
  await s.stop();
  fs.chmodSync(s.file(`${STREAMS}/A`), 0o000);
  s.head += 'http: "127.0.0.1:-1"\n';
  await s.startAgain();
  const now = await onServer(t, s);
  assert.match(s.log(), /stream A is offline: .*Permission denied/);
  assert.equal(await now.stream("B").pub("x"), 1);
  assert.equal((await s.page("/healthz")).status, 503);
  await now.nc.close();
  await s.stop();
  fs.chmodSync(s.file(`${STREAMS}/A`), 0o700);
});

// --- deletes that fail -------------------------------------------------------------------------

scenario("a delete that the disk refuses leaves the stream in service", mayfly, async (t) => {
  const s = asUser(t, { config: jetstreamBlock() });
  await s.start();
  const { nc, stream } = await onServer(t, s);
  const c = stream("A");
  await c.create();
  await c.pub("x", "one");
  await c.api("CONSUMER.DURABLE.CREATE.A.D", { stream_name: "A", config: { durable_name: "D", ack_policy: "explicit" } });
  const told = [];
  nc.subscribe("$JS.EVENT.ADVISORY.>", { callback: (_, m) => told.push(m.subject) });
  await nc.flush();
  fs.chmodSync(s.file(STREAMS), 0o500);
  const r = await c.api("STREAM.DELETE.A");
  assert.match(r.error?.description, /Permission denied/);
  assert.equal(await c.pub("x", "two"), 2);
  assert.equal((await c.get(1)).data, "one");
  assert.equal((await c.api("CONSUMER.INFO.A.D")).num_pending, 2);
  assert.deepEqual(told.filter((x) => /DELETED/.test(x)), []);
  fs.chmodSync(s.file(STREAMS), 0o700);
  assert.equal((await c.api("STREAM.DELETE.A")).success, true);
  assert.equal((await c.info()).error.err_code, 10059);
  assert.deepEqual(fs.readdirSync(s.file(STREAMS)), []);
  await until("both advisories", () => told.filter((x) => /DELETED/.test(x)).length === 2);
  await c.create();
  assert.equal((await c.state()).messages, 0);
  await nc.close();
  await s.stop();
});

scenario("a delete that cannot remove a file has deleted the stream", mayfly, async (t) => {
  const { s, nc, stream } = await ownServer(t);
  const c = stream("A");
  await c.create();
  await c.pub("x");
  fs.mkdirSync(s.file(`${STREAMS}/A/mine`));
  fs.writeFileSync(s.file(`${STREAMS}/A/mine/file`), "");
  assert.equal((await c.api("STREAM.DELETE.A")).success, true);
  assert.equal((await c.info()).error.err_code, 10059);
  const left = fs.readdirSync(s.file(STREAMS));
  assert.equal(left.length, 1);
  await c.create();
  assert.equal((await c.state()).messages, 0);
  fs.rmSync(s.file(`${STREAMS}/${left[0]}/mine`), { recursive: true });
  await nc.close();
  await s.stop();
  await startedAgain(t, s);
  assert.deepEqual(fs.readdirSync(s.file(STREAMS)), ["A"]);
});

// --- descriptors and defaults ------------------------------------------------------------------

// The store keeps an eighth of the descriptors open for the files used last; no stream has one of its own.
scenario("idle streams take no descriptors of their own", mayfly, async (t) => {
  const s = t.prepare({ config: jetstreamBlock() });
  s.program = s.file("mayflyd");
  fs.writeFileSync(s.program, `#!/bin/sh\nulimit -n 320\nexec "${binary}" "$@"\n`, { mode: 0o755 });
  await s.start();
  const { nc, stream } = await onServer(t, s);
  const open = () => fs.readdirSync(`/proc/${s.proc.pid}/fd`).length;
  await stream("FIRST").create();
  const before = open();
  for (let i = 0; i < 200; i++) await stream(`N${i}`).create();
  await until("files to be closed", () => open() <= before + 320 / 8);
  for (const i of [0, 100, 199]) assert.equal(await stream(`N${i}`).pub("x"), 1);
  await nc.close();
  await s.stop();
});

scenario("without store_dir the directory is the user's own", mayfly, async (t) => {
  const where = async (env, at) => {
    const s = t.prepare({ config: "jetstream: true\n" });
    s.env = Object.fromEntries(Object.entries({ HOME: undefined, XDG_STATE_HOME: undefined, TMPDIR: s.file("tmp"), ...env }).map(([k, v]) => [k, v?.replace("DIR", s.dir)]));
    fs.mkdirSync(s.file("tmp"));
    fs.mkdirSync(s.file("home"));
    await s.start();
    assert.equal(fs.statSync(s.file(`${at}/jetstream`)).mode & 0o777, 0o700);
    await s.stop();
    return /Temporary storage directory/.test(s.log());
  };
  assert.equal(await where({ HOME: "DIR/home" }, "home/.local/state/mayfly"), false);
  assert.equal(await where({ HOME: "DIR/home", XDG_STATE_HOME: "DIR/state" }, "state/mayfly"), false);
  assert.equal(await where({ HOME: "DIR/home", XDG_STATE_HOME: "relative" }, "home/.local/state/mayfly"), false);
  assert.equal(await where({}, `tmp/mayfly-${process.getuid()}`), true);
  assert.equal(await where({ HOME: "/nonexistent" }, `tmp/mayfly-${process.getuid()}`), true);
});
