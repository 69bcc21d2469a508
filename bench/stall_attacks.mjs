// stall_attacks.mjs: requests of at most 1 MB that may keep the loop busy.  An attack is
//   name, setup(w) (before the clock runs; what it gives goes to the attack), attack(w, ready): gives the answer to show;
//   block, config: additions to the server's configuration.
const LIMIT = 1_000_000; // of max_payload, some bytes less

const many = (n, f) => Array.from({ length: n }, (_, i) => f(i));
// As many as fit into a request.
const fill = (f, room = LIMIT - 2000) => {
  const all = [];
  for (let i = 0, size = 0; ; i++) {
    const x = f(i);
    size += JSON.stringify(x).length + 1;
    if (size > room) return all;
    all.push(x);
  }
};
const say = (r) => (r === null ? "no answer" : r.error ? `${r.error.err_code}: ${r.error.description}` : "ok");
// The answer may be large: what it says is enough.
const ask = async (w, op, body) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  if (text.length > 1024 * 1024) throw new Error(`${op}: ${text.length} bytes are more than a request may have`);
  const m = await w.request(`$JS.API.${op}`, text, null, 600000);
  return say(m === null ? null : m.status ? { error: { err_code: m.status, description: "" } } : JSON.parse(m.text()));
};
const create = (w, name, more) => ask(w, `STREAM.CREATE.${name}`, { name, storage: "memory", ...more });
const update = (w, name, more) => ask(w, `STREAM.UPDATE.${name}`, { name, storage: "memory", ...more });
const consumer = (w, stream, name, config) =>
  ask(w, `CONSUMER.CREATE.${stream}.${name}`, { stream_name: stream, config: { name, durable_name: name, ack_policy: "explicit", ...config } });
const must = async (answer) => {
  const said = await answer;
  if (said !== "ok") throw new Error(`setup: ${said}`);
};
// Publishes n messages without answers and waits until they are stored.
const publish = async (w, n, subject) => {
  for (let i = 0; i < n; i++) {
    w.publish(subject(i), "x");
    if (i % 10000 === 9999) await w.flush(60000);
  }
  await w.flush(60000);
};
// Below the limit of subjects or filters.
const most = 8000, part = most - 500;

const streams = [
  {
    name: "nothing",
    attack: (w) => new Promise((ok) => setTimeout(() => ok(""), 300)).then(() => w.flush()),
  },
  {
    name: "stream: 50,000 subjects",
    attack: (w) => create(w, "B", { subjects: many(50000, (i) => `b.${i}`) }),
  },
  {
    name: "stream: subjects up to the limit",
    attack: (w) => create(w, "B", { subjects: many(most, (i) => `b.${i}.subject`) }),
  },
  {
    name: "stream: second of as many subjects",
    before: 107000,
    setup: (w) => must(create(w, "A", { subjects: many(part, (i) => `a.${i}`) })),
    attack: (w) => create(w, "B", { subjects: many(part, (i) => `b.${i}`) }),
  },
  {
    name: "stream: update to other subjects",
    setup: (w) => must(create(w, "A", { subjects: many(part, (i) => `a.${i}`) })),
    attack: (w) => update(w, "A", { subjects: many(part, (i) => `b.${i}`) }),
  },
  {
    name: "stream: 60,000 wildcard subjects",
    before: 54000,
    attack: (w) => create(w, "B", { subjects: many(60000, (i) => `b.${i}.*`) }),
  },
  {
    name: "stream: wildcard subjects up to the limit",
    attack: (w) => create(w, "B", { subjects: many(most, (i) => `b.${i}.*`) }),
  },
  {
    name: "stream: stars against tokens",
    attack: (w) => create(w, "B", { subjects: [...many(most / 2, (i) => `p.*.b${i}.x`), ...many(most / 2, (i) => `p.a${i}.*.y`)] }),
  },
  {
    name: "stream: stars in all places",
    attack: (w) =>
      create(w, "B", {
        subjects: [
          ...many(1 << 12, (i) => `p.${many(12, (k) => ((i >> k) & 1 ? "*" : "a")).join(".")}.z${i}`),
          ...many(most / 2 - 96, (i) => `a.a.a.a.a.a.a.a.a.a.a.a.y${i}`),
        ],
      }),
  },
  {
    name: "stream: many tokens",
    attack: (w) => create(w, "B", { subjects: fill((i) => `s${i}${".a".repeat(40)}`).slice(0, most) }),
  },
  {
    name: "stream: one subject of 65,000 bytes",
    attack: (w) => create(w, "B", { subjects: [`b${".a".repeat(32000)}`] }),
  },
  {
    name: "stream: one subject of 950 KB",
    attack: (w) => create(w, "B", { subjects: [`b${".a".repeat(475000)}`] }),
  },
  {
    name: "stream: one more, beside 2,000",
    setup: async (w) => {
      for (let i = 0; i < 2000; i++) await must(create(w, `S${i}`, { subjects: [`s.${i}.>`] }));
    },
    attack: (w) => create(w, "B", { subjects: ["b.>"] }),
  },
  {
    name: "stream: one more, beside 10 of many subjects",
    setup: async (w) => {
      for (let k = 0; k < 10; k++) await must(create(w, `S${k}`, { subjects: many(part, (i) => `s.${k}.${i}`) }));
    },
    attack: (w) => create(w, "B", { subjects: ["s.*.*.b"] }),
  },
  {
    name: "stream: the same again",
    setup: (w) => must(create(w, "A", { subjects: many(part, (i) => `a.${i}.>`) })),
    attack: (w) => create(w, "A", { subjects: many(part, (i) => `a.${i}.>`) }),
  },
];

