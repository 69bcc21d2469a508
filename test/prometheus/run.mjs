// run.mjs: the alerts of conf/prometheus fire when they should and not before (promtool test rules),
// and the dashboard of conf/grafana asks for metrics that exist.  PROMTOOL names promtool.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const top = path.resolve(here, "../..");
const rules = path.join(top, "conf/prometheus/mayfly-ttl.rules.yml");
const dashboard = path.join(top, "conf/grafana/mayfly-ttl.json");
const promtool = process.env.PROMTOOL ?? "promtool";
const scratch = mkdtempSync(path.join(tmpdir(), "mayfly-rules-"));
const tests = [];
const test = (name, fn) => tests.push({ name, fn });

// --- alerts --------------------------------------------------------------------------------------

const S = 'account="APP",stream="S",instance="a"';
const series = (name, values, labels = "") =>
  ({ series: `${name}{${S}${labels === "" ? "" : `,${labels}`}}`, values });

// input: series in steps of `interval`; at: { time: how many streams the alert fires for }.
function alert(name, alertname, interval, input, at, also = {}) {
  test(name, () => {
    const file = path.join(scratch, `${name}.yml`); // JSON is YAML
    const checks = Object.entries(at).map(([time, n]) => ({
      expr: `count(ALERTS{alertname="${alertname}",alertstate="firing"}) or vector(0)`,
      eval_time: time,
      exp_samples: [{ labels: "{}", value: n }],
    }));
    writeFileSync(file, JSON.stringify({
      rule_files: [rules],
      evaluation_interval: interval,
      tests: [{ interval, input_series: input, promql_expr_test: checks, ...also }],
    }));
    execFileSync(promtool, ["test", "rules", file], { stdio: "pipe" });
  });
}

test("the rules are valid for promtool", () => execFileSync(promtool, ["check", "rules", rules], { stdio: "pipe" }));

const infinite = (n) => [
  series("mayfly_stream_ttl_items", `${n}x180`, 'state="infinite"'),
  series("mayfly_stream_ttl_items", `${100 - n}x180`, 'state="with"'),
  series("mayfly_stream_messages", "100x180"),
];
const governed = series("mayfly_stream_ttl_governed", "1x180");
const told = {
  alert_rule_test: [{
    alertname: "HighInfiniteTTLRatio",
    eval_time: "61m",
    exp_alerts: [{
      exp_labels: { severity: "warning", account: "APP", stream: "S", instance: "a" },
      exp_annotations: {
        summary: "APP/S: 11% of the messages never expire",
        description: "More than 10 % of the messages of a stream with a TTL policy are infinite. List them: nats req '$MAYFLY.TTL.LIST.S' '{\"state\":\"infinite\"}'; deny it with mayfly.ttl.never=deny.",
      },
    }],
  }],
};
alert("R000_48_eleven_percent_infinite_fires_after_an_hour", "HighInfiniteTTLRatio", "1m",
  [...infinite(11), governed], { "59m": 0, "61m": 1 }, told);
alert("R000_48_nine_percent_infinite_never_fires", "HighInfiniteTTLRatio", "1m", [...infinite(9), governed], { "61m": 0, "3h": 0 });
alert("R000_48_an_ungoverned_stream_may_be_infinite", "HighInfiniteTTLRatio", "1m",
  [...infinite(100), series("mayfly_stream_ttl_governed", "0x180")], { "3h": 0 });
alert("R000_48_two_servers_with_the_same_stream_are_judged_one_by_one", "HighInfiniteTTLRatio", "1m",
  [...infinite(11), governed, ...[...infinite(9), governed].map((s) => ({ ...s, series: s.series.replace('"a"', '"b"') }))], { "61m": 1 });

const grows = series("mayfly_stream_bytes", "0+1000x200");
alert("R000_49_growth_without_expiry_fires_at_six_hours", "StorageGrowthUnbounded", "10m",
  [grows, series("mayfly_stream_expired_bytes_total", "0x200")], { "5h50m": 0, "6h20m": 1 });
