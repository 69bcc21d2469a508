// rules_help.mjs: what the rules ask about operations, answers and what came before.
export const api = (o, verb) => (o.op === "api" || o.op === "check") && o.subj.startsWith(verb);
export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
// Deliveries without the pending count at the end of their ack subjects.  Its digits are part of what max_bytes
// counts: they are given back to the bytes that a status says are left.
export function blind(list) {
  let digits = 0;
  return list.map((m) => {
    digits += /\.(\d+)$/.exec(m.reply ?? "")?.[1].length ?? 0;
    return { ...m, reply: m.reply?.replace(/\.\d+$/, ""), hdr: m.hdr?.replace(/(\r\nNats-Pending-Bytes: )(\d+)/, (_, k, n) => k + (Number(n) + digits)) };
  });
}
// What an ack subject tells: whether the message came before, and the number of this delivery.
export const again = (m) => /^\$JS\.ACK\.[^.]+\.[^.]+\.(\d+)/.exec(m?.reply ?? "")?.[1] > 1;
export const deliveryOf = (m) => /^\$JS\.ACK(?:\.[^.]+){4}\.(\d+)/.exec(m?.reply ?? "")?.[1];
// The first deliveries that are not the same, pending counts aside.
export function firstApart({ ours, theirs }) {
  const at = ours.findIndex((m, i) => !same(blind([m]), blind([theirs[i] ?? {}])));
  return [ours[at], theirs[at]];
}
export const copy = (v) => JSON.parse(JSON.stringify(v));

// The consumers of an answer, to be changed before two answers are compared.
export function consumersOf(answer) {
  const all = copy(answer);
  return { all, list: all[0]?.data?.consumers ?? [all[0]?.data] };
}
// Whether a stream that keeps what somebody needs holds more on nats-server: somebody sleeps there.
export function holdsMore(c) {
  const [a, b] = [c.ours[0]?.data?.state, c.theirs[0]?.data?.state];
  return api(c.o, "STREAM.INFO.") && b && !keepsAll(c) && b.messages > a?.messages && a.last_seq === b.last_seq;
}
// How many deliveries a consumer will have made when all that it counts has come.
export const reach = (k) => k.delivered.consumer_seq + k.num_pending;

// Whether fewer messages came here, or a consumer has fewer before it: where a message is only here, they are not.
export function tellsLess({ o, ours, theirs }) {
  if (o.op === "get" || o.op === "pull" || o.op === "deliveries") return ours.length < theirs.length;
  if (!api(o, "CONSUMER.")) return false;
  const [a, b] = [consumersOf(ours).list, consumersOf(theirs).list];
  return a.some((k, i) => k?.delivered && b[i]?.delivered && reach(k) < reach(b[i]));
}
export const takesMany = (o) => (o.subj ?? "").startsWith("STREAM.PURGE.") || o.hdr?.some((h) => /^(Nats-Rollup|KV-Operation: PURGE|Nats-Schedule)/.test(h));

// The same, of this stream.
export const takesFrom = (stream) => (o) => takesMany(o) && (o.op === "pub" ? goesTo(o, stream) || o.hdr.some((h) => h.startsWith("Nats-Schedule")) : o.subj === `STREAM.PURGE.${stream}`);

export const deletesFrom = (stream) => (o) => o.subj === `STREAM.MSG.DELETE.${stream}` || takesFrom(stream)(o);

// Whether older messages make room for new ones in it.
export const discards = (ops, stream) => configs(ops).some((x) => x.body.name === stream && (x.body.max_msgs > 0 || x.body.max_bytes > 0 || x.body.max_msgs_per_subject > 0));

// What a message takes of max_bytes, on file.
export const sizeOf = (o) => 30 + o.subj.length + (o.data?.length ?? 0) + (o.hdr ? 4 + 14 + o.hdr.join("..").length + 2 : 0);
export const before = ({ history, index }) => history.ops.slice(0, index + 1);
export const aboutConsumers = (o) => api(o, "CONSUMER.") || o.op === "pull" || o.op === "deliveries" || o.op === "ack" || o.op === "raw" || o.op === "advisories";
export const creates = (ops) => ops.filter((x) => x.op === "api" && /^CONSUMER\.(DURABLE\.)?CREATE\./.test(x.subj) && x.body?.stream_name).map((x) => (x.body.config ? x : { ...x, body: { ...x.body, config: {} } }));
export const keepsAll = (c) => c.theirs[0]?.data?.config?.retention === "limits";
export const filterOf = (c) => JSON.stringify([c.filter_subject || undefined, c.filter_subjects?.length ? c.filter_subjects : undefined]);
export const ttlOf = (o) => o.hdr?.find((h) => h.startsWith("Nats-TTL:"))?.slice(9).trim();
// A publish, and before it what the same atomic batch holds, which is refused as a whole by its end.
export function batchOf(c) {
  const id = (x) => x.op === "pub" && x.hdr?.find((h) => h.startsWith("Nats-Batch-Id:"));
  return id(c.o) && c.o.hdr.some((h) => h.startsWith("Nats-Batch-Commit")) ? before(c).filter((x) => id(x) === id(c.o)) : [c.o];
}
export const refused = (answer, code) => answer[0]?.data?.error?.err_code === code;
export const takesOne = (o) => o.op === "api" && (o.subj.startsWith("STREAM.MSG.DELETE.") || (o.subj.startsWith("STREAM.PURGE.") && o.body?.filter));
export const marked = (o) => o.op === "api" && /^STREAM\.(CREATE|UPDATE)\./.test(o.subj) && o.body?.subject_delete_marker_ttl > 0;

