// stall_state.mjs: one request at much state: roll-ups, purges, consumers with a million unacknowledged messages, pages.
// The table has the form of an attack list: name, setup(w) (before the clock runs), attack(w, ready, server): gives the answer
// to show; before: the wait of a foreign PING before this was mended, where it was measured.
const many = (n, f) => Array.from({ length: n }, (_, i) => f(i));
const say = (m) => (m === null ? "no answer" : m.status ? `status ${m.status}` : `${m.text().length} bytes, ${m.text().slice(0, 60)}`);
const ask = async (w, op, body = "", header = null) =>
  say(await w.request(`$JS.API.${op}`, typeof body === "string" ? body : JSON.stringify(body), header, 600000));
const must = async (answer) => {
  const said = await answer;
  if (said.includes('"error"') || said === "no answer") throw new Error(`setup: ${said}`);
};
const create = (w, name, more) => must(ask(w, `STREAM.CREATE.${name}`, { name, storage: "memory", subjects: [`${name}.>`], ...more }));
const publish = async (w, n, subject) => {
  for (let i = 0; i < n; i++) {
    w.publish(subject(i), "x");
    if (i % 10000 === 9999) await w.flush(60000);
  }
  await w.flush(60000);
};
const million = 1_000_000;

const keys = (more) => async (w) => {
  await create(w, "S", { allow_rollup_hdrs: true, ...more });
  await publish(w, million, (i) => `S.${i % 1000}.${i}`);
};
const oneSubject = async (w) => {
  await create(w, "S", { allow_rollup_hdrs: true });
  await publish(w, million, () => "S.one");
};
const consumer = (w, name, more) =>
  must(ask(w, `CONSUMER.CREATE.S.${name}`, { stream_name: "S", config: { name, durable_name: name, ack_policy: "explicit", ...more } }));
// A consumer that waits for a million acks; nothing of it is written to a disk.
const unacked = (more) => async (w) => {
  await keys()(w);
  await consumer(w, "C", { max_ack_pending: -1, ack_wait: 3600e9, mem_storage: true, ...more });
  for (let got = 0; got < million; ) {
    const upto = got + 50000;
    const done = new Promise((ok) => {
      const sid = w.subscribe(`inbox.${got}`, () => ++got === upto && ok(w.write(`UNSUB ${sid}\r\n`)));
    });
    w.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", '{"batch":50000}', null, `inbox.${got}`);
    await done;
  }
};
const streams = (n, more) => async (w) => {
  for (let i = 0; i < n; i += 100) await Promise.all(many(100, (k) => create(w, `T${i + k}`, more)));
};
const consumers = (n) => async (w) => {
  await create(w, "S");
  for (let i = 0; i < n; i += 100) await Promise.all(many(100, (k) => consumer(w, `c${i + k}`, { mem_storage: true })));
};
const page = (path) => async (w, ready, server) => {
  const r = await fetch(`${server.http}${path}`);
  return `${r.status}, ${(await r.text()).length} bytes`;
};

