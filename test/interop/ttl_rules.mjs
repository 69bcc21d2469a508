// ttl_rules.mjs: rules of a stream's own policy: the rate limiter of two requirements, prefixes, links at the
// time of a write; and what is refused when a stream is made.
import assert from "node:assert/strict";
import { group } from "./lib/js.mjs";
import { BAD_POLICY, NEVER_DENIED, life, lives, policy, told } from "./lib/ttl.mjs";
import { LIMIT_MS } from "./lib/wait.mjs";

const DAY = 86400;
const ours = { only: "mayfly" };
const check = group();
const limit = (capacity, refill_amount, refill_period_seconds) => ({ capacity, refill_amount, refill_period_seconds });
const SLOW = limit(1000, 10, 60); // fills in 6,000 s
const FAST = limit(10, 10, 1);

// A stream whose buckets live by the limits in their JSON.
const filling = (c, ttl = "fill(json(/limits))") => c.create(policy({ rules: [{ id: "bucket", subject: `${c.prefix}.bucket.>`, ttl }] }));
const bucket = (...limits) => JSON.stringify({ tokens: 5, limits: limits.length === 1 ? limits[0] : limits });

// --- time to fill ----------------------------------------------------------------------------------

check("R001_01_a_bucket_on_default_limits_ends_by_itself", ours, async (c) => {
  await filling(c, "1 * fill(json(/limits))");
  const { seq, end } = await told(c, "bucket.alice", bucket(limit(1, 1, 1)), "1s", "rule:bucket");
  await c.gone(seq);
  assert.ok(Date.now() >= end);
  assert.equal((await c.empty()).last_seq, seq);
});

check("R001_02_R001_07_R001_11_a_slow_bucket_lives_for_seven_fills", ours, async (c) => {
  await filling(c);
  await c.pub("bucket.alice", bucket(SLOW));
  await lives(c, "bucket.alice", 42000, "rule:bucket");
});

check("R001_05_the_ttl_is_capacity_by_refill_times_period_times_factor_rounded_up", ours, async (c) => {
  await filling(c);
  await c.pub("bucket.alice", bucket(limit(100, 3, 10)));
  await lives(c, "bucket.alice", 2334);
});

check("R001_06_of_several_limits_the_slowest_decides", ours, async (c) => {
  await filling(c);
  await c.pub("bucket.a", bucket(SLOW, FAST));
  await lives(c, "bucket.a", 42000);
  await c.pub("bucket.b", bucket(FAST, SLOW));
  await lives(c, "bucket.b", 42000);
});

for (const [name, ttl, want] of [
  ["R001_08_R001_17_the_factor_may_be_14", "14 * fill(json(/limits))", 84000],
  ["R001_08_R001_17_the_factor_may_be_3", "3 * fill(json(/limits))", 18000],
  ["R001_15_a_flat_ttl_can_still_be_said", "24h", DAY],
])
  check(name, ours, async (c) => {
    await filling(c, ttl);
    await c.pub("bucket.alice", bucket(SLOW));
    await lives(c, "bucket.alice", want, "rule:bucket");
  });

check("limits may stand in a header", ours, async (c) => {
  await filling(c, "fill(header(Limits))");
  await c.pub("bucket.a", "", { Limits: "1000/10/60,10/10/1" });
  await lives(c, "bucket.a", 42000);
});

check("a payload without limits falls to the next rule and to the default", ours, async (c) => {
  await c.create(policy({ default: "1h", rules: [{ ttl: "fill(json(/limits))" }, { subject: `${c.prefix}.b`, ttl: "2h" }] }));
  for (const data of ["", "text", "{", "[]", '{"limits":5}', '{"limits":[]}', '{"limits":[{"capacity":1}]}', bucket(limit(1, 0, 1))]) {
    await c.pub("a", data);
    await lives(c, "a", 3600, "default");
  }
  await c.pub("b", "text");
  await lives(c, "b", 7200, "rule:2");
});

