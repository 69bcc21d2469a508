// hunt.mjs: random requests of one tenant at a server that holds much, for the trial `stalls`.
import { LIMIT_MS } from "./awake.mjs";

const many = (n, f) => Array.from({ length: n }, (_, i) => f(i));

// A tenant with large streams: S (many subjects), O (one subject), a consumer C of S that waits for many acks, small ones.
export class Tenant {
  constructor(wire, roll, scale) {
    Object.assign(this, { w: wire, roll, scale, made: 0 });
  }
  api(op, body = "", ms = LIMIT_MS) {
    return this.w.request(`$JS.API.${op}`, typeof body === "string" ? body : JSON.stringify(body), null, ms);
  }
  async must(op, body) {
    const m = await this.api(op, body, 60000);
    if (m === null || m.status || JSON.parse(m.text()).error) throw new Error(`${op}: ${m === null ? "no answer" : m.text().slice(0, 200)}`);
  }
  async publish(n, subject) {
    for (let i = 0; i < n; i++) {
      this.w.publish(subject(i), "x");
      if (i % 10000 === 9999) await this.w.flush(60000);
    }
    await this.w.flush(60000);
  }
  async consume(stream, name, n, config) {
    await this.must(`CONSUMER.CREATE.${stream}.${name}`, {
      stream_name: stream,
      config: { name, durable_name: name, ack_policy: "explicit", max_ack_pending: -1, ack_wait: 3600e9, mem_storage: true, ...config },
    });
    const inbox = `in.${name}.${++this.made}`;
    await new Promise((ok) => {
      let got = 0;
      this.w.subscribe(inbox, (m) => {
        if (m.status) return;
        this.ack = m.reply;
        if (++got === n) ok();
      });
      this.w.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify({ batch: n }), null, inbox);
    });
  }

  async fill() {
    const memory = { storage: "memory", allow_direct: true, allow_rollup_hdrs: true, allow_msg_ttl: true };
    await this.must("STREAM.CREATE.S", { name: "S", subjects: ["S.>"], ...memory });
    await this.must("STREAM.CREATE.O", { name: "O", subjects: ["O.>"], ...memory, allow_atomic: true });
    await this.publish(this.scale, (i) => `S.${i % 100}.${i}`);
    await this.publish(this.scale / 2, () => "O.one");
    await this.consume("S", "C", Math.floor(this.scale / 2), {});
    await this.consume("O", "A", Math.floor(this.scale / 4), { ack_policy: "all" });
    const all = many(Math.floor(this.scale / 100), (i) => this.must(`STREAM.CREATE.T${i}`, { name: `T${i}`, subjects: [`T.${i}.*`], ...memory }));
    await Promise.all(all);
  }

  seq() {
    return 1 + this.roll(this.scale);
  }
  filter() {
    return ["S.>", "S.*.>", `S.${this.roll(100)}.>`, `S.*.${this.roll(this.scale)}`, "S.*.none", `S.1.${this.roll(this.scale)}`, ">"][this.roll(7)];
  }
  patterns(most) {
    const n = 1 + this.roll(most), kind = this.roll(4);
    return many(n, (i) => [`n${this.made}.${i}`, `n${this.made}.${i}.*`, `*.n${this.made}.${i}`, `n${this.made}.${"a.".repeat(1 + (i % 4))}${i}`][kind]);
  }
  name() {
    return `N${this.made++}`;
  }
  some(list) {
    return list[this.roll(list.length)];
  }

  // The next request: [what it is, function that sends it and waits for its answer].
  next() {
    const [name, f] = this.some(KINDS);
    return [name, () => f(this)];
  }
}