const mappings = [
  {
    name: "transform: 950 KB of wildcards",
    before: 24000,
    attack: (w) =>
      create(w, "B", { subjects: ["b.>"], subject_transform: { src: many(120000, () => "*").join("."), dest: many(80000, (i) => `$${i + 1}`).join(".") } }),
  },
  {
    name: "transform: 950 KB of braces",
    attack: (w) => create(w, "B", { subjects: ["b.>"], subject_transform: { src: "b.*", dest: `{{${"{".repeat(950000)}}}` } }),
  },
  {
    name: "transform: calls that do not end",
    attack: (w) => create(w, "B", { subjects: ["b.>"], subject_transform: { src: "b.*", dest: `{{x${"{{wildcard(".repeat(80000)}}}` } }),
  },
  {
    name: "transform: calls, blanks and brackets",
    attack: (w) =>
      create(w, "B", {
        subjects: ["b.>"],
        subject_transform: { src: "b.*", dest: `{{x${"{{wildcard(".repeat(40000)}${`)${" ".repeat(1000)}`.repeat(450)}}}` },
      }),
  },
  {
    name: "transform: 64 KB of wildcards",
    attack: (w) =>
      create(w, "B", { subjects: ["b.>"], subject_transform: { src: many(32000, () => "*").join("."), dest: many(10000, (i) => `$${i + 1}`).join(".") } }),
  },
  {
    name: "transform: 64 KB of calls that do not end",
    attack: (w) => create(w, "B", { subjects: ["b.>"], subject_transform: { src: "b.*", dest: `{{x${"{{wildcard(".repeat(5900)}}}` } }),
  },
  {
    name: "transform: a partition of many",
    attack: (w) =>
      create(w, "B", {
        subjects: ["b.>"],
        subject_transform: { src: many(100000, () => "*").join("."), dest: `{{partition(8,${many(120000, (i) => 1 + (i % 90000)).join(",")})}}` },
      }),
  },
  {
    name: "republish: 950 KB of wildcards",
    attack: (w) =>
      create(w, "B", { subjects: ["b.>"], republish: { src: many(120000, () => "*").join("."), dest: many(80000, (i) => `$${i + 1}`).join(".") } }),
  },
  {
    name: "mirror: transforms of 64 KB",
    attack: (w) =>
      create(w, "M", {
        mirror: {
          name: "A",
          subject_transforms: many(7, (i) => ({
            src: `a${i}.${many(32000, () => "*").join(".")}`,
            dest: `b${i}.${many(10000, (k) => `$${32000 - k}`).join(".")}`,
          })),
        },
      }),
  },
  {
    name: "mirror: many transforms",
    attack: (w) =>
      create(w, "M", { mirror: { name: "A", subject_transforms: fill((i) => ({ src: `a.${i}.*`, dest: `b.${i}.$1` })).slice(0, 3000) } }),
  },
  {
    name: "source: many transforms",
    attack: (w) =>
      create(w, "M", { sources: [{ name: "A", subject_transforms: fill((i) => ({ src: `*.a${i}.x`, dest: `b.${i}.$1` })).slice(0, 3000) }] }),
  },
  {
    name: "sources: thousands",
    attack: (w) => create(w, "M", { sources: fill((i) => ({ name: `S${i}`, filter_subject: `a.${i}.*` })).slice(0, 20000) }),
  },
  {
    name: "sources: up to the limit",
    attack: (w) => create(w, "M", { sources: many(500, (i) => ({ name: `S${i}`, filter_subject: `a.${i}.*` })) }),
  },
  {
    name: "sources: up to the limit, many transforms",
    attack: (w) =>
      create(w, "M", {
        sources: many(500, (i) => ({ name: `S${i}`, subject_transforms: many(6, (k) => ({ src: `a.${i}.${k}.*`, dest: `b.${k}.$1` })) })),
      }),
  },
  {
    name: "sources: up to the limit, delivered elsewhere",
    setup: (w) => must(create(w, "A", { subjects: many(part, (i) => `a.${i}`) })),
    attack: (w) =>
      create(w, "M", {
        sources: [{ name: "A" }, ...many(499, (i) => ({ name: `S${i}`, external: { api: `x${i}`, deliver: `y${i}` } }))],
      }),
  },
];

