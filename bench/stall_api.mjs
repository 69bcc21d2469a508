// stall_api.mjs: API requests and direct gets that read much.  The table has the form of an attack list: name, setup(w)
// (before the clock runs), attack(w, ready): gives the answer to show.
const many = (n, f) => Array.from({ length: n }, (_, i) => f(i));
const say = (m) => (m === null ? "no answer" : m.status ? `status ${m.status}` : `${m.text().length} bytes, ${m.text().slice(0, 60)}`);
const ask = async (w, op, body = "") =>
  say(await w.request(`$JS.API.${op}`, typeof body === "string" ? body : JSON.stringify(body), null, 600000));
const must = async (answer) => {
  const said = await answer;
  if (said.includes('"error"') || said === "no answer") throw new Error(`setup: ${said}`);
};
const create = (w, name, more) =>
  must(ask(w, `STREAM.CREATE.${name}`, { name, storage: "memory", subjects: [`${name}.>`], allow_direct: true, ...more }));
const publish = async (w, n, subject) => {
  for (let i = 0; i < n; i++) {
    w.publish(subject(i), "x");
    if (i % 10000 === 9999) await w.flush(60000);
  }
  await w.flush(60000);
};
// Requests whose answers nobody receives, or n with answers that are awaited.
const toNobody = async (w, n, op, body) => {
  for (let i = 0; i < n; i++) w.publish(`$JS.API.${op}`, JSON.stringify(body), null, "nobody.listens");
  await w.flush(600000);
  return `${n} sent`;
};
const awaited = async (w, n, op, body) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const all = await Promise.all(many(n, () => w.request(`$JS.API.${op}`, text, null, 600000)));
  return `${all.filter((x) => x !== null).length} of ${n} answered`;
};
// One request, and its answers up to the last one (a header block without a message).
const batch = (w, op, body) =>
  new Promise((ok) => {
    let n = 0;
    const inbox = `_INBOX.batch${Math.random().toString(36).slice(2)}`;
    w.subscribe(inbox, (m) => {
      n++;
      if (m.status) ok(`${n} answers, ${m.status}`);
    });
    w.publish(`$JS.API.${op}`, JSON.stringify(body), null, inbox);
  });

const subjects = (n) => async (w) => {
  await create(w, "S");
  await publish(w, n, (i) => `S.${i % 1000}.${i}`);
};
// Every second message of n is deleted.
const gaps = (n) => async (w) => {
  await create(w, "S", { max_msgs_per_subject: 1 });
  await publish(w, n, (i) => (i % 2 === 0 ? "S.same" : `S.${i}`));
};
const streams = (n) => async (w) => {
  for (let i = 0; i < n; i += 100) await Promise.all(many(100, (k) => create(w, `T${i + k}`)));
};
const consumers = (n) => async (w) => {
  await create(w, "S");
  for (let i = 0; i < n; i += 100)
    await Promise.all(
      many(100, (k) =>
        must(ask(w, `CONSUMER.CREATE.S.C${i + k}`, { stream_name: "S", config: { name: `C${i + k}`, durable_name: `C${i + k}`, ack_policy: "explicit", mem_storage: true } })),
      ),
    );
};