const KINDS = Object.entries({
  "stream info": (t) => t.api("STREAM.INFO.S", t.some([{ deleted_details: true }, { subjects_filter: t.filter(), offset: t.roll(2) * t.roll(t.scale) }, ""])),
  "stream list": (t) => t.api("STREAM.LIST", { offset: t.roll(500) }),
  "stream names": (t) => t.api("STREAM.NAMES", { subject: t.some(["T.5.x", "S.>", "*.*", ">"]) }),
  "purge": (t) => t.api("STREAM.PURGE.S", t.some([{ filter: t.filter(), keep: t.roll(2) * t.roll(t.scale) }, { seq: t.seq() }, { keep: t.seq() }, { filter: t.filter(), seq: t.seq() }])),
  "purge of one subject": (t) => t.api("STREAM.PURGE.O", t.some([{ filter: "O.one", keep: t.roll(1000) }, { filter: "O.*" }, { keep: 10 }])),
  "roll-up": (t) => t.w.request(t.some(["S.x", "O.one"]), "x", [`Nats-Rollup: ${t.some(["all", "sub"])}`], LIMIT_MS),
  "message delete": (t) => t.api("STREAM.MSG.DELETE.S", { seq: t.seq(), no_erase: t.roll(2) === 0 }),
  "message get": (t) => t.api("STREAM.MSG.GET.S", t.some([{ last_by_subj: t.filter() }, { next_by_subj: t.filter(), seq: t.seq() }, { seq: t.seq() }])),
  "stream create": (t) => {
    const name = t.name();
    const more = t.some([{}, { sources: many(1 + t.roll(500), (i) => ({ name: `X${i}`, filter_subject: `x.${i}.*` })), subjects: undefined }, { metadata: Object.fromEntries(many(t.roll(5000), (i) => [`k${i}`, "v"])) }]);
    return t.api(`STREAM.CREATE.${name}`, { name, storage: "memory", subjects: t.patterns(8000), ...more });
  },
  "stream update": (t) =>
    t.api("STREAM.UPDATE.S", {
      name: "S", storage: "memory", subjects: t.roll(4) ? ["S.>"] : ["S.>", ...t.patterns(7000)], allow_direct: true, allow_rollup_hdrs: true, allow_msg_ttl: true,
      ...t.some([{ max_msgs: t.seq() }, { max_bytes: t.seq() * 40 }, { max_age: t.some([0, 1e9, 3600e9]) }, { max_msgs_per_subject: 1 + t.roll(3) }]),
    }),
  "update of one subject": (t) =>
    t.api("STREAM.UPDATE.O", { name: "O", storage: "memory", subjects: ["O.>"], allow_direct: true, allow_rollup_hdrs: true, allow_msg_ttl: true, allow_atomic: true, max_msgs_per_subject: t.seq() }),
  "junk": (t) =>
    t.api(`STREAM.CREATE.${t.name()}`, t.some([
      `{"name":"B","subjects":[${'"",'.repeat(t.roll(330000))}""]}`, `{"name":"B","x":${"[".repeat(t.roll(499000))}`, `{"name":"B","metadata":{${'"k":"v",'.repeat(t.roll(100000))}"k":"v"}}`,
      `{"name":"B","subject_transform":{"src":"b.*","dest":"{{${"{{wildcard(".repeat(t.roll(80000))}}}"}}`, "x".repeat(t.roll(1000000)),
    ])),
  "consumer create": (t) => {
    const name = t.name();
    const filters = t.some([{}, { filter_subject: t.filter() }, { filter_subjects: t.patterns(8000) }, { filter_subjects: many(1 + t.roll(3000), (i) => `S.${i % 100}.${i * 7}`) }]);
    const policy = t.some([{}, { deliver_policy: "last_per_subject", filter_subject: "S.>" }, { deliver_policy: "by_start_sequence", opt_start_seq: t.seq() }, { deliver_policy: "last" }, { deliver_policy: "by_start_time", opt_start_time: "2020-01-01T00:00:00Z" }]);
    return t.api(`CONSUMER.CREATE.S.${name}`, { stream_name: "S", config: { name, ack_policy: "explicit", mem_storage: true, ...policy, ...filters } });
  },
  "consumer update": (t) =>
    t.api("CONSUMER.CREATE.S.C", { stream_name: "S", config: { name: "C", durable_name: "C", ack_policy: "explicit", max_ack_pending: -1, ack_wait: 1e9 * (1000 + t.roll(3000)), mem_storage: true, ...t.some([{}, { filter_subject: t.filter() }]) } }),
  // A consumer that does not exist gives no answer.
  "consumer reset": async (t) => {
    t.w.publish("$JS.API.CONSUMER.RESET.S.C", JSON.stringify(t.some([{}, { seq: t.seq() }])), null, "nobody");
    await t.w.flush(20000);
  },
  "consumer delete": (t) => t.api(t.some(["CONSUMER.DELETE.S.C", "CONSUMER.DELETE.O.A"])),
  "consumer list": (t) => t.api("CONSUMER.LIST.S", { offset: t.roll(3) }),
  "pull": async (t) => {
    t.w.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", JSON.stringify({ batch: 1 + t.roll(t.scale), no_wait: true, expires: 1e9 }), null, t.some(["in.C.1", "nobody"]));
    await t.w.flush(20000);
  },
  "ack of all": async (t) => {
    if (t.ack) t.w.publish(t.ack, "+ACK");
    await t.w.flush(20000);
  },
  "direct batch": async (t) => {
    t.w.publish("$JS.API.DIRECT.GET.S", JSON.stringify(t.some([{ batch: 20000, seq: t.seq(), next_by_subj: t.filter() }, { multi_last: many(1 + t.roll(20000), (i) => `S.${i % 100}.${i}`) }, { multi_last: [t.filter()], up_to_seq: t.seq() }])), null, t.some(["nobody", "in.C.1"]));
    await t.w.flush(20000);
  },
  "direct get": (t) => t.api(`DIRECT.GET.S.${t.filter()}`),
  "requests to nobody": async (t) => {
    const [op, body] = t.some([["STREAM.INFO.S", '{"deleted_details":true}'], ["STREAM.LIST", ""], ["CONSUMER.LIST.S", ""], ["DIRECT.GET.S", '{"batch":10000,"seq":1,"next_by_subj":"S.>"}']]);
    for (let i = t.roll(1000); i > 0; i--) t.w.publish(`$JS.API.${op}`, body, null, "nobody");
    await t.w.flush(60000);
  },
  "batch": async (t) => {
    const n = 2 + t.roll(900);
    let last;
    for (let i = 1; i <= n; i++)
      last = t.w.request(`O.${i}`, "x", [`Nats-Batch-Id: b${t.made}`, `Nats-Batch-Sequence: ${i}`, ...(i === n ? ["Nats-Batch-Commit: 1"] : [])], LIMIT_MS);
    t.made++;
    await last;
  },
  "stream delete": (t) => t.api(`STREAM.DELETE.${t.some(["S", "O", `T${t.roll(100)}`])}`),
  "subscriptions": async (t) => {
    const sids = many(t.roll(10000), (i) => t.w.subscribe(`sub.${i}.*`, () => {}));
    await t.w.flush(20000);
    for (const sid of sids) t.w.write(`UNSUB ${sid}\r\n`);
    await t.w.flush(20000);
  },
});