const queue = (w) => must(create(w, "Q", { subjects: ["q.>"], retention: "workqueue" }));
const consumers = [
  {
    name: "consumer: 95,000 filters",
    before: 1900,
    setup: (w) => must(create(w, "A", { subjects: ["a.>"] })),
    attack: (w) => consumer(w, "A", "C", { filter_subjects: many(95000, (i) => `${i}`) }),
  },
  {
    name: "consumer: filters up to the limit",
    setup: (w) => must(create(w, "A", { subjects: ["a.>"] })),
    attack: (w) => consumer(w, "A", "C", { filter_subjects: many(most, (i) => `a.${i}.filter`) }),
  },
  {
    name: "consumer: wildcard filters",
    setup: (w) => must(create(w, "A", { subjects: ["a.>"] })),
    attack: (w) => consumer(w, "A", "C", { filter_subjects: many(most, (i) => `a.${i}.*`) }),
  },
  {
    name: "consumer: stars in all places",
    setup: (w) => must(create(w, "A", { subjects: ["a.>"] })),
    attack: (w) =>
      consumer(w, "A", "C", {
        filter_subjects: [
          ...many(1 << 12, (i) => `${many(12, (k) => ((i >> k) & 1 ? "*" : "a")).join(".")}.z${i}`),
          ...many(most / 2 - 96, (i) => `a.a.a.a.a.a.a.a.a.a.a.a.y${i}`),
        ],
      }),
  },
  {
    name: "consumer: other filters",
    setup: async (w) => {
      await must(create(w, "A", { subjects: ["a.>"] }));
      await must(consumer(w, "A", "C", { filter_subjects: many(part, (i) => `a.${i}`) }));
    },
    attack: (w) => consumer(w, "A", "C", { filter_subjects: many(part, (i) => `a.b.${i}`) }),
  },
  {
    name: "consumer: many filters on 200,000 messages",
    setup: async (w) => {
      await must(create(w, "A", { subjects: ["a.>"] }));
      await publish(w, 200000, (i) => `a.${i % 50000}`);
    },
    attack: async (w) => {
      const said = await consumer(w, "A", "C", { filter_subjects: many(part, (i) => `a.${i}`) });
      const got = new Promise((ok) => {
        let n = 0;
        w.subscribe("inbox", () => ++n === 1000 && ok(n));
      });
      w.publish("$JS.API.CONSUMER.MSG.NEXT.A.C", '{"batch":1000}', null, "inbox");
      return `${said}, ${await got} messages`;
    },
  },
  {
    name: "consumer: last of each of many filters",
    setup: async (w) => {
      await must(create(w, "A", { subjects: ["a.>"] }));
      await publish(w, 50000, (i) => `a.${i}`);
    },
    attack: (w) => consumer(w, "A", "C", { deliver_policy: "last_per_subject", filter_subjects: many(part, (i) => `a.${i}`) }),
  },
  {
    name: "consumer: news for one of many filters",
    setup: async (w) => {
      await must(create(w, "A", { subjects: ["a.>"] }));
      await must(consumer(w, "A", "C", { filter_subjects: many(part, (i) => `a.${i}`) }));
    },
    attack: async (w) => {
      const got = new Promise((ok) => {
        let n = 0;
        w.subscribe("inbox", () => ++n === 1000 && ok(n));
      });
      w.publish("$JS.API.CONSUMER.MSG.NEXT.A.C", '{"batch":1000}', null, "inbox");
      await publish(w, 1000, (i) => `a.${i * 3}`);
      return `${await got} messages`;
    },
  },
  {
    name: "consumer: a purge under many filters",
    setup: async (w) => {
      await must(create(w, "A", { subjects: ["a.>"] }));
      await publish(w, 20000, (i) => `a.${i}`);
      for (let k = 0; k < 5; k++) await must(consumer(w, "A", `C${k}`, { filter_subjects: many(part, (i) => `a.${i}`) }));
    },
    attack: (w) => ask(w, "STREAM.PURGE.A", { filter: "a.5" }),
  },
  {
    name: "queue: a second consumer of many filters",
    before: 90000,
    setup: async (w) => {
      await queue(w);
      await must(consumer(w, "Q", "C", { filter_subjects: many(part, (i) => `q.a.${i}`) }));
    },
    attack: (w) => consumer(w, "Q", "D", { filter_subjects: many(part, (i) => `q.b.${i}`) }),
  },
  {
    name: "queue: one more, beside 5,000",
    setup: async (w) => {
      await queue(w);
      for (let i = 0; i < 5000; i++) await must(consumer(w, "Q", `C${i}`, { filter_subject: `q.${i}.>` }));
    },
    attack: (w) => consumer(w, "Q", "D", { filter_subjects: many(part, (i) => `q.d.${i}`) }),
  },
  {
    name: "stream: update beside 5,000 consumers",
    setup: async (w) => {
      await must(create(w, "A", { subjects: ["a.>"] }));
      for (let i = 0; i < 5000; i++) await must(consumer(w, "A", `C${i}`, { filter_subject: `a.${i}.>` }));
    },
    attack: (w) => update(w, "A", { subjects: ["a.>", "b.>"], consumer_limits: { max_ack_pending: 500000 } }),
  },
];