const SOURCES = (c) => policy({
  rules: [
    { id: "custom", subject: `${c.prefix}.bucket.>`, header: { "Limits-Source": "entity" }, ttl: "never" },
    { id: "bucket", subject: `${c.prefix}.bucket.>`, ttl: "fill(json(/limits))" },
  ],
});

check("R001_03_R001_09_R001_16_limits_of_the_entity_itself_have_no_end", ours, async (c) => {
  await c.create(SOURCES(c));
  await c.pub("bucket.a", bucket(SLOW), { "Limits-Source": "entity" });
  await lives(c, "bucket.a", "infinite", "rule:custom");
});

check("R001_10_limits_of_default_resource_and_system_have_a_ttl", ours, async (c) => {
  await c.create(SOURCES(c));
  for (const source of ["entity-default", "resource", "system"]) {
    await c.pub("bucket.a", bucket(SLOW), { "Limits-Source": source });
    await lives(c, "bucket.a", 42000, "rule:bucket");
  }
});

// --- linked records, as they are when a bucket is written --------------------------------------------

const LIMITS = (c) => ({
  max_msgs_per_subject: 1,
  ...policy({
    rules: [
      { id: "bucket", subject: `${c.prefix}.bucket.*.*`, ttl: "fill(json(/limits))", permanent_if: `${c.prefix}.config.{{wildcard(1)}}.{{wildcard(2)}}` },
      { id: "sync", subject: `${c.prefix}.config.*.*`, header: { "Config-Source": "sync" }, ttl: "3 * header(Sync-Window)" },
      { id: "operator", subject: `${c.prefix}.config.*.*`, ttl: "never" },
    ],
  }),
});
const synced = (c, name, window = "60") => c.pub(`config.${name}`, "{}", { "Config-Source": "sync", "Sync-Window": window });

check("R004_01_R004_06_a_synced_configuration_lives_for_three_windows", ours, async (c) => {
  await c.create(LIMITS(c));
  await synced(c, "alice.gpt4");
  await lives(c, "config.alice.gpt4", 180, "rule:sync");
});

check("R004_07_R004_14_each_sync_renews_it_and_silence_ends_it", ours, async (c) => {
  await c.create(LIMITS(c));
  let last = { end: 0 };
  for (let i = 0; i < 10; i++) {
    const now = await told(c, "config.alice.gpt4", "{}", "3s", "rule:sync", { "Config-Source": "sync", "Sync-Window": "1" });
    assert.ok(now.end >= last.end);
    last = now;
  }
  await c.gone(last.seq);
  assert.ok(Date.now() >= last.end);
  assert.equal((await c.empty()).last_seq, 10);
});

check("R004_05_R004_19_a_configuration_of_the_operator_has_no_end_on_the_same_subject", ours, async (c) => {
  await c.create(LIMITS(c));
  await synced(c, "alice.gpt4");
  await c.pub("config.alice.gpt4", "{}");
  await lives(c, "config.alice.gpt4", "infinite", "rule:operator");
});

check("R004_02_R004_08_a_configuration_without_deadline_makes_its_bucket_permanent", ours, async (c) => {
  await c.create(LIMITS(c));
  await c.pub("config.alice.gpt4", "{}");
  await c.pub("bucket.alice.gpt4", bucket(SLOW));
  await lives(c, "bucket.alice.gpt4", "infinite", "rule:bucket (linked)");
  await c.pub("bucket.alice.other", bucket(SLOW)); // only its own
  await lives(c, "bucket.alice.other", 42000, "rule:bucket");
});

check("R004_03_R004_09_a_synced_configuration_leaves_its_bucket_a_ttl", ours, async (c) => {
  await c.create(LIMITS(c));
  await synced(c, "alice.gpt4");
  await c.pub("bucket.alice.gpt4", bucket(SLOW));
  await lives(c, "bucket.alice.gpt4", 42000, "rule:bucket");
});

