// tool_demo.mjs: `mayfly demo`: twice, side by side, interrupted, with users, without a terminal, in narrow windows.
import assert from "node:assert/strict";
import { other } from "./lib/backup.mjs";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, expect, inTerminal, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };
const JS = 'jetstream { store_dir: "DIR/js" }\n';
const ENDS = ["cart.carol", "session.alice", "session.bob"];

async function start(t, more = "", options = {}) {
  const s = await t.server({ config: JS + more });
  const nc = await t.connect(s, options);
  return { s, nc, names: async () => (await nc.request("$JS.API.STREAM.NAMES")).json().streams ?? [] };
}
const ended = (text) => [...text.matchAll(/^ +[\d:]+ +expired +(\S+) +delete marker, reason MaxAge, \d+\.\d ms after the deadline$/gm)].map((m) => m[1]).sort();

scenario("demo: on a fresh server three side by side, and once more, leave nothing behind", only, async (t) => {
  const { s, names } = await start(t);
  const dumb = inTerminal(t, { url: s.url, vars: { TERM: "dumb" } }, ["demo", "--fast"], { columns: 110 });
  const runs = await Promise.all([1, 2, 3].map(() => expect(0, s, "demo", "--fast")));
  assert.deepEqual(ended((await dumb).text), ENDS);
  assert.ok(!(await dumb).raw.includes("\x1b"), "a terminal that moves no cursor");
  runs.push(await expect(0, s, "demo", "--fast"));
  for (const text of runs) {
    assert.deepEqual(ended(text), ENDS, text);
    assert.match(text, /^ {4}session\.alice now expires 20/m);
    assert.match(text, /mayfly ttl forecast demo_\w+ --within 15m --buckets 3\n {4}within 5m +\d/);
    assert.ok(!text.includes("\x1b") && !text.includes("\r") && !text.includes("█"), "no terminal");
  }
  assert.equal(new Set(runs.map((text) => text.match(/demo_\w+/)[0])).size, 4, "buckets of their own");
  assert.deepEqual(await names(), []);
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  scenario(`demo: ${signal} removes the bucket`, only, async (t) => {
    const { s, names } = await start(t);
    const demo = live(t, s, "demo");
    await until("the keys", () => demo.lines.some((l) => / put +draft\.dave/.test(l)));
    assert.equal((await names()).length, 1);
    await demo.end(signal);
    assert.deepEqual(await names(), [], demo.stderr);
  });

scenario("demo: output that nobody reads any more does not keep the bucket", only, async (t) => {
  const { s, names } = await start(t);
  const demo = live(t, s, "demo", "--fast");
  await until("the bucket", () => demo.lines.length > 0);
  demo.proc.stdout.destroy();
  await until("the end", () => demo.gone);
  assert.deepEqual(await names(), []);
});

scenario("demo: in a terminal the lives run out in a line of their own, in 40 columns too", only, async (t) => {
  const { s, names } = await start(t);
  const [wide, narrow] = [110, 40].map((columns) => new Terminal(t, s, ["demo", "--fast"], { columns }));
  for (const term of [wide, narrow]) {
    assert.equal(await term.end(), 0);
    assert.deepEqual(term.raw.match(/\x1b\[\?/g), null, "no screen of its own, the cursor stays");
    assert.match(term.screen(), /The bucket demo_\w+ is removed\.\nYour turn/);
  }
  assert.deepEqual(ended(wide.raw.replace(/\x1b\[[0-9;]*m/g, "").replace(/^.*\x1b\[K/gm, "").replaceAll("\r", "")), ENDS, wide.screen());
  assert.ok(/\r {4}alice \x1b\[32m█.*bob.*carol.*dave/.test(wide.raw), "bars");
  assert.ok(/bob \x1b\[31mgone/.test(wide.raw), "a dead key");
  fits40(narrow.raw);
  assert.deepEqual(await names(), []);
});

// Without the commands to type and the texts of the server.
function fits40(raw) {
  for (const part of raw.split(/\r\n|\r|\n/)) {
    const text = part.replace(/\x1b\[[0-9;]*[mK]/g, "");
    if (/^(?!.*(mayfly |delete marker|session\.alice now))/.test(text)) assert.ok([...text].length <= 40, `${[...text].length} columns: ${text}`);
  }
}

scenario("demo: a server that stood still for seconds: the line of a late end fits into 40 columns", only, async (t) => {
  const { s, names } = await start(t);
  const demo = new Terminal(t, s, ["demo", "--fast"], { columns: 40 });
  await demo.shows(/put +draft\.dave/);
  s.signal("SIGSTOP");
  const from = Date.now();
  await until("some seconds after the ends", () => Date.now() - from > 7000);
  s.signal("SIGCONT");
  assert.equal(await demo.end(), 0);
  assert.match(demo.screen(), /expired +\S+ +\d+\.\d s late/);
  fits40(demo.raw);
  assert.deepEqual(await names(), []);
});

scenario("demo: Ctrl-C in a terminal leaves cursor, echo and no bucket", only, async (t) => {
  const { s, names } = await start(t);
  const demo = new Terminal(t, s, ["demo"], { before: "trap : INT", after: "stty -a; echo at the end" });
  await demo.shows(/put +draft\.dave/);
  demo.type("\x03");
  await demo.shows(/at the end/);
  await demo.end();
  assert.match(demo.screen(), /The bucket demo_\w+ is removed\.[^]* icanon [^]* echo /);
  assert.deepEqual(await names(), []);
});

scenario("demo: users without the right to create, to ask the TTL API, or without JetStream", only, async (t) => {
  const users = `accounts { A { jetstream: enabled, users: [ { user: all, password: p },
      { user: reader, password: p, permissions: { publish: { allow: ["$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$MAYFLY.TTL.POLICY"] }, subscribe: "_INBOX.>" } },
      { user: plain, password: p, permissions: { publish: { deny: ["$MAYFLY.>"] } } } ] },
    B { users: [ { user: none, password: p } ] } }\n`;
  const { s, names } = await start(t, users, { user: "all", pass: "p" });
  const as = (user) => ["demo", "--fast", "--user", user, "--password", "p"];
  const [all, reader, plain, none, wrong] = await Promise.all([mayfly(s, ...as("all")), mayfly(s, ...as("reader")), mayfly(s, ...as("plain")), mayfly(s, ...as("none")), mayfly(s, ...as("nobody"))]);
  assert.deepEqual([all.code, ended(all.stdout)], [0, ENDS], all.stderr);
  assert.equal(reader.code, 5, reader.stdout);
  assert.match(reader.stderr, /^mayfly: not permitted: publish to "\$JS\.API\.STREAM\.CREATE\.KV_demo_\w+"/);
  assert.deepEqual([plain.code, ended(plain.stdout)], [0, ENDS], plain.stderr);
  assert.match(plain.stdout, /This user may not ask the TTL API \(publish to \$MAYFLY\.TTL\.>\): warnings, touch, .* are left out\./);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /^mayfly: JetStream is off on nats:.*, or for this account/);
  assert.equal(wrong.code, 5);
  assert.deepEqual(await names(), []);
});

scenario("demo: the commands that it names exist, with these flags", only, async (t) => {
  const { s } = await start(t);
  const commands = (await expect(0, s, "demo", "--fast")).match(/^ {2}\$ mayfly .*$/gm).map((l) => l.replace("  $ mayfly ", ""));
  assert.ok(commands.length >= 7, commands.join("\n"));
  for (const command of commands) {
    const [one, two, ...rest] = command.split(" ");
    const help = await expect(0, s, one, two, "--help");
    for (const flag of rest.filter((w) => w.startsWith("--"))) assert.ok(help.includes(`${flag} `), `${command}: ${flag}`);
  }
});

scenario("demo: without a server, and with bad flags, it says so", only, async (t) => {
  const { s } = await start(t);
  assert.match(await expect(2, s, "demo", "--slow"), /unknown flag --slow/);
  await s.stop();
  assert.match(await expect(2, s, "demo", "--fast"), /^mayfly: /);
});

if (other)
  scenario("demo: on nats-server it works with what there is", only, async (t) => {
    const s = await t.server({ config: JS, program: other });
    const nc = await t.connect(s);
    const [one, two] = await Promise.all([expect(0, s, "demo", "--fast"), expect(0, s, "demo", "--fast", "--json")]);
    assert.match(one, /is no Mayfly: TTLs and delete markers work there/);
    assert.match(one, /^ +[\d:]+ +expired +session\.bob +delete marker, reason MaxAge/m);
    const docs = two.trim().split("\n").map((l) => JSON.parse(l));
    assert.deepEqual(docs.filter((d) => d.event === "expired").map((d) => d.key).sort(), ENDS);
    assert.equal((await nc.request("$JS.API.STREAM.NAMES")).json().streams ?? null, null);
    const off = await t.server({ program: other });
    assert.match(await expect(2, off, "demo", "--fast"), /JetStream is off on nats:/);
  });
