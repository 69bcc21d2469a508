// tool_data_terminal.mjs: the data commands in a real terminal: narrow windows, colours, questions, live lines, hostile names.
import assert from "node:assert/strict";
import fs from "node:fs";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, expect, inTerminal } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const JS = { config: 'jetstream { store_dir: "DIR/js" }\n' };
const narrow = { columns: 40, rows: 20 };
const columns = (line) => [...line].length; // of our texts each character is one column wide
// eslint-disable-next-line no-control-regex
const styled = (raw) => /\x1b\[[0-9;]*m/.test(raw);

async function ready(t) {
  const s = await t.server(JS);
  const nc = await t.connect(s);
  return { s, nc, run: (...args) => expect(0, s, ...args), info: async (n) => (await nc.request(`$JS.API.STREAM.INFO.${n}`)).json() };
}

scenario("a window of 40 columns: tables fit", async (t) => {
  const { s, run } = await ready(t);
  const long = "a-name-that-is-much-longer-than-any-window-is-wide";
  await run("stream", "create", long, "--subjects", "orders.of.the.whole.wide.world.>,b", "--description", "text ".repeat(30));
  await run("consumer", "create", long, `c-${long}`, "--filter", "b");
  await run("kv", "create", "sessions-of-all-the-people-in-the-office", "--history", "5");
  await run("kv", "put", "sessions-of-all-the-people-in-the-office", "k", "v".repeat(300), "--ttl", "1h");
  await run("object", "create", "files", "--description", "text ".repeat(30));
  fs.writeFileSync(s.file("x"), "hello");
  await run("object", "put", "files", s.file("x"), "--name", `${long}/ü`);
  const b = "sessions-of-all-the-people-in-the-office";
  for (const args of [["stream", "ls"], ["stream", "info", long], ["consumer", "ls", long], ["consumer", "info", long, `c-${long}`], ["kv", "ls"], ["kv", "history", b, "k"], ["kv", "info", b], ["object", "ls"], ["object", "ls", "files"], ["object", "info", "files", `${long}/ü`], ["kv", "watch", b, "--count", "1"]]) {
    const r = await inTerminal(t, s, args, narrow);
    assert.equal(r.code, 0, r.text);
    const table = args[1] === "info" ? r.lines.slice(args[0] === "object" ? 0 : 1) : r.lines.filter((l) => !l.startsWith("watching"));
    for (const line of table) assert.ok(columns(line) <= 40, `${args.join(" ")}: ${columns(line)} columns: ${line}`);
  }
  assert.match((await inTerminal(t, s, ["stream", "ls"], narrow)).text, /^NAME +SUBJECTS +MESSAGES +BYTES\n(.*\n)*a-name-.*… +orders\.of.*… +0 +0 B$/m);
  assert.match((await inTerminal(t, s, ["kv", "history", b, "k"], narrow)).text, /^REVISION +OPERATION +(\S+ +)*VALUE\n +1 +put .*v…$/m);
  const wide = await inTerminal(t, s, ["stream", "ls"], { columns: 200 });
  assert.match(wide.text, /^NAME +SUBJECTS +STORAGE +MESSAGES +BYTES +CONSUMERS +LAST$/m);
  assert.match(wide.text, new RegExp(`^${long} +orders\\.of`, "m"));
});

scenario("colours: on a terminal, and never with --no-color, NO_COLOR, a dumb terminal or a pipe", async (t) => {
  const { s, run } = await ready(t);
  await run("stream", "create", "A");
  assert.ok(styled((await inTerminal(t, s, ["stream", "ls"])).raw));
  assert.ok(!styled((await inTerminal(t, s, ["stream", "ls", "--no-color"])).raw));
  for (const vars of [["NO_COLOR=1"], ["TERM=dumb"]]) {
    const term = new Terminal(t, s, ["stream", "ls"], {}, vars);
    await term.end();
    assert.ok(!styled(term.raw), vars[0]);
    assert.match(term.screen(), /^A +A +file/m);
  }
  assert.ok(!styled(await run("stream", "ls")));
  assert.ok(!styled((await inTerminal(t, s, ["stream", "ls", "--json"])).raw));
  assert.equal(JSON.parse((await inTerminal(t, s, ["stream", "ls", "--json"])).text).streams.length, 1);
});

scenario("questions: only `yes` removes something", async (t) => {
  const { s, run, info } = await ready(t);
  await run("stream", "create", "A", "--subjects", "a");
  await run("pub", "a", "x", "-J");
  for (const answer of ["no\r", "\r", "y\r", "\x04"]) {
    const term = new Terminal(t, s, ["stream", "rm", "A"]);
    await term.shows(/Remove the stream A with 1 messages \(\d+ B\)\? Type yes: /);
    term.type(answer);
    assert.equal(await term.end(), 2);
    assert.match(term.screen(), /nothing was changed/);
  }
  assert.equal((await info("A")).state.messages, 1);
  const purge = new Terminal(t, s, ["stream", "purge", "A"]);
  await purge.shows(/Purge A\? Type yes: /);
  purge.type("yes\r");
  assert.equal(await purge.end(), 0);
  assert.match(purge.screen(), /A: 1 message purged/);
  const rm = new Terminal(t, s, ["stream", "rm", "A"]);
  await rm.shows(/Type yes: /);
  rm.type("\x03");
  await rm.end();
  assert.equal((await info("A")).config.name, "A");
});

scenario("kv watch: live lines in a terminal; Ctrl-C ends it with 0 and its consumer is gone", async (t) => {
  const { s, run, info } = await ready(t);
  await run("kv", "create", "b", "--marker-ttl", "1s");
  const watch = new Terminal(t, s, ["kv", "watch", "b"], narrow);
  await watch.shows(/watching b; Ctrl-C ends/);
  await run("kv", "put", "b", "k", "x".repeat(100), "--ttl", "1s");
  await watch.shows(/put +k {2}rev 1 {2}ttl 1s {2}x+…\n/);
  await watch.shows(/expired k {2}rev 2\n/);
  assert.match(watch.raw, /\x1b\[32mput/); // eslint-disable-line no-control-regex
  assert.match(watch.raw, /\x1b\[33mexpired/); // eslint-disable-line no-control-regex
  watch.type("\x03");
  assert.equal(await watch.end(), 0);
  await until("the consumer to be gone", async () => (await info("KV_b")).state.consumer_count === 0);
});

scenario("sub and req in a terminal: Ctrl-C ends sub with 0; values are shown safely", async (t) => {
  const { s, nc, run } = await ready(t);
  const sub = new Terminal(t, s, ["sub", "a.>"]);
  await sub.shows(/listening on a\.>; Ctrl-C ends/);
  await run("pub", "a.1", "one\ntwo \u001b]0;title\u0007");
  await sub.shows(/#1 a\.1 {2}\d+ B\none\ntwo \\x1b\]0;title\\x07\n/);
  sub.type("\x03");
  assert.equal(await sub.end(), 0);
  assert.ok(!sub.raw.includes("\u001b]0;"), "no title was set");
  nc.subscribe("echo", { callback: (_, m) => m.respond(m.data) });
  await nc.flush();
  const req = await inTerminal(t, s, ["req", "echo", "hi\u001b[2J"]);
  assert.match(req.text, /^hi\\x1b\[2J\n1 reply to 1 request: min [\d.]+ ms/);
  const pub = await inTerminal(t, s, ["pub", "a.1", "x", "--count", "2"]);
  assert.equal(pub.text, "published 2 messages of 1 B to a.1\n");
});

scenario("hostile names and values cannot harm the terminal", async (t) => {
  const { s, nc } = await ready(t);
  const api = async (subject, body) => (await nc.request(`$JS.API.${subject}`, JSON.stringify(body))).json();
  const evil = "\u202e\u009b31m"; // turns the direction of writing; a control character above ASCII
  await api(`STREAM.CREATE.S${evil}`, { name: `S${evil}`, subjects: [`s${evil}.>`], description: "d\u001b[2J", metadata: { "k\u0007": "v\u001b]0;t\u0007" } });
  await api("STREAM.CREATE.KV_b", { name: "KV_b", subjects: ["$KV.b.>"], max_msgs_per_subject: 5, allow_direct: true });
  const h = headers();
  h.append("X", "h\u001b[31m");
  await nc.request(`s${evil}.x`, "p\u001b[31m", { headers: h });
  await nc.request(`$KV.b.k${evil}`, "v\u001b[31m");
  for (const args of [["stream", "ls"], ["stream", "ls", "--names"], ["stream", "info", `S${evil}`], ["stream", "get", `S${evil}`, "1"], ["kv", "keys", "b"], ["kv", "ls", "b"], ["kv", "watch", "b", "--count", "1"],
    ["stream", "purge", `S${evil}`, "--force"], ["stream", "edit", `S${evil}`, "--max-age", "1h"], ["pub", `s${evil}.x`, "x"], ["stream", "info", `T${evil}`], ["kv", "get", "b", `k${evil}`], ["stream", "create", `N${evil}`, "--dry-run"], ["stream", "ls", "--json"], ["kv", "watch", "b", "--count", "1", "--json"], ["stream", "get", `S${evil}`, "1", "--json"]]) {
    const r = await inTerminal(t, s, [...args, "--no-color"]);
    if (args[1] === "ls" || args[1] === "info") assert.match(r.text, /\\u202e/i, args.join(" ")); // shown, but harmless
    // eslint-disable-next-line no-control-regex
    assert.ok(!/[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u202e]/.test(r.raw), `${args.join(" ")}: ${JSON.stringify(r.raw)}`);
  }
});

scenario("object get in a terminal: a progress bar's line is cleared, the file has the object's name", async (t) => {
  const { s, run } = await ready(t);
  await run("object", "create", "files");
  fs.writeFileSync(s.file("x"), Buffer.alloc(2_000_000, "x"));
  const put = await inTerminal(t, s, ["object", "put", "files", s.file("x"), "--name", "dir/y"]);
  assert.match(put.text, /files\/dir\/y {2}1\.9 MB in 16 chunks/);
  assert.match(put.raw, /\rstoring {2}[^\n]* %[^\n]*\r\x1b\[Kfiles\/dir\/y/); // eslint-disable-line no-control-regex
  const get = await inTerminal(t, s, ["object", "get", "files", "dir/y", s.file("z")]);
  assert.match(get.text, /z {2}1\.9 MB, digest is right/);
  assert.equal(fs.statSync(s.file("z")).size, 2_000_000);
  assert.match((await inTerminal(t, s, ["object", "get", "files", "dir/.."])).text, /is no name of a file: give FILE/);
});
