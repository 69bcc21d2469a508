// ttl_tool_terminal.mjs: `mayfly ttl ...` and `mayfly demo` in a real terminal: bars, time line, live screens, narrow windows.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, inTerminal } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };

async function drafts(t) {
  const s = await t.server({ config: 'jetstream { store_dir: "DIR/js" }\n' });
  const nc = await t.connect(s);
  const config = { name: "KV_drafts", subjects: ["$KV.drafts.>"], max_msgs_per_subject: 1, allow_msg_ttl: true, subject_delete_marker_ttl: 60e9, metadata: { "mayfly.ttl.default": "24h" } };
  await nc.request("$JS.API.STREAM.CREATE.KV_drafts", JSON.stringify(config));
  const put = async (key, ttl) => {
    const h = headers();
    if (ttl) h.set("Nats-TTL", ttl);
    const { error } = (await nc.request(`$KV.drafts.${key}`, "hello", { headers: h })).json();
    assert.equal(error, undefined);
  };
  const names = async () => (await nc.request("$JS.API.STREAM.NAMES")).json().streams;
  return { s, nc, put, names };
}
const columns = (line) => [...line].length; // of our texts each character is one column wide

scenario("a terminal: bars, colours, and a time line", only, async (t) => {
  const { s, put } = await drafts(t);
  await put("a.key");
  await put("b", "30m");
  const stats = await inTerminal(t, s, ["ttl", "stats", "drafts"]);
  assert.equal(stats.code, 0);
  assert.match(stats.text, /^ {2}with TTL {2}2 {2}█{40} {2}100\.0 %$/m);
  assert.ok(stats.raw.includes("\x1b[1m"), "bold");
  const list = await inTerminal(t, s, ["ttl", "ls", "drafts", "--within", "1h"], { columns: 120 });
  assert.match(list.text, /^b +2 .* ago {2}(█████|████[▉▊]) +(29m\d+s|30m) /m);
  const show = await inTerminal(t, s, ["ttl", "show", "drafts", "a.key"]);
  assert.match(show.text, /^ {2}\d\d:\d\d written ●─+ \d\d:\d\d warning ─+ \d\d:\d\d expires \(in (23h59m|1d)\)$/m);
  const forecast = await inTerminal(t, s, ["ttl", "forecast", "drafts", "--buckets", "2"]);
  assert.match(forecast.text, /^ {2}now +█{40} +1 .*\n {2}\+12h +█{40} +1 /m);
  const json = await inTerminal(t, s, ["ttl", "stats", "drafts", "--json"]);
  assert.equal(JSON.parse(json.text).items_with_ttl, 2);
});

scenario("a window of 40 columns: tables fit", only, async (t) => {
  const { s, put } = await drafts(t);
  await put("a.key.with.a.name.that.is.longer.than.any.window", "30m");
  const narrow = { columns: 40, rows: 20 };
  for (const args of [["ls", "drafts"], ["forecast", "drafts", "--buckets", "3"]]) {
    const r = await inTerminal(t, s, ["ttl", ...args], narrow);
    assert.equal(r.code, 0, r.text);
    for (const line of r.lines) assert.ok(columns(line) <= 40, `${args}: ${columns(line)} columns: ${line}`);
  }
  const list = await inTerminal(t, s, ["ttl", "ls", "drafts"], narrow);
  assert.match(list.text, /^a\.key.*… +1 +(29m\d+s|30m)$/m);
  const stats = await inTerminal(t, s, ["ttl", "stats", "drafts"], narrow);
  assert.match(stats.text, /^ {2}with TTL {2}1 {2}█{12} {2}100\.0 %$/m);
  assert.match(stats.text, /^ {2}next day 1 {2}125 B$/m);
  const show = await inTerminal(t, s, ["ttl", "show", "drafts", "a.key.with.a.name.that.is.longer.than.any.window"], narrow);
  assert.match(show.text, /^ {2}20.*Z {2}written\n {2}20.*Z {2}now\n {2}20.*Z {2}expires/m);
});

scenario("ttl top: redrawn, q leaves, the screen comes back", only, async (t) => {
  const { s, put } = await drafts(t);
  await put("a", "30m");
  const top = new Terminal(t, s, ["ttl", "top"]);
  await top.shows(/KV_drafts +0\/s .* 1 +1 +0\n/);
  await put("b", "1s");
  await top.shows(/KV_drafts +[01]\.\d\/s/);
  top.type("q");
  assert.equal(await top.end(), 0);
  assert.ok(top.raw.includes("\x1b[?1049h") && top.raw.trimEnd().endsWith("\x1b[?1049l"), "the screen of before");
});

scenario("ttl top and watch: Ctrl-C leaves, in a narrow window too", only, async (t) => {
  const { s, put } = await drafts(t);
  const top = new Terminal(t, s, ["ttl", "top"], { columns: 40, rows: 6 });
  await top.shows(/STREAM +EXPIRED +LATE +DUE/);
  top.type("\x03");
  assert.equal(await top.end(), 0);
  assert.ok(top.raw.includes("\x1b[?1049l"));
  const watch = new Terminal(t, s, ["ttl", "watch", "drafts"], { columns: 40 });
  await watch.shows(/Ctrl-C ends/);
  await put("soon", "1s");
  await watch.shows(/EXPIRED +1 .*soon/s);
  watch.type("\x03");
  assert.equal(await watch.end(), 0);
});

scenario("ttl top: a server that stops is said on the screen of before", only, async (t) => {
  const { s } = await drafts(t);
  const top = new Terminal(t, s, ["ttl", "top", "--timeout", "10s"]);
  await top.shows(/STREAM/);
  await s.stop();
  assert.equal(await top.end(), 2);
  assert.match(top.raw.slice(top.raw.indexOf("\x1b[?1049l")), /does not answer any more/);
});

scenario("demo: Ctrl-C removes the bucket", only, async (t) => {
  const { s, names } = await drafts(t);
  const demo = new Terminal(t, s, ["demo"]);
  await demo.shows(/put +draft\.dave/);
  assert.equal((await names()).length, 2);
  demo.type("\x03");
  await demo.end();
  assert.match(demo.screen(), /The bucket demo_\w+ is removed\./);
  await until("only drafts to stay", async () => (await names()).length === 1);
});
