// ttl_tool_screen.mjs: what `mayfly ttl` does to terminals: narrow and changing windows, no colours, no UTF-8, hostile names, none at all.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, expect, inTerminal, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };

// Keys of others: moves of the cursor, a bell, a title, 8-bit control characters, the other direction of writing, wide, combined, long.
const EVIL = ["\x1b[2J\x1b[1;1Hred", "bell\x07", "\x1b]0;title\x07", "c1\u009b2J", "rtl\u202egnp", "line\u2028end", "zero\u200bwidth", "日本語の鍵", "e\u0301te\u0301", "😀.😀", `long.${"k".repeat(400)}`, "\x7fdel"];

async function start(t, keys = ["a.key", "b"]) {
  const s = await t.server({ config: 'jetstream { store_dir: "DIR/js" }\n' });
  const nc = await t.connect(s);
  const config = { name: "KV_drafts", subjects: ["$KV.drafts.>"], max_msgs_per_subject: 1, allow_msg_ttl: true, subject_delete_marker_ttl: 60e9, metadata: { "mayfly.ttl.default": "24h", "mayfly.ttl.max": "48h" } };
  await nc.request("$JS.API.STREAM.CREATE.KV_drafts", JSON.stringify(config));
  const put = async (key, ttl) => {
    const h = headers();
    if (ttl) h.set("Nats-TTL", ttl);
    const { error } = (await nc.request(`$KV.drafts.${key}`, "hello", { headers: h })).json();
    assert.equal(error, undefined, key);
  };
  for (const key of keys) await put(key);
  return { s, nc, put };
}
const as = (s, vars) => ({ url: s.url, vars });

