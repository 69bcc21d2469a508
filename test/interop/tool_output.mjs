// tool_output.mjs: the tool `mayfly` with a full disk, a reader that is gone, and files that stand in its way.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { scenario } from "./lib/scenario.mjs";
import { expect, live, mayfly, tool } from "./lib/tool.mjs";
import { until, within } from "./lib/wait.mjs";

const only = { only: "mayfly" };
const JS = { config: 'jetstream { store_dir: "DIR/js" }\n', monitor: true };

// A command whose standard output is `out` (a descriptor): { code, stderr }.
async function into(out, s, ...args) {
  const env = { ...process.env, NATS_URL: s?.url ?? "", XDG_CONFIG_HOME: "/nonexistent", HOME: "/nonexistent" };
  const proc = spawn(tool, args, { env, stdio: ["ignore", out, "pipe"] });
  let stderr = "";
  proc.stderr.on("data", (d) => (stderr += d));
  const code = await within(`the end of mayfly ${args.join(" ")}`, new Promise((ok) => proc.on("close", (c, signal) => ok(c ?? signal))));
  return { code, stderr };
}

scenario("a full disk: every command that wrote something ends with 2 and says so", only, async (t) => {
  const s = await t.server(JS);
  await expect(0, s, "kv", "create", "b");
  await expect(0, { url: s.url, input: Buffer.alloc(9000, "x") }, "kv", "put", "b", "k", "-");
  const full = fs.openSync("/dev/full", "w");
  t.after(() => fs.closeSync(full));
  const lines = [["kv", "get", "b", "k"], ["kv", "get", "b", "k", "--raw"], ["kv", "watch", "b", "--count", "1"], ["kv", "keys", "b"], ["stream", "ls"], ["server", "check", s.http],
    ["top", s.http, "--count", "1", "--interval", "100ms"], ["ttl", "top", "--count", "1"], ["--help"], ["kv", "--help"], ["kv", "get", "--help"], ["help"], ["version"], ["check", "--help"]];
  for (const args of lines) {
    const r = await into(full, s, ...args);
    assert.equal(r.code, 2, `${args.join(" ")}: ${r.stderr}`);
    assert.match(r.stderr, /the output could not be written/, args.join(" "));
  }
});

