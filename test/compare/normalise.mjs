// normalise.mjs: marks what must differ between two servers, and leaves everything else as it came.
// Moments become <time ...> and pins <pin ...>: what stands for what is for the comparison to say.
const ZERO = "0001-01-01T00:00:00Z";
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,8}[1-9])?Z$/;
// The moment of the answer, or of something that several things may share.
const NOW = new Set(["ts", "last_active", "pinned_ts"]);
const STAMPS = new Set(["created", "first_ts", "last_ts", "time"]);
const NAMES = new Set(["name", "durable_name", "consumer", "stream_name"]);

// One for each server and history.
export class Normaliser {
  constructor() {
    this.names = new Map();
    this.retention = new Map(); // of streams
  }

  // A name that this server made up, known to the history as `as`.
  bind(as, name) {
    this.names.set(name, `<${as}>`);
  }

  time(text) {
    if (text === ZERO || text === "<some>") return text;
    if (!TIME.test(text)) return `not a time: ${text}`;
    return `<time ${text}>`;
  }

  name(text) {
    return this.names.get(text) ?? text;
  }

  // A parsed JSON answer; changed in place.
  json(value, key = "") {
    if (typeof value === "string") return this.#text(key, value);
    if (Array.isArray(value)) {
      if (key === "consumers") this.#sort(value);
      if (key === "sources" && value[0]?.lag !== undefined) value.sort((a, b) => (a.name < b.name ? -1 : 1)); // nats-server has no order there
      for (let i = 0; i < value.length; i++) value[i] = this.json(value[i], key === "consumers" ? "name" : "");
      return value;
    }
    if (value === null || typeof value !== "object") return key === "pause_remaining" ? "<some>" : value;
    // A message that nobody wants leaves a moment of a clock that nats-server reads now and then.
    if (value.state && this.#interest(value) && TIME.test(value.state.last_ts)) value.state.last_ts = "<some>";
    for (const k of Object.keys(value)) value[k] = this.json(value[k], k);
    if (value.active >= 0 && value.lag !== undefined) value.active = "<some>"; // since it heard of its origin
    if (key === "client" && value.kind) this.#client(value);
    if (key === "api") {
      // Polls are counted too, and each server is polled as often as it takes.
      value.total = "<some>";
      value.errors = "<some>";
      delete value.inflight;
    }
    return value;
  }

  // Whether it is about an interest stream; what advisories tell has the name only.
  #interest({ config, stream }) {
    if (config?.retention) this.retention.set(config.name, config.retention);
    return this.retention.get(config?.name ?? stream) === "interest";
  }

