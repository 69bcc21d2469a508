// rows.mjs: every row of the matrix: what it is called, who takes part, and what is asked of it.
// `row` and `metric` are bench_matrix's; `lower`: less is better.  A bar is a ratio against another
// setup (`vs`; at least `must` times as good) or a value of Mayfly's own; `aim` is where it should end.
// `worst`: the worst round counts, not the median.
// `base` is another figure of the same setup, taken in turns with this one: the same without what the row is about.
// Bars marked `base` are shares of it: at least `must` of it, or at most where less is better.
// `shows` names a requirement whose test this row is (tools/requirements.mjs).

export const SETUPS = ["nats-synced", "nats", "mayfly", "mayfly-relaxed", "redis"];

const BOTH = ["nats", "mayfly"];
const MANY = ["nats-synced", "nats", "mayfly"];
const THREE = ["nats", "mayfly", "redis"];

const row = (id, name, unit, setups, more = {}) => {
  const [, key, metric] = /^(.*)\/(.*)$/.exec(id);
  return { id, row: key, metric, name, unit, setups, lower: false, bars: [], ...more };
};
const rate = (id, name, unit, setups, bars = []) => row(`${id}/rate`, name, unit, setups, { bars });
const low = (id, name, unit, setups, bars = []) => row(id, name, unit, setups, { bars, lower: true });
const worst = (id, name, setups, bars) => row(id, name, "", setups, { bars, lower: true, worst: true });
const x = (vs, must, aim) => ({ vs, must, aim });
const value = (must, aim) => ({ must, aim });
const share = (must, aim) => ({ base: true, must, aim });

const shows = (what, r) => ({ ...r, shows: what });
const OURS = ["mayfly"];
const REDIS = ["mayfly", "redis"];
const beside = (id, base, name, bars) => row(`${id}/rate`, name, "/s", OURS, { base: `${base}/rate`, bars });
const lowBeside = (id, base, name, unit, bars = []) => row(id, name, unit, OURS, { base, lower: true, bars });
const cost = (id, base, name) => lowBeside(`${id}/cpu_us`, `${base}/cpu_us`, `${name}, processor time`, "us");
const meanwhile = (id, name, bars) =>
  lowBeside(`${id}/other_p99_us`, `${id}/quiet_p99_us`, `another synchronous publisher meanwhile, p99: ${name}`, "us", bars);

const deaths = (id, setups, [p50, max], cpu, disk) => [
  low(`${id}/lag_p50_s`, "lag, p50", "s", setups, [value(...p50)]),
  shows("R000_73_lateness_and_cost_of_expiry_are_measured", low(`${id}/lag_max_s`, "lag, worst", "s", setups, [value(...max)])),
  low(`${id}/other_p99_ms`, "another synchronous publisher meanwhile, p99", "ms", setups, [value(5, 1)]),
  low(`${id}/other_max_ms`, "its worst", "ms", setups, [value(20, 5)]),
  low(`${id}/cpu_s_per_million`, "processor seconds per million", "s", setups, [value(...cpu)]),
  low(`${id}/disk_mb`, disk, "MB", setups, id === "expiry.plain" ? [value(32, 32)] : []),
];

const watched = (id, [p50, max], other, cpu) => [
  low(`${id}/lag_p50_ms`, "deadline to arrival at the watcher, p50", "ms", THREE, [value(...p50)]),
  low(`${id}/lag_max_ms`, "worst", "ms", THREE, [value(...max)]),
  low(`${id}/other_p99_ms`, "a publisher meanwhile, 500/s, p99", "ms", THREE, [value(...other)]),
  low(`${id}/other_max_ms`, "its worst", "ms", THREE),
  low(`${id}/cpu_s_per_million`, "processor seconds per million", "s", THREE, [value(...cpu)]),
];