const raw = (text) => (w) => ask(w, "STREAM.CREATE.B", text);
const documents = [
  { name: "json: deep arrays", attack: raw(`{"name":"B","x":${"[".repeat(499000)}${"]".repeat(499000)}}`) },
  { name: "json: deep objects", attack: raw(`{"name":"B","x":${'{"a":'.repeat(150000)}1${"}".repeat(150000)}}`) },
  { name: "json: unknown keys", attack: raw(`{"name":"B",${many(80000, (i) => `"k${i}":1`).join(",")}}`) },
  { name: "json: one key again and again", attack: raw(`{"name":"B"${',"subjects":["a"]'.repeat(60000)}}`) },
  { name: "json: a long number", attack: raw(`{"name":"B","max_age":${"9".repeat(990000)}}`) },
  { name: "json: a long fraction", attack: raw(`{"name":"B","max_age":1.${"9".repeat(990000)}e-400000}`) },
  { name: "json: a long text of escapes", attack: raw(`{"name":"B","description":"${"\\u00e9".repeat(160000)}"}`) },
  { name: "json: 50,000 keys of metadata", attack: raw(`{"name":"B","metadata":{${many(50000, (i) => `"k${i}":"v"`).join(",")}}}`) },
  {
    name: "json: one key of metadata again and again",
    attack: raw(`{"name":"B","metadata":{${many(90000, () => `"k":"v"`).join(",")}}}`),
  },
  {
    name: "json: metadata up to the limit, kept",
    attack: (w) => create(w, "B", { metadata: Object.fromEntries(many(12000, (i) => [`k${i}`, "v"])) }),
  },
  { name: "json: 300,000 empty subjects", attack: raw(`{"name":"B","subjects":[${many(300000, () => '""').join(",")}]}`) },
  { name: "json: 160,000 empty sources", attack: raw(`{"name":"B","sources":[${many(300000, () => "{}").join(",")}]}`) },
];

const large = async (w) => {
  for (let k = 0; k < 5; k++) await must(create(w, `S${k}`, { subjects: many(part, (i) => `s.${k}.${i}`) }));
};
const readings = [
  { name: "info: a large configuration", setup: large, attack: (w) => ask(w, "STREAM.INFO.S0", "") },
  { name: "list: five large configurations", setup: large, attack: (w) => ask(w, "STREAM.LIST", "") },
  { name: "names: by subject, five large ones", setup: large, attack: (w) => ask(w, "STREAM.NAMES", { subject: "s.*.none" }) },
  { name: "delete: a large configuration", setup: large, attack: (w) => ask(w, "STREAM.DELETE.S0", "") },
];

export const attacks = [...streams, ...mappings, ...consumers, ...documents, ...readings];