check("R004_10_without_a_configuration_a_bucket_has_a_ttl", ours, async (c) => {
  await c.create(LIMITS(c));
  await c.pub("config.alice._default_", "{}"); // another resource
  await c.pub("bucket.alice.gpt4", bucket(SLOW));
  await lives(c, "bucket.alice.gpt4", 42000, "rule:bucket");
});

check("R004_17_a_configuration_past_its_deadline_does_not_count", ours, async (c) => {
  await c.create(LIMITS(c));
  await c.gone(await synced(c, "alice.gpt4", "1"));
  await c.pub("bucket.alice.gpt4", bucket(SLOW));
  await lives(c, "bucket.alice.gpt4", 42000, "rule:bucket");
});

// --- subjects --------------------------------------------------------------------------------------

check("R000_38_a_rule_gives_keys_with_a_prefix_their_own_lifetime", ours, async (c) => {
  await c.create(policy({ rules: [{ id: "default-ttl", subject: `${c.prefix}.tmp.>`, ttl: "90d" }] }));
  await c.pub("tmp.a", "x");
  await lives(c, "tmp.a", 90 * DAY, "rule:default-ttl");
  await c.pub("a", "x");
  await lives(c, "a", "none");
});

check("R000_80_some_subjects_are_infinite_while_the_rest_expires", ours, async (c) => {
  await c.create({ ...policy({ default: "24h", rules: [{ subject: `${c.prefix}.schema.>`, ttl: "never" }] }), allow_msg_ttl: true });
  await c.pub("schema.user", "x");
  await lives(c, "schema.user", "infinite", "rule:1");
  await c.pub("a", "x");
  await lives(c, "a", DAY, "default");
  await c.pub("schema.user", "x", { "Nats-TTL": "never" }); // the policy says so too
  await c.refused("a", NEVER_DENIED, "x", { "Nats-TTL": "never" });
});

check("an absolute end may be said in a header or in JSON", ours, async (c) => {
  const end = Math.floor(Date.now() / 1000) + 5000;
  await c.create(policy({ rules: [{ subject: `${c.prefix}.h`, ttl: "until(header(Ends))" }, { ttl: "until(json(/expires_at))" }] }));
  const near = async (name) => {
    const left = (Date.parse((await life(c, name)).expires) - end * 1000) / 1000;
    assert.ok(left >= 0 && left <= 1, `${name} ends ${left} s after its time`);
  };
  await c.pub("h", "", { Ends: String(end) });
  await near("h");
  await c.pub("j", JSON.stringify({ expires_at: new Date(end * 1000).toISOString() }));
  await near("j");
});

// --- counts ----------------------------------------------------------------------------------------

const ask = async (c, body) => (await c.nc.request(`$MAYFLY.TTL.POLICY.${c.id}`, JSON.stringify(body), { timeout: LIMIT_MS })).json();
// [decided of each rule..., no_rule]
const counts = async (c) => {
  const r = await ask(c, {});
  return [...r.policy.rules.map((x) => x.decided), r.no_rule];
};

