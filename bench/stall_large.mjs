// stall_large.mjs: requests of 1 MB whose JSON is odd, roll-ups inside atomic batches, messages of 1 MB in compressed streams.
// The table has the form of an attack list: name, setup(w) (before the clock runs), attack(w): gives the answer to show.
const many = (n, f) => Array.from({ length: n }, (_, i) => f(i));
const say = (m) => (m === null ? "no answer" : m.status ? `status ${m.status}` : `${m.text().length} bytes, ${m.text().slice(0, 60)}`);
const ask = async (w, op, body = "", header = null) =>
  say(await w.request(`$JS.API.${op}`, typeof body === "string" ? body : JSON.stringify(body), header, 600000));
const must = async (answer) => {
  const said = await answer;
  if (said.includes('"error"') || said === "no answer") throw new Error(`setup: ${said}`);
};
const create = (w, name, more) => must(ask(w, `STREAM.CREATE.${name}`, { name, storage: "memory", subjects: [`${name}.>`], ...more }));
const SIZE = 990_000;

const bodies = {
  "deep arrays": `{"x":${"[".repeat(SIZE / 2)}${"]".repeat(SIZE / 2)}}`,
  "deep objects": `{"x":${'{"a":'.repeat(160000)}1${"}".repeat(160000)}}`,
  "commas": `{"x":[${",".repeat(SIZE)}]}`,
  "a list of ones": `{"x":[${"1,".repeat(SIZE / 2)}1]}`,
  "escapes": `{"x":"${"\\u00e9".repeat(160000)}"}`,
  "a long number": `{"x":${"9".repeat(SIZE)}}`,
  "blanks": `{"x":${" ".repeat(SIZE)}1}`,
  "subjects": `{"subjects":[${many(60000, (i) => `"S.a.${i}.*"`).join(",")}],"filter":"S.>","names":[${many(20, (i) => `"n${i}"`).join(",")}]}`,
};
const operations = ["STREAM.UPDATE.S", "STREAM.INFO.S", "STREAM.LIST", "STREAM.NAMES", "STREAM.PURGE.S", "STREAM.MSG.GET.S", "STREAM.MSG.DELETE.S", "STREAM.SNAPSHOT.S",
  "STREAM.RESTORE.R", "CONSUMER.CREATE.S.D", "CONSUMER.LIST.S", "CONSUMER.MSG.NEXT.S.C", "CONSUMER.PAUSE.S.C", "CONSUMER.RESET.S.C", "DIRECT.GET.S", "INFO",
  "$MAYFLY.TTL.GET.S", "$MAYFLY.TTL.SET.S", "$MAYFLY.TTL.TOUCH.S", "$MAYFLY.TTL.LIST.S", "$MAYFLY.TTL.STATS.S", "$MAYFLY.TTL.FORECAST.S", "$MAYFLY.TTL.POLICY.S"];
const documents = Object.entries(bodies).map(([name, text]) => ({
  name: `body: ${name}, ${operations.length} operations`,
  setup: async (w) => {
    await create(w, "S", { allow_direct: true, allow_msg_ttl: true });
    await must(ask(w, "CONSUMER.CREATE.S.C", { stream_name: "S", config: { name: "C", durable_name: "C", ack_policy: "explicit" } }));
  },
  attack: async (w) => {
    let answers = 0;
    for (const op of operations) answers += (await w.request(op.startsWith("$") ? op : `$JS.API.${op}`, text, null, 500)) !== null;
    return `${answers} answers`;
  },
}));

// The last message of a batch of two rolls up.
const batch = (kind) => ({
  name: `batch: roll-up of ${kind}, a million`, before: kind === "all" ? undefined : 250,
  setup: async (w) => {
    await create(w, "S", { allow_rollup_hdrs: true, allow_atomic: true });
    for (let i = 0; i < 1_000_000; i++) {
      w.publish(kind === "all" ? `S.${i % 1000}.${i}` : "S.one", "x");
      if (i % 10000 === 9999) await w.flush(60000);
    }
  },
  attack: async (w) => {
    w.publish("S.other", "x", ["Nats-Batch-Id: b", "Nats-Batch-Sequence: 1"]);
    return say(await w.request("S.one", "x", ["Nats-Batch-Id: b", "Nats-Batch-Sequence: 2", "Nats-Batch-Commit: 1", `Nats-Rollup: ${kind === "all" ? "all" : "sub"}`], 600000));
  },
});

const LARGE = 200;
const large = (storage) => async (w) => {
  await create(w, "S", { storage, compression: "s2", allow_direct: true });
  const text = "a line of text that compresses well, ".repeat(27000).slice(0, SIZE);
  for (let i = 0; i < LARGE; i++) await w.request(`S.${i}`, text, null, 60000);
};
const direct = async (w) => {
  const all = await Promise.all(many(LARGE, (i) => w.request(`$JS.API.DIRECT.GET.S.S.${i}`, "", null, 600000)));
  return `${all.filter((m) => m !== null && m.text().length === SIZE).length} of ${LARGE}`;
};
// Fewer bytes at a time than make a slow consumer of the attacker.
const AT_ONCE = 40;
const deliver = async (w) => {
  await must(ask(w, "CONSUMER.CREATE.S.C", { stream_name: "S", config: { name: "C", durable_name: "C", ack_policy: "none" } }));
  let n = 0, round;
  w.subscribe("inbox", () => ++n % AT_ONCE === 0 && round());
  while (n < LARGE) {
    const done = new Promise((ok) => (round = ok));
    w.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", JSON.stringify({ batch: AT_ONCE }), null, "inbox");
    await done;
  }
  return `${n} delivered`;
};
const compressed = ["memory", "file"].flatMap((storage) => [
  { name: `s2: ${LARGE} direct gets of 1 MB, ${storage}`, before: storage === "memory" ? 77 : undefined, setup: large(storage), attack: direct },
  { name: `s2: ${LARGE} deliveries of 1 MB, ${storage}`, setup: large(storage), attack: deliver },
]);

// A purge whose removals concern many consumers.
const purges = [
  { name: "purge of a filter, 1,000 consumers",
    setup: async (w) => {
      await create(w, "S");
      for (let i = 0; i < 20000; i++) w.publish(`S.${i % 100}.${i}`, "x");
      await w.flush(60000);
      for (let i = 0; i < 1000; i += 100)
        await Promise.all(many(100, (k) => must(ask(w, `CONSUMER.CREATE.S.c${i + k}`, { stream_name: "S", config: { name: `c${i + k}`, durable_name: `c${i + k}`, ack_policy: "explicit", mem_storage: true } }))));
    },
    attack: (w) => ask(w, "STREAM.PURGE.S", { filter: "S.*.>" }) },
];
// One message to many subscriptions, again and again.
const RECEIVERS = 2000;
const fanOut = [
  { name: `fan-out: 300 messages to ${RECEIVERS.toLocaleString("en")} subscriptions`,
    setup: async (w) => {
      for (let i = 0; i < RECEIVERS; i++) w.subscribe("many", () => {});
      await w.flush(60000);
    },
    attack: async (w) => {
      for (let i = 0; i < 300; i++) w.publish("many", "");
      await w.flush(600000);
      return "sent";
    } },
];
const subjects = [
  { name: "stream: 20,000 subjects", attack: (w) => ask(w, "STREAM.CREATE.B", { name: "B", storage: "memory", subjects: many(20000, (i) => `b.${i}.subject`) }) },
];

export const attacks = [...documents, batch("all"), batch("a subject"), ...compressed, ...purges, ...fanOut, ...subjects];
