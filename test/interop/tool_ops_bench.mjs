// tool_ops_bench.mjs: `mayfly bench`: the numbers are possible ones, and no stream stays, also after Ctrl-C.
import assert from "node:assert/strict";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, expect, json, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };

async function ready(t) {
  const s = await t.server({ config: 'jetstream { store_dir: "DIR/js" }\n', monitor: true });
  const nc = await t.connect(s);
  const names = async () => (await nc.request("$JS.API.STREAM.NAMES")).json().streams ?? [];
  return { s, nc, names };
}
// A row of results: everything was done, and times and rates agree with each other.
function plausible(r, name, done) {
  assert.equal(r.name, name);
  assert.deepEqual([r.done, r.errors], [done, 0]);
  assert.ok(r.seconds > 0 && Math.abs(r.per_second * r.seconds - done) < done * 0.01 + 1e-3, JSON.stringify(r));
  const l = r.latency_ns;
  if (l === undefined) return;
  assert.ok(l.p50 > 0 && l.p50 <= l.p99 && l.p99 <= l.worst && l.worst <= r.seconds * 1e9, JSON.stringify(l));
  assert.equal(l.histogram.reduce((sum, b) => sum + b.count, 0), done);
}

scenario("bench pub: core, JetStream, one by one; several clients", only, async (t) => {
  const { s, names } = await ready(t);
  const core = await json(s, "bench", "pub", "--msgs", "3000", "--size", "100", "--clients", "3");
  assert.equal(core.bench, "pub");
  plausible(core.results[0], "sent", 3000);
  assert.equal(core.results[0].latency_ns, undefined);
  assert.equal(Math.round(core.results[0].bytes_per_second / core.results[0].per_second), 100);
  assert.equal((await s.varz()).in_msgs >= 3000, true);
  const js = await json(s, "bench", "pub", "--jetstream", "--msgs", "2000", "--clients", "2", "--window", "50", "--subjects", "7");
  plausible(js.results[0], "publishes", 2000);
  plausible((await json(s, "bench", "pub", "--sync", "--msgs", "100")).results[0], "publishes", 100);
  assert.deepEqual(await names(), []);
});

scenario("bench kv: puts and gets, with a TTL too", only, async (t) => {
  const { s, names } = await ready(t);
  const { results: [puts, gets] } = await json(s, "bench", "kv", "--puts", "1000", "--gets", "500", "--keys", "100", "--ttl", "1h");
  plausible(puts, "puts", 1000);
  plausible(gets, "gets", 500);
  assert.equal((await json(s, "bench", "kv", "--puts", "10", "--gets", "0")).results.length, 1);
  assert.deepEqual(await names(), []);
});

scenario("bench expiry: each key expires at its deadline or after it, and a watcher hears of it", only, async (t) => {
  const { s, names } = await ready(t);
  const r = await json(s, "bench", "expiry", "--keys", "300", "--ttl", "1s", "--spread", "100ms");
  assert.deepEqual([r.bench, r.keys, r.done, r.early], ["expiry", 300, 300, 0]);
  assert.ok(r.latency_ns.worst >= r.latency_ns.p99 && r.latency_ns.p99 >= r.latency_ns.p50 && r.latency_ns.p50 >= 0);
  assert.equal(r.latency_ns.histogram.reduce((sum, b) => sum + b.count, 0), 300);
  assert.deepEqual(await names(), []);
});

scenario("bench expiry: keys that outlive the run are exit code 1", only, async (t) => {
  const { s, names } = await ready(t);
  const r = await mayfly(s, "bench", "expiry", "--keys", "10", "--ttl", "30m", "--spread", "0s", "--max-time", "100ms");
  assert.equal(r.code, 1, r.stderr);
  assert.match(r.stdout, /^ +10 +0 /m);
  assert.match(r.stderr, /only 0 of 10 keys expired before the end of the run/);
  assert.deepEqual(await names(), []);
});

scenario("bench: tables for people, bars in a terminal", only, async (t) => {
  const { s } = await ready(t);
  const text = await expect(0, s, "bench", "pub", "-J", "--msgs", "500");
  assert.match(text, /^500 messages of 128 B by 1 client\(s\), JetStream, with a window\n\n +MESSAGES +TIME +RATE +BYTES +P50 +P99 +WORST +ERRORS\npublishes +500 [^]*\nTime to the answer, publishes:\n *up to \S+ +[\d,]+\n/);
  assert.doesNotMatch(text, /[█▏▎▍▌▋▊▉]/, "no bars without a terminal");
  const term = new Terminal(t, s, ["bench", "kv", "--puts", "200", "--gets", "200"], { columns: 70 });
  assert.equal(await term.end(), 0);
  assert.match(term.screen(), /Time to the answer, gets:\n *up to [\d.]+[mu]?s +█/);
  for (const line of term.lines()) assert.ok([...line].length <= 70, line);
});

scenario("bench: Ctrl-C ends each of them and removes what it made", only, async (t) => {
  const { s, names } = await ready(t);
  for (const args of [["pub", "--sync", "--msgs", "10000000"], ["kv", "--window", "1", "--puts", "10000000"], ["expiry", "--ttl", "30m"]]) {
    const p = live(t, s, "bench", ...args);
    const [name] = await until("its stream", async () => (await names()).length > 0 && names());
    assert.match(name, /^(KV_)?bench_\w+$/);
    p.proc.kill("SIGINT");
    const { code } = await p.exited;
    assert.ok(code === 0 || code === 1, `${args}: ${code} ${p.stderr}`);
    assert.deepEqual(await names(), [], `after ${args}`);
  }
});

scenario("bench: bad input changes nothing", only, async (t) => {
  const { s, names } = await ready(t);
  for (const [args, pattern] of [
    [["pub", "--msgs", "0"], /--msgs is a number from 1 to 10000000/],
    [["pub", "--clients", "65"], /--clients is a number from 1 to 64/],
    [["pub", "--size", "2MB"], /--size is above the server's max_payload of 1048576/],
    [["kv", "--ttl", "1500ms"], /--ttl: a TTL is a number of whole seconds/],
    [["kv", "--size", "2MB"], /--size is above the server's max_payload of 1048576/],
    [["expiry", "--ttl", "500ms"], /--ttl is a number of whole seconds, 1s to 30m/],
    [["expiry", "extra"], /unexpected extra/],
  ])
    assert.match(await expect(2, s, "bench", ...args), pattern);
  assert.deepEqual(await names(), []);
  const plain = await t.server();
  assert.match(await expect(2, plain, "bench", "pub", "-J", "--msgs", "10"), /no JetStream there/);
  await expect(0, plain, "bench", "pub", "--msgs", "10"); // core NATS needs none
});