  // Who asked: the connection's number, when it came and how far it is are its own.
  #client(c) {
    if (TIME.test(c.start)) c.start = "<now>";
    if (c.id > 0) c.id = "<number>";
    if (c.rtt > 0) c.rtt = "<some>";
  }

  // Names come in order; those that a server made up stand elsewhere on the other one.
  #sort(list) {
    const name = (v) => (typeof v === "string" ? v : v.name);
    if (list.every((v, i) => i === 0 || name(list[i - 1]) < name(v))) list.sort((a, b) => (this.name(name(a)) < this.name(name(b)) ? -1 : 1));
  }

  #text(key, value) {
    if (NOW.has(key)) return TIME.test(value) && value !== ZERO ? "<now>" : value;
    if (STAMPS.has(key)) return this.time(value);
    if (NAMES.has(key)) return this.name(value);
    if (key === "description") return this.sentence(value);
    if (key === "deliver_subject") return value.replace(/^(\$JS\.SNAPSHOT\.RESTORE\.[^.]+\.)[0-9A-Za-z]{22}$/, "$1<id>").replace(/^(\$JS\.[MS]\.)[0-9A-Za-z]{8}$/, "$1<rnd>");
    if (key === "hdrs") return this.headers(Buffer.from(value, "base64").toString("latin1"));
    if (key === "pinned_client_id" || key === "pinned_id") return `<pin ${value}>`;
    return value;
  }

  // An error or a request may name consumers.
  sentence(value) {
    for (const [name, as] of this.names) value = value.replace(name, as);
    // Names that a server made up stand elsewhere in the order on the other one.
    return value.replace(/(violates consumers: )(.*)$/, (_, text, names) => text + names.split(", ").sort().join(", "));
  }

  headers(block) {
    if (!block) return block;
    // The last word tells when the origin was created.
    block = block.replace(/^(Nats-Stream-Source:(?: [^ \r]+){5}) [0-9A-Za-z]{8}\r$/gm, "$1 <identity>\r");
    return block.replace(/^(Nats-Time-Stamp|Nats-Pin-Id|Nats-Schedule-Next|Nats-Subject): (.*)\r$/gm, (line, k, v) => {
      if (k === "Nats-Pin-Id") return `${k}: <pin ${v}>\r`;
      if (k === "Nats-Schedule-Next") return `${k}: ${TIME.test(v) ? "<when>" : v}\r`;
      if (k === "Nats-Subject") return `${k}: ${this.reply(v).replace(/^(\$JS\.ACK\.(?:<[^>]*>|[^.<]+)(?:\.(?:<[^>]*>|[^.<]+)){5})\.\d+/, "$1.<pending>")}\r`;
      return `${k}: ${this.time(v)}\r`;
    });
  }

  // $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<ns>.<pending>
  reply(subject) {
    if (subject.startsWith("$JS.ACK.")) {
      const t = subject.split(".");
      t[3] = this.name(t[3]);
      if (/^\d{19}$/.test(t[7])) t[7] = this.time(fromNanos(t[7]));
      return t.join(".");
    }
    if (subject.startsWith("$JS.FC.")) {
      const t = subject.split(".");
      t[3] = this.name(t[3]);
      t[4] = t[4].length === 4 ? "<rnd>" : t[4];
      return t.join(".");
    }
    if (subject.startsWith("$JS.API.CONSUMER.")) return subject.split(".").map((t) => this.name(t)).join(".");
    return subject;
  }

  // Any message: what is JSON is compared as JSON, all else byte for byte.
  message(m, { json = true } = {}) {
    const out = {};
    if (m.subject) out.subject = this.subject(m.subject);
    if (m.reply) out.reply = this.reply(m.reply);
    if (m.hdr) out.hdr = this.headers(m.hdr);
    if (m.data) out.data = (json ? this.parsed(m.data) : undefined) ?? m.data;
    return out;
  }

  subject(subject) {
    if (!subject.startsWith("$JS.EVENT.")) return subject;
    return subject.split(".").map((t) => this.name(t)).join(".");
  }

  parsed(text) {
    if (text[0] !== "{") return undefined;
    try {
      return this.json(JSON.parse(text));
    } catch {
      return undefined;
    }
  }
}

// The moment of a message as its other answers write it.
function fromNanos(ns) {
  const frac = ns.slice(-9).replace(/0+$/, "");
  return new Date(Number(ns.slice(0, -9)) * 1000).toISOString().slice(0, 19) + (frac && "." + frac) + "Z";
}

// Advisories have ids of their own and no order among each other, nor have the moments in them.
// sent: the lengths of what was restored.
export function advisories(list, normaliser, sent) {
  const texts = list.map((m) => {
    const out = normaliser.message(m);
    if (typeof out.data === "object") {
      if (/^[0-9A-Za-z]{22}$/.test(out.data.id)) out.data.id = "<id>";
      if (typeof out.data.timestamp === "string") out.data.timestamp = "<now>";
      for (const k of ["start", "end"]) if (out.data[k]) out.data[k] = "<now>";
      if (sent?.has(out.data.bytes)) out.data.bytes = "<as sent>";
      if (out.data.ack_time !== undefined) out.data.ack_time = "<some>";
    }
    return JSON.stringify(out);
  });
  const key = (t) => t.replace(/<(time|pin) [^>]*>/g, "<$1>");
  return texts.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