check("each rule counts the messages that it decided on", ours, async (c) => {
  const rules = [{ subject: `${c.prefix}.a`, ttl: "1h" }, { subject: `${c.prefix}.b`, ttl: "json(/ttl)" }, { subject: `${c.prefix}.c`, ttl: "1h" }];
  const ruled = { ...policy({ default: "2h", rules }), allow_msg_ttl: true };
  await c.create(ruled);
  assert.deepEqual(await counts(c), [0, 0, 0, 0]);
  for (const [name, body, hdr] of [["a", "x"], ["a", "x"], ["b", '{"ttl":60}'], ["b", "no value"], ["d", "x"], ["a", "x", { "Nats-TTL": "5m" }]]) await c.pub(name, body, hdr);
  assert.deepEqual(await counts(c), [2, 1, 0, 2]); // not the one whose writer said it
  // A try counts nothing, and shows no counts of other rules.
  const tried = await ask(c, { test: { subject: `${c.prefix}.c` }, policy: { "mayfly.ttl.max": "3h" } });
  assert.deepEqual([tried.result.decided_by, tried.policy.rules[2].decided, tried.no_rule], ["rule:3", undefined, undefined]);
  await c.update({ ...ruled, description: "the same policy" });
  assert.deepEqual(await counts(c), [2, 1, 0, 2]);
  await c.update({ ...ruled, ...policy({ default: "3h", rules, enforce: "audit" }) }); // another one: counts begin anew
  await c.pub("c", "x");
  assert.deepEqual(await counts(c), [0, 0, 1, 0]); // audit: it would have decided
  await c.update({ ...ruled, metadata: {} });
  const none = await ask(c, {});
  assert.deepEqual([none.policy.rules, none.no_rule], [[], undefined]);
});

// --- refusals --------------------------------------------------------------------------------------

const RULE = (rule) => ({ rules: [rule] });
for (const [name, keys, text, more = {}] of [
  ["an unknown key", { defualt: "1h" }, 'unknown TTL policy key "mayfly.ttl.defualt"; did you mean "mayfly.ttl.default"?'],
  ["a bad duration", { default: "1 day" }, 'mayfly.ttl.default: "1 day" is not a duration of 1s to 36500d, never or none'],
  ["a bad maximum", { max: "never" }, 'mayfly.ttl.max: "never" is not a duration of 1s to 36500d'],
  ["a bad word", { never: "maybe" }, 'mayfly.ttl.never: "maybe" is none of allow, deny'],
  ["an unknown pattern", { pattern: "foo" }, 'mayfly.ttl.pattern: no pattern "foo"; known: cache, graph, keyvalue, object, pubsub, session, timeseries, vector'],
  ["a minimum above the maximum", { min: "2h", max: "1h" }, "mayfly.ttl.min 2h0m0s is above mayfly.ttl.max 1h0m0s"],
  ["a default outside the bounds", { default: "48h", max: "24h" }, "mayfly.ttl.default 48h0m0s is above mayfly.ttl.max 24h0m0s"],
  ["a rule that is no expression", RULE({ ttl: "7 x fill" }), 'mayfly.ttl.rules[0].ttl: "7 x fill" is no TTL expression'],
  ["R003_25_a_rule_by_size", RULE({ ttl: "1h", size: 5 }), 'mayfly.ttl.rules[0]: unknown field "size"'],
  ["scope subject without history", { scope: "subject" }, "mayfly.ttl.scope subject needs limits retention and max_msgs_per_subject of 1 to 256"],
  ["a counter stream", { default: "1h" }, "counter stream cannot use message TTLs", { allow_msg_counter: true }],
])
  check(`refused: ${name}`, ours, async (c) => {
    await c.refusedConfig({ ...policy(keys), ...more }, BAD_POLICY(text));
    await c.create({ ...more });
    await c.refusedConfig({ ...policy(keys), ...more }, BAD_POLICY(text), "UPDATE");
  });

check("refused: dead letters outside the stream, chains of links", ours, async (c) => {
  await c.refusedConfig(policy({ on_expire: "dead" }), BAD_POLICY(`mayfly.ttl.on_expire: "dead.${c.prefix}.>" is not within the stream's subjects`));
  const link = { subject: `${c.prefix}.a.*`, ttl: "1h", permanent_if: `${c.prefix}.a.{{wildcard(1)}}` };
  await c.refusedConfig(policy({ rules: [link] }), BAD_POLICY("mayfly.ttl.rules[0].permanent_if: a linked subject can not have a link itself"));
});

check("an empty value unsets a key", ours, async (c) => {
  await c.create(policy({ default: "", max: "" }));
  await c.pub("a", "x");
  await lives(c, "a", "none");
});