export const attacks = [
  { name: "roll-up of all, a million", before: 212, setup: keys(), attack: async (w) => say(await w.request("S.x", "x", ["Nats-Rollup: all"])) },
  { name: "roll-up of a subject, a million", before: 252, setup: oneSubject, attack: async (w) => say(await w.request("S.one", "x", ["Nats-Rollup: sub"])) },
  { name: "purge of all, a million", setup: keys(), attack: (w) => ask(w, "STREAM.PURGE.S", {}) },
  { name: "purge up to a sequence, a million", setup: keys(), attack: (w) => ask(w, "STREAM.PURGE.S", { seq: million - 10 }) },
  { name: "purge and keep 10, a million", setup: keys(), attack: (w) => ask(w, "STREAM.PURGE.S", { keep: 10 }) },
  { name: "purge and keep 900,000, a million", setup: keys(), attack: (w) => ask(w, "STREAM.PURGE.S", { keep: 900000 }) },
  { name: "purge of a subject, a million messages", setup: oneSubject, attack: (w) => ask(w, "STREAM.PURGE.S", { filter: "S.one" }) },
  { name: "reset, a million unacked", setup: unacked(), attack: (w) => ask(w, "CONSUMER.RESET.S.C", {}) },
  { name: "delete, a million unacked", setup: unacked(), attack: (w) => ask(w, "CONSUMER.DELETE.S.C") },
  { name: "new ack_wait, a million unacked", setup: unacked(), attack: (w) =>
      ask(w, "CONSUMER.CREATE.S.C", { stream_name: "S", config: { name: "C", durable_name: "C", ack_policy: "explicit", max_ack_pending: -1, ack_wait: 1800e9, mem_storage: true } }) },
  { name: "purge of all, a million unacked", setup: unacked(), attack: (w) => ask(w, "STREAM.PURGE.S", {}) },
  { name: "purge of a filter, a million unacked", before: 41, setup: unacked(), attack: (w) => ask(w, "STREAM.PURGE.S", { filter: "S.*.>" }) },
  { name: "delete of the stream, a million unacked", setup: unacked(), attack: (w) => ask(w, "STREAM.DELETE.S") },
  { name: "new backoff, a million unacked", before: 30, setup: unacked(), attack: (w) =>
      ask(w, "CONSUMER.CREATE.S.C", { stream_name: "S", config: { name: "C", durable_name: "C", ack_policy: "explicit", max_ack_pending: -1, ack_wait: 3600e9, backoff: [3600e9, 3700e9], max_deliver: 5, mem_storage: true } }) },
  { name: "page: /jsz?streams=1&config=1, 10,000", before: 90, setup: streams(10000), attack: page("/jsz?streams=1&config=1&consumers=1&accounts=1") },
  { name: "page: /jsz, 10,000 consumers of a stream", setup: consumers(10000), attack: page("/jsz?streams=1&config=1&consumers=1&accounts=1") },
  { name: "page: /jsz 100 times, 2,000 streams", setup: streams(2000),
    attack: async (w, ready, server) => (await Promise.all(many(100, () => page("/jsz?streams=1&config=1&accounts=1")(w, ready, server)))).slice(0, 2).join("; ") },
  { name: "page: /metrics, 10,000", before: 25, setup: streams(10000), attack: page("/metrics") },
  { name: "page: /ttlz, 1,000 of 10,000", setup: streams(10000), attack: page("/ttlz?limit=1000&offset=9000") },
  { name: "page: /healthz, 10,000", setup: streams(10000), attack: page("/healthz") },
  { name: "page: /healthz?details=1 100 times, 10,000", setup: streams(10000),
    attack: async (w, ready, server) => (await Promise.all(many(100, () => page("/healthz?details=1")(w, ready, server)))).slice(0, 2).join("; ") },
  { name: "page: /accountz, 10,000 accounts", config: `accounts { ${many(10000, (i) => `A${i} {}`).join(", ")} }`, attack: page("/accountz") },
  { name: "20,000 roll-ups at once, 20 consumers",
    setup: async (w) => {
      await create(w, "S", { allow_rollup_hdrs: true });
      for (let i = 0; i < 20; i++) await consumer(w, `c${i}`, { mem_storage: true });
    },
    attack: async (w) => {
      for (let i = 0; i < 19999; i++) w.publish(`S.${i}`, "x", ["Nats-Rollup: sub"]);
      return say(await w.request("S.last", "x", ["Nats-Rollup: sub"], 600000));
    } },
  { name: "page: /connz and /subsz, 200,000 subs", setup: (w) => many(200000, (i) => w.subscribe(`a.${i}`, () => {})),
    attack: async (w, ready, server) => `${await page("/connz?subs=detail")(w, ready, server)}; ${await page("/subsz?subs=1&limit=200000")(w, ready, server)}` },
  { name: "page: a tenant's CONNZ with 200,000 subs", setup: (w) => many(200000, (i) => w.subscribe(`a.${i}`, () => {})),
    attack: async (w) => say(await w.request("$SYS.REQ.ACCOUNT.PING.CONNZ", '{"subscriptions":true,"subscriptions_detail":true}', null, 600000)) },
  { name: "page: a tenant's CONNZ 10,000 times", setup: (w) => many(2000, (i) => w.subscribe(`a.${i}`, () => {})),
    attack: async (w) => {
      for (let i = 0; i < 10000; i++) w.publish("$SYS.REQ.ACCOUNT.PING.CONNZ", '{"subscriptions":true}', null, "answers");
      await w.flush(600000);
      return "sent";
    } },
];