export const GROUPS = [
  {
    title: "Core NATS",
    rows: [
      rate("core.fan1_16", "1 publisher, 1 subscriber, 16 B", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      rate("core.fan1_1k", "1 publisher, 1 subscriber, 1 KB", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      rate("core.fan10_16", "1 publisher, 10 subscribers, 16 B", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      rate("core.fan10_1k", "1 publisher, 10 subscribers, 1 KB", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      rate("core.fan64_16", "1 publisher, 64 subscribers, 16 B", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      rate("core.fan64_1k", "1 publisher, 64 subscribers, 1 KB", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      low("core.request/p50_us", "request and reply, p50", "us", BOTH, [x("nats", 1, 2)]),
      low("core.idle/rss_mb", "idle server, RSS", "MB", BOTH, [value(6, 3)]),
      low("core.conn/bytes", "idle connection", "B", BOTH),
    ],
  },
  {
    title: "TLS, WebSocket, subscriptions",
    rows: [
      rate("tls.publish", "TLS: asynchronous, 4 x 256, acknowledged", "/s", BOTH, [x("nats", 1.2, 2)]),
      rate("tls.push", "TLS: publish to 8 push consumers", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      rate("tls.hello", "TLS: connections, from dial to PONG, one after the other", "/s", BOTH, [x("nats", 1.2, 2)]),
      rate("ws.publish", "WebSocket: asynchronous, 4 x 256, acknowledged", "/s", BOTH, [x("nats", 1.2, 2)]),
      rate("ws.push", "WebSocket: publish to 8 push consumers", "deliveries/s", BOTH, [x("nats", 1.2, 2)]),
      rate("ws.hello", "WebSocket: connections, from dial to PONG, one after the other", "/s", BOTH, [x("nats", 1.2, 2)]),
      rate("subs.made", "a million subscriptions of one connection", "/s", BOTH, [x("nats", 1.2, 2)]),
      low("subs.memory/bytes", "memory of a subscription", "B", BOTH, [x("nats", 1.2, 2)]),
    ],
  },
  {
    title: "Publishing, 128 B, acknowledged",
    rows: [
      rate("publish.one", "asynchronous, 1 connection x window 1,000", "/s", SETUPS),
      rate("publish.async", "asynchronous, 4 x 256", "/s", SETUPS, [x("nats-synced", 80), x("redis", 1.7), x("nats", 2.5, 6), { aim: 1e6 }]),
      rate("publish.ttl", "asynchronous, 4 x 256, with a TTL", "/s", SETUPS),
      rate("publish.ttl_keys", "asynchronous, 4 x 256, TTL, a million subjects", "/s", SETUPS, [x("nats", 4, 8), x("redis", 2)]),
      low("publish.sync1/p50_us", "one synchronous publisher, p50", "us", SETUPS, [x("redis", 1)]),
      rate("publish.sync16", "16 synchronous publishers", "/s", SETUPS, [x("nats-synced", 8), x("redis", 1.5)]),
      rate("publish.sync64", "64 synchronous publishers", "/s", SETUPS),
    ],
  },
  {
    title: "Keys and values",
    rows: [
      rate("kv.put", "put, 4 x 64", "/s", SETUPS, [x("redis", 2, 4)]),
      rate("kv.put_ttl", "put with TTL, bucket with markers", "/s", SETUPS, [x("redis", 2, 4)]),
      rate("kv.get", "direct get, 4 x 64", "/s", SETUPS.slice(1), [x("nats", 5), { vs: "redis", aim: 1 }]),
    ],
  },
  {
    title: "2,000 KV buckets",
    rows: [
      rate("streams.put", "put to each in turn, window 1,024", "/s", MANY, [value(100e3)]),
      rate("streams.make", "created", "/s", MANY, [value(4000, 20000)]),
      low("streams.empty/bytes", "memory of an empty one", "B", MANY, [value(16384, 4096)]),
      low("streams.empty/disk_kb", "its disk", "KB", MANY, [value(16, 8)]),
      low("streams.empty/fds", "its descriptors", "", MANY, [value(1, 0.5)]),
      low("streams.restart/killed_s", "restart after kill -9", "s", MANY, [value(0.3, 0.1)]),
    ],
  },
  {
    title: "Consumers",
    rows: [
      rate("read.fetch", "fetch 100, explicit ack", "/s", BOTH, [x("nats", 3, 8)]),
      rate("read.replay", "ordered consumer, replay of 10 million", "/s", BOTH, [x("nats", 2, 4)]),
      rate("read.push", "publish to 8 push consumers", "deliveries/s", BOTH),
      rate("objects.put", "chunks of objects, 128 KB, stored with 4 MB under way", "/s", MANY, [x("nats", 1, 2)]),
      rate("objects.put_one", "stored one by one", "/s", MANY),
      rate("objects.get", "read by an ordered consumer", "/s", MANY, [x("nats", 2)]),
      low("watch.few/p50_ms", "a put to 1,000 watchers, until all have it, p50", "ms", BOTH),
      low("watch.many/p50_ms", "a put to 10,000 watchers (nats-server's limit is 1,000), p50", "ms", ["mayfly"]),
      rate("make.rate", "push consumers created", "/s", BOTH),
      low("make.memory/bytes", "idle consumer", "B", BOTH, [value(4096, 2048)]),
    ],
  },
  {
    title: "500,000 keys due in one second",
    rows: deaths("expiry.plain", THREE, [[0.05, 0.01], [0.3, 0.1]], [0.5, 0.1], "disk afterwards, 100 MB loaded"),
  },
  {
    title: "The same with delete markers (of Redis: with its events)",
    rows: deaths("expiry.marked", THREE, [[0.3, 0.1], [1, 0.3]], [2, 1], "disk afterwards, markers alive"),
  },
  {
    title: "500,000 keys of a KV bucket due in one second; its watcher is a push consumer with flow control, STREAM.INFO is asked every 10 ms",
    rows: watched("expiry.watched", [[5, 2], [20, 10]], [5, 2], [2, 1]),
  },
  {
    title: "The same with one process beside that is always busy",
    rows: watched("expiry.busy", [[50, 10], [200, 50]], [10, 5], [2.5, 1]),
  },
  {
    title: "10 seconds after 500,000 keys were loaded, nothing expires",
    rows: [
      low("loaded/other_p99_ms", "a publisher, 500/s, p99", "ms", THREE, [value(3, 1)]),
      low("loaded/other_max_ms", "its worst", "ms", THREE, [value(20, 5)]),
    ],
  },
  {
    title: "20,000 keys due each second, with markers",
    rows: [
      low("expiry.spread/lag_p50_ms", "lag, p50", "ms", THREE, [value(2, 0.5)]),
      low("expiry.spread/lag_p99_ms", "lag, p99", "ms", THREE, [value(10, 2)]),
      low("expiry.spread/lag_max_ms", "lag, worst", "ms", THREE),
    ],
  },
  {
    title: "A million keys with TTLs",
    rows: [
      low("memory/bytes", "memory of a key, 128 B values, all of RSS", "B", THREE, [value(100, 64)]),
      low("restart/killed_s", "restart after kill -9", "s", THREE, [value(0.3, 0.05)]),
      low("restart/clean_s", "restart after a clean stop", "s", THREE, [value(0.1, 0.05)]),
      low("restart/half_s", "restart, half expired while down", "s", THREE, [value(0.3, 0.05)]),
    ],
  },
  {
    title: "Random puts with TTLs and purges, kill -9, restart, all keys read (a round: 4,800 reads)",
    rows: [
      worst("crash/lost", "acknowledged, and lost", BOTH, [value(0, 0)]),
      worst("crash/revived", "replaced, purged or dead, and back", BOTH, [value(0, 0)]),
      worst("crash/late", "served after the deadline", BOTH, [value(0, 0)]),
    ],
  },
  {
    title: "Lifetimes: publishing 4 x 256, in turns with the same stream without a policy",
    rows: [
      shows("R000_87_a_default_costs_little_within_a_publish", beside("ttl.default", "ttl.plain", "a default", [share(0.97, 0.99)])),
      cost("ttl.default", "ttl.plain", "a default"),
      beside("ttl.rules", "ttl.plain", "16 rules by subject, the last one matches", [share(0.95, 0.98)]),
      cost("ttl.rules", "ttl.plain", "16 rules"),
      beside("ttl.fill_head", "ttl.plain_head", "fill(header())", [share(0.92, 0.97)]),
      cost("ttl.fill_head", "ttl.plain_head", "fill(header())"),
      beside("ttl.fill_json", "ttl.plain_json", "fill(json()), 200 B", [share(0.8, 0.9)]),
      cost("ttl.fill_json", "ttl.plain_json", "fill(json())"),
      shows("R004_15_a_link_costs_little_within_a_publish", beside("ttl.link", "ttl.plain_keys", "permanent_if, 10,000 buckets", [share(0.92, 0.96)])),
      cost("ttl.link", "ttl.plain_keys", "permanent_if"),
      beside("ttl.kv_subject", "ttl.kv_message", "KV put 4 x 64, history 5, scope subject (without: scope message)", [share(0.95, 0.99)]),
    ],
  },
  {
    title: "Lifetimes: one key",
    rows: [
      rate("ttl.touch", "TOUCH by key, 4 x 64, on disk (Redis: EXPIRE)", "/s", REDIS, [x("redis", 1.5, 3)]),
      rate("ttl.touch_get", "TOUCH with get (Redis: GETEX EX)", "/s", REDIS, [x("redis", 1, 2)]),
      rate("ttl.left", "GET, the time left, 4 x 64 (Redis: PTTL)", "/s", REDIS, [x("redis", 0.8, 1)]),
      beside("ttl.get_slide", "ttl.get", "direct get with slide: read, TTL 1 h", [share(0.9, 0.97)]),
      beside("ttl.get_renew", "ttl.get", "the same, TTL 64 s: each key is renewed every second", []),
      shows("R000_02_a_million_dead_do_not_slow_reads_of_the_living", lowBeside("ttl.get_after/p99_us", "ttl.get_alone/p99_us", "direct get, 10,000 living after a million expired, p99 (without: those alone)", "us", [share(1.1, 1)])),
      low("ttl.memory/bytes", "memory of a key under a default, 128 B values, all of RSS", "B", OURS, [value(85.5, 84.75)]),
    ],
  },
  {
    title: "Lifetimes: requests about many keys",
    rows: [
      low("ttl.stats/p50_ms", "STATS, a million deadlines", "ms", OURS, [value(5, 2)]),
      low("ttl.stats_many/p50_ms", "STATS, ten million", "ms", OURS, [value(50, 20)]),
      low("ttl.forecast/p50_ms", "FORECAST, 24 buckets, a million", "ms", OURS, [value(10, 3)]),
      low("ttl.forecast_many/p50_ms", "FORECAST, ten million", "ms", OURS, [value(80, 30)]),
      low("ttl.list/p50_ms", "LIST, first page of 100, a million (Redis: SCAN and PTTL of all)", "ms", REDIS, [value(5, 1)]),
      low("ttl.list_many/p50_ms", "LIST, first page of 100, ten million", "ms", OURS, [value(20, 5)]),
      ...[["ttl.stats", "STATS"], ["ttl.forecast", "FORECAST"], ["ttl.list", "LIST"]].flatMap(([id, name]) => [
        meanwhile(id, `${name}, a million`, [share(1.5, 1.1)]),
        meanwhile(`${id}_many`, `${name}, ten million`, [share(1.5, 1.1)]),
      ]),
      rate("ttl.backfill", "BACKFILL, nothing else going on", "/s", OURS, [value(300e3, 800e3)]),
      rate("ttl.backfill_busy", "BACKFILL while half of what the server takes is published", "/s", OURS, [value(100e3, 300e3)]),
      meanwhile("ttl.backfill_busy", "BACKFILL", [share(2, 1.1)]),
    ],
  },
  {
    title: "Lifetimes: before and after the end",
    rows: [
      low("ttl.warn/late_ms", "a million keys warned of within 10 s: latest warning", "ms", OURS, [value(0, 0)]),
      worst("ttl.warn/missing", "warnings that never came", OURS, [value(0, 0)]),
      meanwhile("ttl.warn", "warnings", [share(1.5, 1.1)]),
      lowBeside("ttl.letters/lag_max_s", "ttl.no_letters/lag_max_s", "100,000 dead letters of 1 KB due in one second: lag, worst (without: no letters)", "s", [value(1, 0.3)]),
      lowBeside("ttl.letters/other_p99_ms", "ttl.no_letters/other_p99_ms", "another synchronous publisher meanwhile, p99: letters", "ms"),
      worst("ttl.link_last/lost", "permanent_if: bucket due in a few ms when its configuration is acknowledged, and lost", OURS, [value(0, 0)]),
      row("ttl.link_last/trials", "of so many", "", OURS),
    ],
  },
];

// Rows with more to tell: what each costs, and how its latencies lie.
export const LATENCIES = [
  { row: "core.request", name: "request and reply", unit: "us" },
  { row: "publish.sync1", name: "one synchronous publisher", unit: "us" },
  { row: "publish.sync16", name: "16 synchronous publishers", unit: "us" },
  { row: "publish.sync64", name: "64 synchronous publishers", unit: "us" },
  { row: "watch.few", name: "a put to 1,000 watchers", unit: "ms" },
];