// The tool's own sequences: styles, the screen of its own, the cursor, wrapping, clearing.
const OWN = /\x1b\[(?:[0-9;]*m|[HJK]|\?(?:1049|25|7)[hl])/g;
function checkHarmless(raw, what) {
  const rest = raw.replace(OWN, "");
  const bad = rest.match(/[\x00-\x09\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f]/);
  assert.equal(bad, null, `${what}: ${JSON.stringify(rest.slice(Math.max(0, (bad?.index ?? 0) - 40), (bad?.index ?? 0) + 40))}`);
}
// Columns: Chinese, Japanese and most pictures take two, combining marks none.
const columns = (line) => [...line].reduce((n, c) => n + (/\p{M}/u.test(c) ? 0 : /[\u3000-\u9fff\uac00-\ud7af\uff00-\uff60\u{1f300}-\u{1faff}]/u.test(c) ? 2 : 1), 0);

const TABLES = [["ls", "drafts"], ["ls"], ["ls", "drafts", "--state", "never"], ["stats", "drafts", "--depth", "1"], ["forecast", "drafts", "--buckets", "3"], ["policy"]];
const TEXTS = [["stats"], ["show", "drafts", "b"], ["policy", "drafts"], ["policy", "drafts", "--test", "b", "--ttl", "never"], ["backfill", "drafts", "--dry-run"], ["touch", "drafts", ">"], ["doctor"]];

scenario("names of others do not break tables and terminals: wide, narrow, live, as JSON", only, async (t) => {
  const { s, put } = await start(t, ["b", ...EVIL]);
  const watch = new Terminal(t, s, ["ttl", "watch", "drafts", "--warnings"]);
  await watch.shows(/Ctrl-C ends/);
  for (const key of EVIL) await put(`gone.${key}`, "1s");
  for (const args of TABLES)
    for (const width of [40, 100]) {
      const r = await inTerminal(t, s, ["ttl", ...args], { columns: width });
      assert.equal(r.code, 0, r.text);
      checkHarmless(r.raw, args);
      const table = r.lines.filter((l) => !/governed by|decided by|^ {2}heading|edges/.test(l));
      for (const line of table) assert.ok(columns(line) <= width, `${args} in ${width}: ${columns(line)} columns: ${line}`);
    }
  for (const key of EVIL) {
    const r = await inTerminal(t, s, ["ttl", "show", "drafts", key]);
    if (/[\x00-\x20\x7f]/.test(key)) assert.match(r.text, /^mayfly: .* is no key/, "bad input");
    else assert.match(r.text, /TTL 24h0m0s by default/);
    checkHarmless(r.raw, key);
  }
  const doc = await inTerminal(t, s, ["ttl", "ls", "drafts", "--json"]);
  checkHarmless(doc.raw.replaceAll("\x7f", ""), "--json");
  assert.ok(JSON.parse(doc.text).items.some((i) => i.subject === "$KV.drafts.c1\u009b2J"), "the names are whole");
  await watch.shows(/EXPIRED[^]*gone/);
  watch.type("\x03");
  assert.equal(await watch.end(), 0);
  checkHarmless(watch.raw.replaceAll("^C", ""), "watch");
});

scenario("streams with names that could harm a terminal", only, async (t) => {
  const { s, nc } = await start(t);
  const made = [];
  for (const [i, name] of ["EV\u009b2JIL", "RTL\u202eX", "日本語", "N".repeat(200), "\x1b[2J"].entries()) {
    const { error } = (await nc.request("$JS.API.STREAM.CREATE." + name, JSON.stringify({ name, subjects: [`s${i}.>`], metadata: { "mayfly.ttl.default": "1h" } }))).json();
    if (!error) made.push(name);
    await nc.request(`s${i}.a`, "x", { timeout: 1000 }).catch(() => {});
  }
  assert.ok(made.length >= 3, made.join(" "));
  for (const args of [["top", "--count", "1"], ["ls"], ["policy"], ["doctor"], ...made.map((name) => ["stats", name]), ...made.map((name) => ["policy", name]), ...made.map((name) => ["forecast", name])])
    for (const width of args.length > 1 && args[0] !== "top" ? [100] : [40, 100]) {
      const r = await inTerminal(t, s, ["ttl", ...args], { columns: width });
      assert.ok(r.code === 0 || (r.code === 2 && /is no name/.test(r.text)), `${args}: ${r.text}`);
      checkHarmless(r.raw, args);
    }
});

scenario("a window of 40 columns: bars and columns give way, no table is wider", only, async (t) => {
  const { s, put } = await start(t, ["b", "a.key.with.a.name.that.is.longer.than.any.window"]);
  await put("soon", "30m");
  for (const args of [...TABLES, ["top", "--count", "1"]]) {
    const r = await inTerminal(t, s, ["ttl", ...args], { columns: 40, rows: 20 });
    assert.equal(r.code, 0, r.text);
    for (const line of r.lines.filter((l) => !/governed by|decided by/.test(l))) assert.ok(columns(line) <= 40, `${args}: ${columns(line)} columns: ${line}`);
  }
  const doctor = await inTerminal(t, s, ["ttl", "doctor"], { columns: 40 });
  assert.match(doctor.text, /^nothing found in 1 stream$/m);
  for (const args of TEXTS) assert.ok([0, 1].includes((await inTerminal(t, s, ["ttl", ...args], { columns: 20, rows: 4 })).code), args.join(" "));
});

scenario("ttl doctor in a narrow window: findings one below the other, no advice is cut", only, async (t) => {
  const { s, nc } = await start(t);
  await nc.request("$JS.API.STREAM.CREATE.FLAGS", JSON.stringify({ name: "FLAGS", subjects: ["flags.>"], max_msgs_per_subject: 5, allow_msg_ttl: true }));
  const narrow = await inTerminal(t, s, ["ttl", "doctor"], { columns: 60 });
  assert.equal(narrow.code, 1);
  assert.match(narrow.text, /^WARN {2}FLAGS\n {2}history 5, scope message: an older value may come back\n {2}mayfly ttl policy FLAGS --set scope=subject\n/m);
  assert.match((await inTerminal(t, s, ["ttl", "doctor"], { columns: 140 })).text, /^WARN {2}FLAGS {2}history 5, .* back {2}mayfly ttl policy FLAGS --set scope=subject$/m);
});

scenario("NO_COLOR, --no-color and a dumb terminal: no colours, but bars", only, async (t) => {
  const { s } = await start(t);
  for (const [vars, flags] of [[{ NO_COLOR: "1" }, []], [{}, ["--no-color"]], [{ TERM: "dumb" }, []]])
    for (const args of [["stats", "drafts"], ["ls", "drafts"], ["forecast", "drafts"], ["show", "drafts", "b"]]) {
      const r = await inTerminal(t, as(s, vars), ["ttl", ...args, ...flags]);
      assert.equal(r.code, 0, r.text);
      assert.ok(!r.raw.includes("\x1b"), `${JSON.stringify(vars)} ${args}: ${JSON.stringify(r.raw)}`);
      assert.match(r.raw, /[█●]/);
    }
  for (const args of [["ttl", "top"], ["ttl", "backfill", "drafts"]]) {
    const r = await inTerminal(t, as(s, { TERM: "dumb" }), args); // one table, no live screen
    assert.deepEqual([r.code, r.raw.includes("\x1b")], [0, false], r.text);
  }
  assert.ok((await inTerminal(t, s, ["ttl", "stats", "drafts"])).raw.includes("\x1b[1m"), "with colours otherwise");
});

scenario("LC_ALL=C: bars, lines and names of others in plain ASCII", only, async (t) => {
  const { s } = await start(t, ["b", ...EVIL.filter((k) => !k.startsWith("long"))]);
  const c = as(s, { LC_ALL: "C" });
  for (const args of [...TABLES, ["show", "drafts", "b"], ["show", "drafts", "日本語の鍵"], ["ls", "drafts", "--json"]]) {
    const r = await inTerminal(t, c, ["ttl", ...args]);
    assert.equal(r.code, 0, r.text);
    // eslint-disable-next-line no-control-regex
    assert.match(r.raw, /^[\x00-\x7f]*$/, args.join(" "));
  }
  assert.match((await inTerminal(t, c, ["ttl", "stats", "drafts"])).text, /^ {2}with TTL +\d+ +#{40} +100\.0 %$/m);
  assert.match((await inTerminal(t, c, ["ttl", "show", "drafts", "b"])).text, /written \*-+ /);
  assert.match((await inTerminal(t, c, ["ttl", "ls", "drafts"])).text, /^\\u65e5\\u672c/m);
  const { stdout } = await mayfly(c, "ttl", "ls", "drafts"); // a pipe: the bytes stay
  assert.match(stdout, /^日本語の鍵 /m);
});

scenario("no terminal: no colours, bars, lines and moves of the cursor in any command", only, async (t) => {
  const { s } = await start(t);
  for (const args of [...TABLES, ...TEXTS, ["top"], ["ls", "drafts", "--json"], ["set", "drafts", "b", "1h"], ["persist", "drafts", "b"]]) {
    const r = await mayfly(as(s, { TERM: "xterm" }), "ttl", ...args);
    assert.ok(r.code === 0 || (r.code === 1 && args.includes("never")), `${args}: ${r.stderr}`);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(r.stdout + r.stderr, /[\x1b\r█▏●─]/, args.join(" "));
  }
  const watch = live(t, s, "ttl", "watch", "drafts");
  await until("it listens", async () => {
    await expect(0, s, "ttl", "policy", "drafts", "--set", `default=${1 + (watch.tries = (watch.tries ?? 0) + 1)}h`);
    return watch.lines.length > 0;
  });
  await watch.end();
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(watch.lines.join("\n"), /\x1b/);
});

scenario("ttl top: the window changes while it is live", only, async (t) => {
  const { s } = await start(t);
  const top = new Terminal(t, s, ["ttl", "top"], { before: "tty" });
  const tty = (await top.shows(/\/dev\/pts\/\d+/))[0];
  await top.shows(/STREAM +EXPIRED +LATE P99 +OVERDUE/);
  execFileSync("stty", ["-F", tty, "cols", "40", "rows", "8"]);
  await top.shows(/STREAM +EXPIRED +LATE +DUE/);
  const from = top.raw.length;
  await until("one more frame", () => top.raw.slice(from).split("\x1b[H").length > 2);
  const frame = top.raw.slice(from).split("\x1b[H")[1].replace(OWN, "").replaceAll("\r", "");
  for (const line of frame.split("\n")) assert.ok(columns(line) <= 40, line);
  execFileSync("stty", ["-F", tty, "cols", "90", "rows", "20"]);
  const wide = top.screen().length;
  await until("wide again", () => /LATE P99 +OVERDUE/.test(top.screen().slice(wide)));
  top.type("q");
  assert.equal(await top.end(), 0);
});

scenario("ttl backfill: progress in a terminal; Ctrl-C leaves, and the job goes on", only, async (t) => {
  const { s, nc } = await start(t);
  await nc.request("$JS.API.STREAM.CREATE.EVENTS", JSON.stringify({ name: "EVENTS", subjects: ["ev.>"] }));
  for (let i = 0; i < 2000; i++) nc.publish(`ev.${i}`);
  await nc.flush();
  await expect(0, s, "ttl", "policy", "EVENTS", "--set", "default=30d");
  const job = new Terminal(t, s, ["ttl", "backfill", "EVENTS", "--rate", "1"], { columns: 60 });
  await job.shows(/ {2}\d+ % /);
  job.type("\x03");
  assert.equal(await job.end(), 0);
  assert.match(job.screen(), /running: which without, from now\n[^]*it goes on: mayfly ttl backfill EVENTS status\n$/);
  assert.match(await expect(0, s, "ttl", "backfill", "EVENTS", "stop"), /^stopped: /);
});

// The last of a process's children, their children, and so on.
const youngest = (pid) => {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return children.length ? youngest(children.at(-1)) : Number(pid);
};
const ways = {
  "Ctrl-C": (top) => top.type("\x03"),
  q: (top) => top.type("q"),
  SIGTERM: (top) => process.kill(youngest(top.proc.pid), "SIGTERM"),
  "Ctrl-Z, which does nothing, and q": (top) => top.type("\x1aq"),
};
for (const [how, act] of Object.entries(ways))
  scenario(`ttl top: ${how}: screen, cursor and echo are given back`, only, async (t) => {
    const { s } = await start(t);
    const top = new Terminal(t, s, ["ttl", "top"], { before: "trap : INT", after: "echo code $?; stty -a; echo at the end" });
    await top.shows(/STREAM +EXPIRED/);
    assert.ok(top.raw.includes("\x1b[?1049h\x1b[?25l"));
    act(top);
    await top.shows(/at the end/);
    await top.end();
    assert.ok(top.raw.lastIndexOf("\x1b[?25h\x1b[?1049l") > top.raw.lastIndexOf("\x1b[?25l"), "cursor and screen");
    const after = top.screen().split("code ")[1];
    assert.match(after, /^0\n/);
    assert.match(after, /[ \n]icanon [^]*[ \n]echo /);
  });