scenario("without a standard output no socket takes its place", only, async (t) => {
  const s = await t.server(JS);
  await expect(0, s, "kv", "create", "b");
  await expect(0, s, "kv", "put", "b", "k", "v");
  const proc = spawn("/bin/sh", ["-c", `exec '${tool}' kv watch b --count 1 -s ${s.url} --no-context >&-`], { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  proc.stderr.on("data", (d) => (stderr += d));
  assert.equal(await within("the end", new Promise((ok) => proc.on("close", ok))), 2);
  assert.match(stderr, /the output could not be written/);
});

scenario("live commands end when their reader is gone", only, async (t) => {
  const s = await t.server(JS);
  const nc = await t.connect(s);
  await expect(0, s, "kv", "create", "b", "--marker-ttl", "1m");
  nc.subscribe("ask", { callback: (_, m) => m.respond("answer") });
  nc.subscribe("many", { callback: async (_, m) => { for (let i = 0; i < 1000 && !nc.isClosed(); i++) m.respond(`${i}`), await new Promise((ok) => setTimeout(ok, 5)); } });
  const lines = [["sub", "x"], ["sub", "x", "--json"], ["kv", "watch", "b"], ["kv", "watch", "b", "--json"], ["ttl", "watch"], ["ttl", "watch", "--json"], ["top", s.http, "--count", "1000", "--interval", "100ms"],
    ["req", "many", "", "--replies", "0", "--timeout", "1h"], ["req", "ask", "", "--count", "1000000"]];
  const all = lines.map((args) => live(t, s, ...args));
  for (const p of all) p.proc.stdout.once("data", () => p.proc.stdout.destroy());
  let n = 0;
  await until("the end of all", async () => {
    nc.publish("x", "hello");
    await nc.request("$JS.API.STREAM.UPDATE.KV_b", JSON.stringify({ name: "KV_b", subjects: ["$KV.b.>"], allow_msg_ttl: true, subject_delete_marker_ttl: 60e9, max_msgs_per_subject: 1, deny_delete: true, allow_rollup_hdrs: true, allow_direct: true, discard: "new", metadata: { "mayfly.ttl.default": `${++n}h` } }));
    nc.publish("$KV.b.k", `${n}`);
    return all.every((p) => p.gone);
  });
  for (const [i, p] of all.entries()) assert.equal(p.gone.code, 2, `${lines[i].join(" ")}: ${p.stderr}`);
});

scenario("consumer next: what nobody could read is not acknowledged", only, async (t) => {
  const s = await t.server(JS);
  await expect(0, s, "stream", "create", "S", "--subjects", "s.>");
  await expect(0, s, "consumer", "create", "S", "c");
  for (let i = 0; i < 5; i++) await expect(0, s, "pub", "s.a", `m${i}`, "--jetstream");
  const full = fs.openSync("/dev/full", "w");
  t.after(() => fs.closeSync(full));
  assert.equal((await into(full, s, "consumer", "next", "S", "c", "--count", "5")).code, 2);
  const info = JSON.parse(await expect(0, s, "consumer", "info", "S", "c", "--json"));
  assert.equal(info.ack_floor.stream_seq, 0);
});

scenario("object get: links, FIFOs and files of others stay what they are", only, async (t) => {
  const s = await t.server(JS);
  const at = (name) => s.file(name);
  fs.writeFileSync(at("in"), "hello\n");
  await expect(0, s, "object", "create", "o");
  await expect(0, s, "object", "put", "o", at("in"), "--name", "x");
  // somebody's own x.part, and a link of that name
  fs.writeFileSync(at("x.part"), "precious");
  await expect(0, s, "object", "get", "o", "x", at("x"));
  assert.deepEqual([fs.readFileSync(at("x"), "utf8"), fs.readFileSync(at("x.part"), "utf8")], ["hello\n", "precious"]);
  fs.symlinkSync("x.part", at("y.part"));
  await expect(0, s, "object", "get", "o", "x", at("y"));
  assert.equal(fs.readFileSync(at("x.part"), "utf8"), "precious");
  // a link: the file behind it is replaced, with its mode
  fs.writeFileSync(at("target"), "old", { mode: 0o600 });
  fs.symlinkSync("target", at("link"));
  assert.match(await expect(2, s, "object", "get", "o", "x", at("link")), /link exists: add --force/);
  await expect(0, s, "object", "get", "o", "x", at("link"), "--force");
  assert.ok(fs.lstatSync(at("link")).isSymbolicLink());
  assert.deepEqual([fs.readFileSync(at("target"), "utf8"), fs.statSync(at("target")).mode & 0o777], ["hello\n", 0o600]);
  fs.symlinkSync("nowhere", at("loose"));
  assert.match(await expect(2, s, "object", "get", "o", "x", at("loose"), "--force"), /loose: the link leads nowhere/);
  assert.ok(!fs.existsSync(at("nowhere")) && fs.lstatSync(at("loose")).isSymbolicLink());
  // a FIFO gets the object
  execFileSync("mkfifo", [at("fifo")]);
  const reader = fs.promises.readFile(at("fifo"), "utf8");
  await expect(0, s, "object", "get", "o", "x", at("fifo"), "--force");
  assert.equal(await within("the bytes", reader), "hello\n");
  assert.ok(fs.lstatSync(at("fifo")).isFIFO());
  fs.mkdirSync(at("folder"));
  assert.match(await expect(2, s, "object", "get", "o", "x", at("folder"), "--force"), /folder: Is a directory/);
  assert.deepEqual(fs.readdirSync(at(".")).filter((f) => /\.part$/.test(f)).sort(), ["x.part", "y.part"]);
});

scenario("backup: what stands at the name of its unfinished file is not written through", only, async (t) => {
  const s = await t.server(JS);
  await expect(0, s, "stream", "create", "S", "--subjects", "s.>");
  fs.mkdirSync(s.file("b"));
  fs.writeFileSync(s.file("precious"), "precious");
  fs.linkSync(s.file("precious"), s.file("b/stream.tar.s2.partial"));
  execFileSync("mkfifo", [s.file("b/backup.json.partial")]);
  await within("the end", expect(0, s, "backup", "S", s.file("b")));
  assert.equal(fs.readFileSync(s.file("precious"), "utf8"), "precious");
  await expect(0, s, "restore", s.file("b"), "--verify");
});

scenario("restore: a FIFO or a device in the folder is refused at once", only, async (t) => {
  const s = await t.server(JS);
  await expect(0, s, "stream", "create", "S", "--subjects", "s.>");
  await expect(0, s, "backup", "S", s.file("all/good"));
  fs.mkdirSync(s.file("all/a"));
  execFileSync("mkfifo", [s.file("all/a/backup.json")]);
  const refused = async (...args) => (await within("the end", mayfly(s, "restore", ...args, "--verify"))).stderr;
  assert.match(await refused(s.file("all/a")), /backup\.json is no plain file/);
  const r = await within("the end", mayfly(s, "restore", "--all", s.file("all"), "--verify"));
  assert.deepEqual([r.code, /^S +whole /m.test(r.stdout)], [2, true], "the others are verified");
  fs.rmSync(s.file("all/good/stream.tar.s2"));
  fs.symlinkSync("/dev/zero", s.file("all/good/stream.tar.s2"));
  fs.writeFileSync(s.file("all/good/backup.json"), '{"config":{"name":"S"}}');
  assert.match(await refused(s.file("all/good")), /stream\.tar\.s2 is no plain file/);
});