alert("R000_49_growth_with_expiry_does_not_fire", "StorageGrowthUnbounded", "10m",
  [grows, series("mayfly_stream_expired_bytes_total", "0+10x200")], { "6h20m": 0, "24h": 0 });
alert("R000_49_a_stream_that_does_not_grow_does_not_fire", "StorageGrowthUnbounded", "10m",
  [series("mayfly_stream_bytes", "5000x200"), series("mayfly_stream_expired_bytes_total", "0x200")], { "24h": 0 });

const without = (n) => series("mayfly_stream_ttl_items", `${n}x120`, 'state="without"');
const enforce = (n) => series("mayfly_stream_ttl_enforce", `${n}x120`);
alert("an item without TTL fires where the policy is enforced", "TTLItemsWithout", "1m", [without(1), enforce(2)], { "59m": 0, "61m": 1 });
alert("audit mode tolerates items without TTL", "TTLItemsWithout", "1m", [without(9), enforce(1)], { "61m": 0 });
alert("no item without TTL, no alert", "TTLItemsWithout", "1m", [without(0), enforce(2)], { "61m": 0 });

const late = (fast, all) => [["1", fast], ["5", all], ["+Inf", all]].map(([le, n]) =>
  ({ series: `mayfly_jetstream_expiry_late_seconds_bucket{instance="a",le="${le}"}`, values: `0+${n}x60` }));
alert("late expiry fires", "TTLExpiryLate", "1m", late(50, 100), { "4m": 0, "10m": 1 });
alert("expiry in time does not fire", "TTLExpiryLate", "1m", late(100, 100), { "30m": 0 });

const cliff = (n, of) => [series("mayfly_stream_ttl_expiring", `${n}x60`, 'within="1h"'),
  series("mayfly_stream_ttl_expiring", `${of}x60`, 'within="1d"'), series("mayfly_stream_messages", `${of}x60`)];
alert("a cliff ahead fires at once", "TTLCliffAhead", "1m", cliff(150000, 200000), { "1m": 1 });
alert("many that are less than half are no cliff", "TTLCliffAhead", "1m", cliff(150000, 400000), { "30m": 0 });
alert("all of a few are no cliff", "TTLCliffAhead", "1m", cliff(90000, 90000), { "30m": 0 });

alert("rejects that go on fire", "TTLRejected", "1m",
  [series("mayfly_stream_ttl_rejected_total", "0x9 1+1x60")], { "9m": 0, "30m": 1 });
alert("a single reject does not fire", "TTLRejected", "1m",
  [series("mayfly_stream_ttl_rejected_total", "0x9 1x60")], { "15m": 0, "30m": 0 });
alert("a dropped dead letter fires at once", "TTLDeadLettersDropped", "1m",
  [series("mayfly_stream_ttl_dead_letters_total", "0x9 1x60", 'result="dropped"')], { "9m": 0, "12m": 1 });
alert("stored dead letters do not fire", "TTLDeadLettersDropped", "1m",
  [series("mayfly_stream_ttl_dead_letters_total", "0+5x60", 'result="stored"')], { "30m": 0 });
alert("a policy that is not understood fires", "TTLPolicyInvalid", "1m",
  [series("mayfly_stream_ttl_policy_valid", "0x60")], { "4m": 0, "6m": 1 });
alert("a valid policy does not fire", "TTLPolicyInvalid", "1m", [series("mayfly_stream_ttl_policy_valid", "1x60")], { "30m": 0 });
alert("a backfill that stands still fires", "TTLBackfillStuck", "1m",
  [series("mayfly_stream_ttl_backfill_left", "500x120")], { "25m": 0, "62m": 1 });
alert("a backfill that moves does not fire", "TTLBackfillStuck", "1m",
  [series("mayfly_stream_ttl_backfill_left", "50000-100x120")], { "119m": 0 });

