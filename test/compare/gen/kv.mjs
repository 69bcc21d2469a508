// kv.mjs: what client libraries do to a bucket, in their words.
import { HOUR, bucket } from "./streams.mjs";

const KEYS = ["k", "l", "m.n", "o"];

function pub(s, key, data, hdr) {
  const o = { op: "pub", subj: `${s.own}.${key}` };
  if (data !== undefined) o.data = data;
  if (hdr?.length) o.hdr = hdr;
  s.published(o);
  return o;
}

// A watcher, as an ordered push consumer.
function watch(r, w, s) {
  const id = `W${++w.names}`;
  const deliver = `d.${s.name}.${id}`;
  const c = { name: id, deliver_subject: deliver, ack_policy: "none", max_deliver: 1, mem_storage: true, num_replicas: 1, flow_control: true, idle_heartbeat: HOUR, inactive_threshold: HOUR, filter_subject: r.pick([`${s.own}.>`, `${s.own}.>`, `${s.own}.k`, `${s.own}.*`]), deliver_policy: r.pick(["last_per_subject", "all", "new"]) };
  if (r.chance(30)) c.headers_only = true;
  s.consumers.push({ id, push: deliver, none: true, config: c });
  return [
    { op: "sub", id: deliver, subj: deliver },
    { op: "api", subj: `CONSUMER.CREATE.${s.name}.${id}${r.chance(50) ? `.${c.filter_subject}` : ""}`, body: { stream_name: s.name, config: c, action: "create" } },
  ];
}

export function step(r, w, s) {
  const key = r.pick(KEYS);
  const subject = `${s.own}.${key}`;
  const rev = r.chance(75) ? (s.last.get(subject) ?? 0) : r.below(s.seq + 2);
  const ttl = r.chance(25) ? [`Nats-TTL: ${r.pick(["1h", "2h0m0s", "never"])}`] : [];
  switch (r.weighted({ put: 20, create: 12, update: 12, del: 8, purge: 6, get: 12, rev: 4, watch: 3, unwatch: 1, purgeKey: 2, keys: 2, status: 2, check: 2 })) {
    case "put":
      return pub(s, key, r.pick(["v", "", "{}", "value ".repeat(5)]));
    case "create":
      return pub(s, key, "c", ["Nats-Expected-Last-Subject-Sequence: 0", ...ttl]);
    case "update":
      return pub(s, key, "u", [`Nats-Expected-Last-Subject-Sequence: ${rev}`, ...ttl]);
    case "del":
      return pub(s, key, undefined, ["KV-Operation: DEL", ...(r.chance(30) ? [`Nats-Expected-Last-Subject-Sequence: ${rev}`] : [])]);
    case "purge":
      return pub(s, key, undefined, ["KV-Operation: PURGE", "Nats-Rollup: sub", ...ttl]);
    case "get":
      return { op: "get", subj: `${s.name}.${subject}` };
    case "rev":
      return { op: "get", subj: s.name, body: { seq: r.between(1, s.seq + 1) } };
    case "watch":
      return watch(r, w, s);
    case "unwatch": {
      const k = s.consumers.find((x) => x.push);
      if (!k) return { op: "get", subj: `${s.name}.${subject}` };
      s.consumers = s.consumers.filter((x) => x !== k);
      return [{ op: "unsub", id: k.push }, { op: "api", subj: `CONSUMER.DELETE.${s.name}.${k.id}` }];
    }
    case "purgeKey":
      return { op: "api", subj: `STREAM.PURGE.${s.name}`, body: { filter: subject, ...(r.chance(50) ? { keep: 1 } : {}) } };
    case "keys":
      return { op: "api", subj: `STREAM.INFO.${s.name}`, body: { subjects_filter: ">" } };
    case "status":
      return { op: "api", subj: `STREAM.INFO.${s.name}` };
    default:
      return { op: "check" };
  }
}

export function open(r, w) {
  const c = bucket(r, "b1");
  w.add(c.name, c);
  return { op: "api", subj: `STREAM.CREATE.${c.name}`, body: c };
}
