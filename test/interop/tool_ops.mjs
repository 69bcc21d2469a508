// tool_ops.mjs: the frame of the tool `mayfly` (help, manual page, completion, flags, exit codes) and its view of servers.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { scenario } from "./lib/scenario.mjs";
import { expect, json, mayfly, tool } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };
const exec = promisify(execFile);
const PAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../docs/man/mayfly.1");

// Names of all commands, from the help: two blanks, name and arguments, two or more blanks, one line about it.
async function commands() {
  const help = await expect(0, {}, "help");
  const names = [...help.matchAll(/^ {2}([a-z][a-z -]*?)(?: [[A-Z].*?)? {2,}/gm)].map((m) => m[1]);
  assert.ok(names.length > 50 && names.includes("ttl ls") && names.includes("help"), names.join());
  return names;
}

// --- help -----------------------------------------------------------------------------------------------------

scenario("help: each command has a text, its flags and an example", only, async () => {
  const all = await commands();
  assert.equal(new Set(all).size, all.length);
  await Promise.all(all.map(async (name) => {
    const text = await expect(0, {}, ...name.split(" "), "--help");
    assert.match(text, new RegExp(`^usage: mayfly ${name}[ \\n]`), name);
    assert.match(text, new RegExp(`^Examples:\\n( {2}(.*\\| )?mayfly .*${name.split(" ")[0]}.*\\n)?`, "m"), `${name}: no example`);
    assert.match(text, /--json/);
  }));
  for (const group of new Set(all.filter((n) => n.includes(" ")).map((n) => n.split(" ")[0]))) {
    assert.match(await expect(0, {}, group, "--help"), new RegExp(`^usage: mayfly ${group} COMMAND`));
    assert.match(await expect(2, {}, group), new RegExp(`^usage: mayfly ${group} COMMAND`), "a group alone is no command");
  }
});

// WRITE_MAN=1 writes the part of the page instead.
scenario("the manual page has every command and every flag", only, async () => {
  const [begin, end] = ['.\\" Begin of the output of mayfly help --man; a test compares both.\n', '.\\" End of the output of mayfly help --man.\n'];
  const roff = await expect(0, {}, "help", "--man");
  let page = fs.readFileSync(PAGE, "utf8");
  const [from, to] = [page.indexOf(begin) + begin.length, page.indexOf(end)];
  assert.ok(from > begin.length && to > from, "the two marks are there");
  if (process.env.WRITE_MAN) fs.writeFileSync(PAGE, (page = page.slice(0, from) + roff + page.slice(to)));
  else assert.ok(page.slice(from, to) === roff, "docs/man/mayfly.1 is not up to date: WRITE_MAN=1 node test/interop/run.mjs '^tool_ops: the manual' writes it");
  const plain = page.replaceAll("\\-", "-").replace(/\\f[BIRP]/g, "");
  await Promise.all((await commands()).map(async (name) => {
    assert.ok(plain.includes(`.SS "mayfly ${name}`), `no ${name}`);
    const help = await expect(0, {}, ...name.split(" "), "--help");
    for (const [, flag] of help.matchAll(/^ +(?:-\w, +)?--([a-z-]+)/gm)) assert.ok(plain.includes(`--${flag}`), `${name}: no --${flag}`);
  }));
});

scenario("manual pages are formatted without a warning", only, async () => {
  const dir = path.dirname(PAGE);
  for (const file of fs.readdirSync(dir)) {
    const { stdout, stderr } = await exec("man", ["--warnings=w,mac", "-l", path.join(dir, file)], { env: { ...process.env, MANWIDTH: "80", LC_ALL: "C.UTF-8", PAGER: "cat" } });
    assert.equal(stderr, "", file);
    assert.match(stdout, /SEE ALSO/);
  }
});

// --- the command line -----------------------------------------------------------------------------------------

scenario("flags stand before the command, behind it, and between arguments", only, async (t) => {
  const s = await t.server({ config: 'jetstream { store_dir: "DIR/js" }\nauthorization { users: [ { user: ann, password: secret } ] }\n' });
  const url = `nats://127.0.0.1:${s.port}`;
  for (const args of [
    ["-s", url, "--user", "ann", "--password=secret", "stream", "ls", "--json"],
    [`-s${url}`, "--json", "--user=ann", "stream", "ls", "--password", "secret"],
    ["--json", "stream", "ls", "--server", url, "--user", "ann", "--password", "secret"],
    ["--no-context", "--json", "-s", `nats://ann:secret@127.0.0.1:${s.port}`, "stream", "ls"],
  ])
    assert.deepEqual(JSON.parse(await expect(0, {}, ...args)).streams ?? [], [], args.join(" "));
  assert.match(await expect(0, {}, "--no-color", "--version"), /^mayfly \d/);
  assert.match(await expect(0, {}, "--no-color", "--help"), /^usage: mayfly COMMAND/);
});

scenario("mistakes on the command line: exit code 2, a clear text, nothing on stdout", only, async () => {
  for (const [args, pattern] of [
    [[], /^usage: mayfly COMMAND/],
    [["sserver"], /there is no command sserver; did you mean server\?/],
    [["qqqqqqqq"], /there is no command qqqqqqqq; mayfly help lists them/],
    [["server", "nonsense"], /there is no command server nonsense/],
    [["-s"], /there is no command -s/],
    [["--nonsense", "top"], /there is no command --nonsense/],
    [["top", "--nonsense"], /unknown flag --nonsense/],
    [["top", "-x"], /unknown flag -x/],
    [["top", "--interval"], /--interval needs a value: --interval TIME/],
    [["top", "--interval", "soon"], /--interval: soon is not a duration; write 90s, 1h30m or 7d/],
    [["top", "--count", "-1"], /--count: -1 is not a whole number/],
    [["top", "--count", "1", "--count", "2"], /--count is given twice/],
    [["top", "--json=yes"], /--json takes no value/],
    [["top", "a", "b"], /unexpected b/],
    [["restore"], /restore needs DIR/],
    [["bench", "pub", "--size", "big"], /--size: big is not a size; write 512, 64K, 10MB or 1GiB/],
    [["help", "nonsense"], /there is no command nonsense/],
    [["help", "--man", "top"], /--man prints all commands/],
    [["completion", "fish"], /there is completion for bash and zsh, not for fish/],
    [["stream", "ls", "--context", "x", "--no-context"], /exclude each other/],
  ]) {
    const r = await mayfly({}, ...args);
    assert.deepEqual([r.code, r.stdout], [2, ""], `${args.join(" ")}: ${r.stderr}`);
    assert.match(r.stderr, pattern);
  }
});

scenario("a closed pipe and a full disk end the tool with a text", only, async () => {
  const { stderr, code } = await exec("/bin/sh", ["-c", `'${tool}' help > /dev/full`]).catch((e) => e);
  assert.equal(code, 2);
  assert.match(stderr, /the output could not be written/);
});

// --- completion -----------------------------------------------------------------------------------------------

scenario("completion of bash: words, flags, values, files", only, async (t) => {
  const s = t.prepare();
  fs.writeFileSync(s.file("c.bash"), await expect(0, {}, "completion", "bash"));
  const lines = {
    "mayfly ": /(^| )backup bench .* top ttl version$/,
    "mayfly ser": /^server$/,
    "mayfly server ": /^check info ls report$/,
    "mayfly server re": /^report$/,
    "mayfly server report ": /^accounts connections consumers streams$/,
    "mayfly -s nats://127.0.0.1:4222 nk": /^nkey$/,
    "mayfly --json nkey make us": /^user$/,
    "mayfly top --int": /^--interval$/,
    "mayfly backup --a": /^--all$/,
    "mayfly backup ": /^$/, // files
    "mayfly --tlsca ": /^$/,
    "mayfly bench pub --msgs ": /^$/,
    "mayfly ttl ls drafts --wi": /^--within$/,
    "mayfly nonsense ": /^$/,
  };
  const script = `source ${s.file("c.bash")}\nset -u\nwhile IFS= read -r COMP_LINE; do COMP_POINT=\${#COMP_LINE}; COMPREPLY=(); _mayfly; echo "\${COMPREPLY[*]-}"; done`;
  const bash = spawn("bash", ["--norc", "-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  let out = "";
  bash.stdout.on("data", (d) => (out += d));
  bash.stdin.end(`${Object.keys(lines).join("\n")}\n`);
  await new Promise((ok) => bash.on("close", ok));
  const got = out.split("\n");
  Object.entries(lines).forEach(([line, pattern], i) => assert.match(got[i], pattern, `after "${line}"`));
});

// A shell in a terminal: type(TEXT) and wait until its line shows SHOWN.
function shell(t, command, cwd) {
  const proc = spawn("script", ["-qfec", command, "/dev/null"], { cwd, env: { ...process.env, TERM: "dumb", PATH: `${path.dirname(tool)}:${process.env.PATH}`, HOME: cwd, ZDOTDIR: cwd }, stdio: ["pipe", "pipe", "inherit"] });
  const p = { text: "" };
  proc.stdout.setEncoding("utf8").on("data", (d) => (p.text += d));
  proc.stdin.on("error", () => {});
  const ended = new Promise((ok) => proc.on("close", ok));
  t.after(async () => (proc.kill("SIGKILL"), await ended));
  // Moves of the cursor as they are: what was typed and completed stands in one row between them.
  p.type = async (keys, shown) => {
    proc.stdin.write(keys);
    // eslint-disable-next-line no-control-regex
    await until(`${shown} after ${keys}: ${p.text.slice(-200)}`, () => p.text.replace(/\x1b\[[?0-9;]*[A-Za-z]|.\x08|\r/g, "").match(shown));
  };
  return p;
}

scenario("completion of bash, in a terminal", only, async (t) => {
  const s = t.prepare();
  fs.writeFileSync(s.file("c.bash"), await expect(0, {}, "completion", "bash"));
  const bash = shell(t, "bash --norc -i", s.dir);
  await bash.type("PS1='rea''dy> '; source ./c.bash\n", /ready> $/);
  await bash.type("mayfly ser\t", /mayfly server $/);
  await bash.type("rep\tst\t--so\t", /mayfly server report streams --sort $/);
});

scenario("completion of zsh, in a terminal, from its file in fpath", only, async (t) => {
  const s = t.prepare();
  fs.writeFileSync(s.file("_mayfly"), await expect(0, {}, "completion", "zsh"));
  const zsh = shell(t, "zsh -f -i", s.dir);
  await zsh.type("PS1='rea''dy> '; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D\n", /ready> $/);
  await zsh.type("mayfly ser\t", /mayfly server ?$/);
  await zsh.type("rep\tst\t--so\t", /mayfly server ?report ?streams ?--sort ?$/);
});

// --- servers --------------------------------------------------------------------------------------------------

const CONF = `server_name: one\njetstream { store_dir: "DIR/js" }
accounts { APP { jetstream: enabled, users: [ { user: ann, password: secret } ] }, SYS { users: [ { user: admin, password: secret } ] } }
system_account: SYS\n`;
const as = (s, user) => ({ url: `nats://${user}:secret@127.0.0.1:${s.port}` });

scenario("server info, ls: the connected server, the account, and all that answer the system account", only, async (t) => {
  const s = await t.server({ config: CONF });
  await expect(0, as(s, "ann"), "stream", "create", "S", "--subjects", "s");
  const info = await expect(0, as(s, "ann"), "server", "info");
  assert.match(info, /^server +one$[^]*^needs a user +yes$[^]*^user +ann$\n^account +APP$[^]*^streams +1, no limit$/m);
  const doc = await json(as(s, "ann"), "server", "info");
  assert.deepEqual([doc.info.server_name, doc.user.account, doc.account.streams], ["one", "APP", 1]);
  assert.match(await expect(0, as(s, "ann"), "server", "ls"), /^one +nats:[^]*Only the connected server is shown/m);
  assert.equal((await json(as(s, "ann"), "server", "ls")).connected[0].server_name, "one");
  assert.match(await expect(0, as(s, "admin"), "server", "ls"), /^one +127\.0\.0\.1 /m);
  assert.equal((await json(as(s, "admin"), "server", "ls")).servers[0].server.name, "one");
  assert.match(await expect(0, as(s, "admin"), "server", "info"), /^jetstream +not for this account$/m);
  assert.match(await expect(5, { url: s.url }, "server", "info"), /refused the credentials/);
});

scenario("server report: streams, consumers, connections, accounts; sorted, of one account, as JSON", only, async (t) => {
  const s = await t.server({ config: CONF, monitor: true });
  for (const name of ["A", "B"]) await expect(0, as(s, "ann"), "stream", "create", name, "--subjects", `${name}.>`);
  await expect(0, as(s, "ann"), "pub", "B.x", "hello");
  await expect(0, as(s, "ann"), "consumer", "create", "B", "worker");
  const nc = await t.connect(s, { name: "of the test", user: "ann", pass: "secret" });
  const text = await expect(0, {}, "server", "report", "streams", s.http);
  assert.match(text, /^STREAM +ACCOUNT +STORAGE +MESSAGES .*\nA +APP +file +0 .*\nB +APP +file +1 .* 1\n2 streams\n$/);
  assert.match(await expect(0, {}, "server", "report", "streams", s.http, "--sort", "messages"), /\nB .*\nA /);
  assert.match(await expect(0, {}, "server", "report", "consumers", s.http), /^B +worker +APP +1 +0 /m);
  assert.match(await expect(0, {}, "server", "report", "connections", s.http), /^ *\d+ +of the test +APP +127\.0\.0\.1 /m);
  assert.match(await expect(0, {}, "server", "report", "accounts", s.http), /^APP +1 /m);
  for (const kind of ["streams", "consumers", "connections", "accounts"]) {
    const rows = await json({}, "server", "report", kind, s.http);
    assert.ok(Array.isArray(rows) && rows.length > 0, kind);
    assert.doesNotMatch(await expect(0, {}, "server", "report", kind, s.http, "--json"), /[:,[]-?\d+\.0[,}\]]/, "whole numbers have no fraction, whatever else the page holds");
    const none = await json({}, "server", "report", kind, s.http, "--account", "nobody");
    assert.deepEqual(none, [], kind);
  }
  assert.match(await expect(2, {}, "server", "report", "nonsense", s.http), /there is no report of nonsense/);
  assert.match(await expect(2, {}, "server", "report", "streams", s.http, "--sort", "x"), /has no column x/);
  await nc.flush();
});

scenario("server check: 0 well, 1 not well, 2 not to be asked", only, async (t) => {
  const s = await t.server({ config: CONF, monitor: true });
  assert.match(await expect(0, {}, "server", "check", s.http), /^server +one$[^]*^health +ok$/m);
  const doc = await json({}, "server", "check", s.http);
  assert.deepEqual([doc.url, doc.healthy, doc.healthz.status], [s.http, true, "ok"]);
  const varz = (await s.page("/varz")).text;
  let answer = [503, JSON.stringify({ status: "unavailable", error: "JetStream stream 'S' is read only" })];
  const ill = http.createServer((q, r) => (q.url === "/varz" ? r.end(varz) : r.writeHead(answer[0]).end(answer[1]))).listen(0, "127.0.0.1");
  t.after(() => ill.close());
  await until("its port", () => ill.listening);
  const url = `http://127.0.0.1:${ill.address().port}`;
  assert.match(await expect(1, {}, "server", "check", url), /^health +unavailable: JetStream stream 'S' is read only$/m);
  assert.equal(JSON.parse(await expect(1, {}, "server", "check", url, "--json")).healthy, false);
  answer = [200, "hello"];
  assert.match(await expect(2, {}, "server", "check", url), /\/healthz holds no JSON status/);
  assert.match(await expect(2, {}, "server", "check", "http://127.0.0.1:1"), /Connection refused/);
  assert.match(await expect(2, {}, "server", "check", "http://127.0.0.1:99999"), /the port is a number from 1 to 65535/);
  assert.match(await expect(2, {}, "server", "check", "8222"), /^mayfly: 8222 is a port, not an address: http:\/\/127\.0\.0\.1:8222\n/);
  assert.match(await expect(2, {}, "server", "check", "nats://127.0.0.1"), /not an http:\/\/ or https:\/\/ address/);
});