// --- metrics ---------------------------------------------------------------------------------------

const known = new Map(readFileSync(path.join(here, "metrics.txt"), "utf8").split("\n")
  .filter((l) => l !== "" && !l.startsWith("#")).map((l) => l.split(" ")).map(([name, type, labels]) => [name, { type, labels }]));
const base = (name) => (known.get(name.replace(/_bucket$/, ""))?.type === "histogram" ? name.replace(/_bucket$/, "") : name);

// Each selector of an expression: its metric is known, and its labels are those that it has.
function checkExpr(expr, where) {
  const found = [...expr.matchAll(/\b(mayfly_[a-z_]+)(?:\{([^}]*)\})?/g)];
  assert.ok(found.length > 0, `${where}: no metric in ${expr}`);
  for (const [, name, selector] of found) {
    const metric = known.get(base(name));
    assert.ok(metric, `${where}: no metric ${name}`);
    const allowed = ["account", "stream", "instance", "job", "le", metric.labels];
    for (const [, label] of (selector ?? "").matchAll(/([a-z_]+)\s*=~?/g))
      assert.ok(allowed.includes(label), `${where}: ${name} has no label ${label}`);
    if (metric.type === "counter")
      assert.match(expr, new RegExp(`(rate|increase)\\(${name}`), `${where}: ${name} is a counter, shown without rate() or increase()`);
  }
}

test("every metric of the alerts is one that /metrics has", () => {
  const text = readFileSync(rules, "utf8");
  const exprs = [...text.matchAll(/expr: (?:>\n((?: {10}.*\n)+)|(.*)\n)/g)].map((m) => m[1] ?? m[2]);
  assert.equal(exprs.length, (text.match(/- alert:/g) ?? []).length);
  for (const e of exprs) checkExpr(e, "rules");
});

const panels = () => JSON.parse(readFileSync(dashboard, "utf8")).panels;
test("every panel of the dashboard asks for metrics that exist", () => {
  for (const p of panels()) {
    assert.ok(p.targets.length > 0, `${p.title}: no query`);
    for (const t of p.targets) checkExpr(t.expr, p.title);
  }
});

test("the queries of the dashboard are valid for promtool", () => {
  const file = path.join(scratch, "panels.yml");
  const exprs = panels().flatMap((p) => p.targets.map((t) => t.expr.replace("$__rate_interval", "5m")));
  writeFileSync(file, JSON.stringify({ groups: [{ name: "panels", rules: exprs.map((expr, i) => ({ record: `panel_${i}`, expr })) }] }));
  execFileSync(promtool, ["check", "rules", file], { stdio: "pipe" });
});

test("the dashboard shows what operators were promised", () => {
  const shown = panels().flatMap((p) => p.targets.map((t) => t.expr)).join("\n");
  for (const name of ["ttl_items", "expired_total", "ttl_expiring", "expiry_late_seconds", "ttl_decided_total", "ttl_rejected_total", "ttl_backfill_left"])
    assert.match(shown, new RegExp(`mayfly_[a-z]+_${name}`));
  const ids = panels().map((p) => p.id);
  assert.equal(new Set(ids).size, ids.length, "panel ids are unique");
});

test("R003_35_the_dashboard_sets_expired_messages_against_stored_ones", () =>
  assert.ok(panels().some((p) => p.targets.some((t) => /expired_total.* \/ .*published_total/.test(t.expr)))));

// --- all -------------------------------------------------------------------------------------------

let failed = 0;
for (const t of tests) {
  try {
    t.fn();
    console.log(`ok ${t.name}`);
  } catch (e) {
    failed++;
    console.log(`not ok ${t.name}\n    ${`${e.stdout ?? ""}${e.stderr ?? ""}${e.message}`.split("\n").join("\n    ")}`);
  }
}
rmSync(scratch, { recursive: true });
console.log(`${tests.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