// The streams that an operation and its answers are about, as far as they can be told; the account's own counts are about all.
export function streamsOf({ o, ours, theirs }) {
  if (o.op === "pull" || o.op === "ack") return [o.s];
  if (o.op === "get") return [o.subj.split(".")[0]];
  if (o.op === "pub") return [ours, theirs].map((a) => a[0]?.data?.stream);
  if (o.op === "deliveries") return [...ours, ...theirs].map((m) => /^\$JS\.ACK\.([^.]+)/.exec(m.reply)?.[1]);
  if (o.op === "advisories") return [...ours, ...theirs].map((t) => /"stream":"([^"]+)"/.exec(t)?.[1]);
  const t = (o.subj ?? "").split(".");
  return t.length > 2 ? t : undefined;
}
export const about = (c, stream) => streamsOf(c)?.includes(stream) ?? true;
export const configs = (ops) => ops.filter((x) => x.op === "api" && /^STREAM\.(CREATE|UPDATE)\./.test(x.subj) && x.body?.name);
export const inMemory = (ops, stream) => configs(ops).some((x) => x.body.name === stream && x.body.storage === "memory");
// Whether it was one of interest at some time, made so or restored so.
export const forInterest = (ops, stream) => configs(ops).some((x) => x.body.name === stream && x.body.retention === "interest") || ops.some((x) => x.op === "restore" && x.s === stream && x.config?.retention === "interest");
// Whether a publish goes to this stream, as the generator names its subjects.
export const goesTo = (x, stream) => x.op === "pub" && (x.subj.split(".")[0] === stream.toLowerCase() || x.subj.startsWith(`$KV.${stream.replace("KV_", "")}.`));
// The same, going by the subjects that the stream had then: where nobody takes it, it goes nowhere.
export function reaches(c, x, stream) {
  if (!goesTo(x, stream)) return false;
  const ops = before(c);
  const own = configs(ops.slice(0, ops.indexOf(x))).findLast((m) => m.body.name === stream && !c.refused?.has(m));
  return !own || (own.body.subjects ?? [stream]).some((p) => takes(p.split("."), x.subj.split(".")));
}
function takes(pattern, subject) {
  if (pattern.at(-1) === ">") return subject.length >= pattern.length && takes(pattern.slice(0, -1), subject.slice(0, pattern.length - 1));
  return pattern.length === subject.length && pattern.every((t, i) => t === "*" || t === subject[i]);
}

// Somebody waits, there is something for him and room for it: nobody woke the consumer.
export const asleep = (k) => (k?.num_waiting > 0 || k?.push_bound === true) && k.num_pending > 0 && !k.paused && !(k.config?.max_ack_pending > 0 && k.num_ack_pending >= k.config.max_ack_pending);

export const called = (stream, name) => `${stream} ${(name ?? "").replace(/^%(\w+)%$/, "<$1>")}`;
// Consumers whose filter was updated: "stream name".
export function refiltered(ops) {
  const [seen, out] = [new Map(), new Set()];
  for (const x of creates(ops)) {
    const t = x.subj.replace("DURABLE.", "").split(".");
    const name = called(t[2], t[3] ?? (x.as ? `<${x.as}>` : (x.body.config.durable_name ?? x.body.config.name)));
    const filter = filterOf(x.body.config);
    if (seen.has(name) && seen.get(name) !== filter) out.add(name);
    seen.set(name, filter);
  }
  return out;
}
// The answers without what is about these consumers.
export function without(c, names) {
  const ofAck = (m) => /^\$JS\.ACK\.([^.]+)\.([^.]+)/.exec(m.reply ?? "")?.slice(1, 3).join(" ");
  const strip = (answer) => {
    if (c.o.op === "deliveries") return answer.filter((m) => ofAck(m) && !names.has(ofAck(m)));
    if (c.o.op === "advisories") return answer.filter((t) => !names.has(`${/"stream":"([^"]+)"/.exec(t)?.[1]} ${/"consumer":"([^"]+)"/.exec(t)?.[1]}`));
    if (c.o.op === "pull" || c.o.op === "ack") return names.has(called(c.o.s, c.o.c)) ? [] : answer;
    if (c.o.op === "raw") return names.has(called(...(c.o.subj ?? "").split(".").slice(2, 4))) ? [] : answer;
    const { all, list } = consumersOf(answer);
    const mine = (k) => names.has(called(k?.stream_name, k?.name));
    if (!all[0]?.data?.consumers) return mine(list[0]) ? [] : all;
    all[0].data.consumers = list.filter((k) => !mine(k));
    return all;
  };
  return [strip(c.ours), strip(c.theirs)];
}
// The streams an answer tells of.
export const streamsIn = (answer) => answer.flatMap((m) => m.data?.streams ?? [m.data]).filter((s) => s?.state);