const million = 1_000_000;
export const attacks = [
  { name: "nothing", attack: (w) => new Promise((ok) => setTimeout(() => ok(""), 500)).then(() => w.flush()) },
  {
    name: "multi_last: 60,000 wildcards, 5,000 subjects",
    before: 15800,
    setup: async (w) => {
      await create(w, "S");
      await publish(w, 5000, (i) => `S.${i}.x`);
    },
    attack: (w) => batch(w, "DIRECT.GET.S", { multi_last: many(60000, (i) => `S.*.y${i}`) }),
  },
  {
    name: "multi_last: 60,000 literals, 5,000 subjects",
    setup: async (w) => {
      await create(w, "S");
      await publish(w, 5000, (i) => `S.${i}`);
    },
    attack: (w) => batch(w, "DIRECT.GET.S", { multi_last: many(60000, (i) => `S.${i}`) }),
  },
  {
    name: "multi_last: 1,000 wildcards, a million subj.",
    before: 54,
    setup: subjects(million),
    attack: (w) => batch(w, "DIRECT.GET.S", { multi_last: many(1000, (i) => `S.*.${i * 1000}`) }),
  },
  {
    name: "multi_last: up to the middle",
    setup: async (w) => {
      await create(w, "S");
      await publish(w, 400000, (i) => `S.${i % 1000}`);
    },
    attack: (w) => batch(w, "DIRECT.GET.S", { multi_last: ["S.>"], up_to_seq: 200000 }),
  },
  { name: "info: deleted_details, 500,000", setup: gaps(million), attack: (w) => ask(w, "STREAM.INFO.S", { deleted_details: true }) },
  {
    name: "info: deleted_details to nobody, 300",
    before: 19800,
    setup: gaps(million),
    attack: (w) => toNobody(w, 300, "STREAM.INFO.S", { deleted_details: true }),
  },
  {
    name: "info: deleted_details, audited",
    setup: gaps(million),
    attack: (w) => {
      w.subscribe("$JS.EVENT.ADVISORY.API", () => {});
      return ask(w, "STREAM.INFO.S", { deleted_details: true });
    },
  },
  { name: "info: a page of a million subjects", before: 200, setup: subjects(million), attack: (w) => ask(w, "STREAM.INFO.S", { subjects_filter: ">" }) },
  {
    name: "info: the last page of a million subjects",
    setup: subjects(million),
    attack: (w) => ask(w, "STREAM.INFO.S", { subjects_filter: ">", offset: 900000 }),
  },
  { name: "info: 10,000 at once", setup: (w) => create(w, "S"), attack: (w) => awaited(w, 10000, "STREAM.INFO.S", "") },
  {
    name: "batch: 5,000 to nobody",
    before: 10300,
    setup: subjects(20000),
    attack: (w) => toNobody(w, 5000, "DIRECT.GET.S", { batch: 20000, seq: 1, next_by_subj: "S.>" }),
  },
  { name: "batch: 5 of 20,000", setup: subjects(20000), attack: async (w) =>
      (await Promise.all(many(5, () => batch(w, "DIRECT.GET.S", { batch: 20000, seq: 1, next_by_subj: "S.>" })))).at(-1) },
  {
    name: "batch: wildcard filter, a million subjects",
    setup: subjects(million),
    attack: (w) => batch(w, "DIRECT.GET.S", { batch: 10, seq: 500000, next_by_subj: "S.*.777777" }),
  },
  {
    name: "direct: last of a wildcard, a million, 100",
    setup: subjects(million),
    attack: (w) => awaited(w, 100, "DIRECT.GET.S.S.*.777777", ""),
  },
  {
    name: "direct: next of a subject, from the middle, 100",
    setup: async (w) => {
      await create(w, "S");
      await publish(w, 500000, () => "S.other");
      await publish(w, 500000, () => "S.one");
    },
    attack: (w) => awaited(w, 100, "DIRECT.GET.S", { next_by_subj: "S.one", seq: 2 }),
  },
  { name: "direct: 10,000 at once", setup: subjects(1000), attack: (w) => awaited(w, 10000, "DIRECT.GET.S.S.1.1", "") },
  {
    name: "get: last of a wildcard, a million, 100",
    setup: subjects(million),
    attack: (w) => awaited(w, 100, "STREAM.MSG.GET.S", { last_by_subj: "S.*.777777" }),
  },
  {
    name: "get: next of a wildcard, a million, 100",
    setup: subjects(million),
    attack: (w) => awaited(w, 100, "STREAM.MSG.GET.S", { next_by_subj: "S.*.777777" }),
  },
  { name: "list: 10,000 streams, 100", before: 214, setup: streams(10000), attack: (w) => awaited(w, 100, "STREAM.LIST", "") },
  { name: "names: 10,000 streams by subject, 1,000", setup: streams(10000), attack: (w) => awaited(w, 1000, "STREAM.NAMES", { subject: "T5.x" }) },
  { name: "account: 10,000 streams, 1,000", setup: streams(10000), attack: (w) => awaited(w, 1000, "INFO", "") },
  { name: "consumers: list of 10,000, 100", setup: consumers(10000), attack: (w) => awaited(w, 100, "CONSUMER.LIST.S", { offset: 5000 }) },
  { name: "consumers: names of 10,000, 1,000", setup: consumers(10000), attack: (w) => awaited(w, 1000, "CONSUMER.NAMES.S", { offset: 5000 }) },
  {
    name: "purge: a filter, a million subjects",
    setup: subjects(million),
    attack: (w) => ask(w, "STREAM.PURGE.S", { filter: "S.*.777777" }),
  },
  {
    name: "purge: a filter and keep, a million subjects",
    setup: subjects(million),
    attack: (w) => ask(w, "STREAM.PURGE.S", { filter: "S.*.>", keep: 10 }),
  },
];
