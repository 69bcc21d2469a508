// compare.mjs: two answers side by side: equal, accepted by a rule, or a finding.

const MOMENTS = /<(time|pin) [^>]*>/g;

// The messages of one answer, normalised.
export function compareMessages(list, normaliser, o) {
  const api = o.op === "api" || o.op === "check" || o.op === "pub";
  return list.map((m) => {
    const out = normaliser.message(m, { json: api });
    if (out.subject?.startsWith("_INBOX.")) out.subject = "<inbox>" + out.subject.replace(/^_INBOX\.[cp]\.\d+/, "");
    return out;
  });
}

// kind(O): what an operation is counted as.
export function kind(o) {
  if (o.op !== "api" && o.op !== "check") return o.op;
  if (o.op === "check" && !o.subj) return "check";
  const t = o.subj.split(".");
  const known = t[0] === "STREAM" ? (t[1] === "MSG" ? 3 : 2) : t[0] === "CONSUMER" ? (t[1] === "DURABLE" ? 3 : 2) : 1;
  return t.slice(0, known).join(".");
}

export class Findings {
  constructor(history, rules) {
    this.history = history;
    this.rules = rules;
    this.counts = new Map();
    this.used = new Map();
    this.compared = 0;
    this.diff = null;
    this.pairs = [new Map(), new Map()]; // a moment of ours -> the same moment of theirs, and back
    this.ended = false; // a rule said that the two go different ways from here
    this.refused = new Set(); // operations that both answered with an error
    this.unmade = new Set(); // streams whose restore failed at its end
    this.stopped = new Map(); // stream -> mayflyd's consumers when it was about to end
    this.started = new Map(); // stream -> nats-server's consumers when it had started again
  }

  get over() {
    return this.diff !== null || this.ended;
  }

  count(o) {
    const k = kind(o);
    this.counts.set(k, (this.counts.get(k) ?? 0) + 1);
  }

  answers(index, o, [ours, theirs]) {
    this.compared++;
    const a = JSON.stringify(ours);
    const b = JSON.stringify(theirs);
    const plain = [a.replace(MOMENTS, "<$1>"), b.replace(MOMENTS, "<$1>")];
    this.#remember(index, o, ours, theirs, plain[1]);
    if (plain[0] === plain[1]) return this.#moments(index, o, a, b);
    [ours, theirs] = plain.map((t) => JSON.parse(t));
    const context = { history: this.history, index, o, ours, theirs, refused: this.refused, unmade: this.unmade, stopped: this.stopped, started: this.started };
    const rule = this.rules.match(context);
    if (rule) return this.#accept(rule);
    const where = firstDifference(ours, theirs);
    this.diff = { index, o, ours, theirs, where, signature: `${kind(o)} ${where.path} ${short(where.ours)} | ${short(where.theirs)}` };
  }

  // What rules ask about answers that came before.
  #remember(index, o, ours, theirs, text) {
    if (ours[0]?.data?.error && theirs[0]?.data?.error) this.refused.add(o);
    if (o.restore && [ours, theirs].every((l) => l.length > 1 && l.at(-1).data?.error)) this.unmade.add(o.s);
    if (o.op !== "check" || !o.subj.startsWith("CONSUMER.LIST.") || this.history.ops[index].op !== "restart") return;
    const stream = o.subj.slice(14);
    this.started.set(stream, JSON.parse(text)[0]?.data?.consumers);
    if (this.stopped.get(stream)?.index !== index) this.stopped.set(stream, { index, consumers: JSON.parse(JSON.stringify(ours[0]?.data?.consumers ?? [])) });
  }

  // A stream was restored: nats-server's consumers of it.
  begun(stream, consumers) {
    this.started.set(stream, JSON.parse(JSON.stringify(consumers).replace(MOMENTS, "<$1>")));
  }

  // A stream was restored crosswise: each server tells the other's moments now, and they stand for the same.
  crossed() {
    for (const [x, y] of [...this.pairs[0]]) {
      this.pairs[0].set(y, x);
      this.pairs[1].set(x, y);
    }
  }

  #accept(rule) {
    for (const r of rule.used ?? [rule]) this.used.set(r.id, (this.used.get(r.id) ?? 0) + 1);
    if (rule.ends) this.ended = true;
  }

  // Moments differ, but what is one moment on one server is one on the other.
  #moments(index, o, a, b) {
    const [x, y] = [a.match(MOMENTS), b.match(MOMENTS)];
    for (let i = 0; i < x?.length; i++) {
      const [to, from] = [this.pairs[0].get(x[i]) ?? y[i], this.pairs[1].get(y[i]) ?? x[i]];
      if (to !== y[i] || from !== x[i]) {
        const rule = this.rules.match({ history: this.history, index, o, ours: JSON.parse(a), theirs: JSON.parse(b), moment: true });
        if (rule) return this.#accept(rule);
        const where = { path: `moment ${i}`, ours: `${x[i]}, before for ${to}`, theirs: `${y[i]}, before for ${from}` };
        this.diff = { index, o, ours: JSON.parse(a), theirs: JSON.parse(b), where, signature: `${kind(o)} another moment` };
        return;
      }
      this.pairs[0].set(x[i], y[i]);
      this.pairs[1].set(y[i], x[i]);
    }
  }

  fallen(index, texts) {
    this.diff = { index, o: this.history.ops[index], ours: texts, theirs: [], where: { path: "", ours: texts[0], theirs: "" }, signature: `fallen ${texts[0].slice(0, 60)}` };
  }
}

// Where two values first differ: a path, numbers left out, so that like differences look alike.
export function firstDifference(a, b, path = "") {
  if (JSON.stringify(a) === JSON.stringify(b)) return null;
  const objects = a && b && typeof a === "object" && typeof b === "object" && Array.isArray(a) === Array.isArray(b);
  if (!objects) return { path, ours: a, theirs: b };
  if (Array.isArray(a)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const d = i < a.length && i < b.length ? firstDifference(a[i], b[i], `${path}[]`) : { path: `${path}[]`, ours: a[i], theirs: b[i] };
      if (d) return d;
    }
  }
  // An error against an answer is the plainest thing to say.
  if (("error" in a) !== ("error" in b)) return { path: `${path}.error`, ours: a.error, theirs: b.error };
  for (const k of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const d = firstDifference(a[k], b[k], `${path}.${k}`);
    if (d) return d;
  }
  return { path: `${path} (order of keys)`, ours: Object.keys(a).join(), theirs: Object.keys(b).join() };
}

function short(v) {
  if (v && typeof v === "object") return v.err_code ? `${v.err_code} ${String(v.description).replace(/\d+/g, "N")}` : Array.isArray(v) ? "list" : "object";
  if (typeof v === "number") return "N";
  return String(v).replace(/\r\n/g, "~").replace(/\d+/g, "N").slice(0, 60);
}
