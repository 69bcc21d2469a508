// rules_list.mjs: the accepted differences themselves.  Each names its row of docs/deviations.md by the
// beginning of the row's first cell, and matches an operation, what came before it, and both answers.
//   mode   default (left out: both modes)
//   ends   the two servers go different ways from here: the rest of the history is not compared
//   match  ({o, ours, theirs, history, index}): whether this difference is that row
const api = (o, verb) => (o.op === "api" || o.op === "check") && o.subj.startsWith(verb);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
// Deliveries without the pending count at the end of their ack subjects.  Its digits are part of what max_bytes
// counts: they are given back to the bytes that a status says are left.
function blind(list) {
  let digits = 0;
  return list.map((m) => {
    digits += /\.(\d+)$/.exec(m.reply ?? "")?.[1].length ?? 0;
    return { ...m, reply: m.reply?.replace(/\.\d+$/, ""), hdr: m.hdr?.replace(/(\r\nNats-Pending-Bytes: )(\d+)/, (_, k, n) => k + (Number(n) + digits)) };
  });
}
const copy = (v) => JSON.parse(JSON.stringify(v));

// The consumers of an answer, to be changed before two answers are compared.
function consumersOf(answer) {
  const all = copy(answer);
  return { all, list: all[0]?.data?.consumers ?? [all[0]?.data] };
}
const takesMany = (o) => (o.subj ?? "").startsWith("STREAM.PURGE.") || o.hdr?.some((h) => /^(Nats-Rollup|KV-Operation: PURGE|Nats-Schedule)/.test(h));

// What a message takes of max_bytes, on file.
const sizeOf = (o) => 30 + o.subj.length + (o.data?.length ?? 0) + (o.hdr ? 4 + 14 + o.hdr.join("..").length + 2 : 0);
const before = ({ history, index }) => history.ops.slice(0, index + 1);
const aboutConsumers = (o) => api(o, "CONSUMER.") || o.op === "pull" || o.op === "deliveries" || o.op === "ack" || o.op === "raw" || o.op === "advisories";
const creates = (ops) => ops.filter((x) => x.op === "api" && /^CONSUMER\.(DURABLE\.)?CREATE\./.test(x.subj) && x.body?.config);
const keepsAll = (c) => c.theirs[0]?.data?.config?.retention === "limits";
const filterOf = (c) => JSON.stringify([c.filter_subject || undefined, c.filter_subjects?.length ? c.filter_subjects : undefined]);
const ttlOf = (o) => o.hdr?.find((h) => h.startsWith("Nats-TTL:"))?.slice(9).trim();
const refused = (answer, code) => answer[0]?.data?.error?.err_code === code;
const takesOne = (o) => o.op === "api" && (o.subj.startsWith("STREAM.MSG.DELETE.") || (o.subj.startsWith("STREAM.PURGE.") && o.body?.filter));
const marked = (o) => o.op === "api" && /^STREAM\.(CREATE|UPDATE)\./.test(o.subj) && o.body?.subject_delete_marker_ttl > 0;

// The streams that an operation and its answers are about, as far as they can be told; the account's own counts are about all.
function streamsOf({ o, ours, theirs }) {
  if (o.op === "pull" || o.op === "ack") return [o.s];
  if (o.op === "get") return [o.subj.split(".")[0]];
  if (o.op === "pub") return [ours, theirs].map((a) => a[0]?.data?.stream);
  if (o.op === "deliveries") return [...ours, ...theirs].map((m) => /^\$JS\.ACK\.([^.]+)/.exec(m.reply)?.[1]);
  if (o.op === "advisories") return [...ours, ...theirs].map((t) => /"stream":"([^"]+)"/.exec(t)?.[1]);
  const t = (o.subj ?? "").split(".");
  return t.length > 2 ? t : undefined;
}
const about = (c, stream) => streamsOf(c)?.includes(stream) ?? true;
const configs = (ops) => ops.filter((x) => x.op === "api" && /^STREAM\.(CREATE|UPDATE)\./.test(x.subj) && x.body?.name);
// Whether a publish goes to this stream, as the generator names its subjects.
const goesTo = (x, stream) => x.op === "pub" && (x.subj.split(".")[0] === stream.toLowerCase() || x.subj.startsWith(`$KV.${stream.replace("KV_", "")}.`));

// Somebody waits, there is something for him and room for it: nobody woke the consumer.
const asleep = (k) => (k?.num_waiting > 0 || k?.push_bound === true) && k.num_pending > 0 && !k.paused && !(k.config?.max_ack_pending > 0 && k.num_ack_pending >= k.config.max_ack_pending);
// Whether all that differs are consumers that sleep on nats-server and went on here.
function overslept(c) {
  if (!api(c.o, "CONSUMER.")) return false;
  const [a, b] = [consumersOf(c.ours), consumersOf(c.theirs)];
  let found = false;
  for (const [i, k] of b.list.entries()) {
    const mine = a.list[i];
    if (!asleep(k) || asleep(mine) || !(mine?.delivered.consumer_seq > k.delivered.consumer_seq)) continue;
    for (const f of ["delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_waiting", "num_pending"]) k[f] = mine[f];
    found = true;
  }
  return found && same(a.all, b.all);
}

const called = (stream, name) => `${stream} ${(name ?? "").replace(/^%(\w+)%$/, "<$1>")}`;
// Consumers whose filter was updated: "stream name".
function refiltered(ops) {
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
function without(c, names) {
  const ofAck = (m) => /^\$JS\.ACK\.([^.]+)\.([^.]+)/.exec(m.reply ?? "")?.slice(1, 3).join(" ");
  const strip = (answer) => {
    if (c.o.op === "deliveries") return answer.filter((m) => ofAck(m) && !names.has(ofAck(m)));
    if (c.o.op === "advisories") return answer.filter((t) => !names.has(`${/"stream":"([^"]+)"/.exec(t)?.[1]} ${/"consumer":"([^"]+)"/.exec(t)?.[1]}`));
    if (c.o.op === "pull" || c.o.op === "ack") return names.has(called(c.o.s, c.o.c)) ? [] : answer;
    if (c.o.op === "raw") return names.has(called(...(c.o.subj ?? "").split(".").slice(2, 4))) ? [] : answer;
    const { all, list } = consumersOf(answer);
    const mine = (k) => names.has(`${k?.stream_name} ${k?.name}`);
    if (!all[0]?.data?.consumers) return mine(list[0]) ? [] : all;
    all[0].data.consumers = list.filter((k) => !mine(k));
    return all;
  };
  return [strip(c.ours), strip(c.theirs)];
}

export const RULES = [
  // --- default mode: what the requirement asks for ---
  {
    id: "ttl-zero",
    row: "`Nats-TTL: 0`",
    mode: "default",
    ends: true,
    match: ({ o, ours, theirs }) => o.op === "pub" && /^0+s?$/.test(ttlOf(o)) && refused(theirs, 10165) && !refused(ours, 10165),
  },
  {
    id: "ttl-unanswered",
    row: "`Nats-TTL: 0`",
    mode: "default",
    ends: true,
    match: (c) => {
      const ops = before(c);
      const odd = (x) => /^0+s?$/.test(ttlOf(x)) || /^\d{15,}h$/.test(ttlOf(x));
      return configs(ops).some((m) => m.body.no_ack && about(c, m.body.name) && ops.some((x) => goesTo(x, m.body.name) && odd(x)));
    },
  },
  {
    id: "ttl-beyond",
    row: "a TTL beyond the last date",
    mode: "default",
    ends: true,
    match: ({ o, ours, theirs }) => o.op === "pub" && /^\d{15,}h$/.test(ttlOf(o)) && (refused(theirs, 10165) || refused(ours, 10166)) && !refused(ours, 10165),
  },
  {
    id: "marker-asked",
    row: "markers on MSG.DELETE and filtered purge",
    mode: "default",
    ends: true,
    match: (c) => {
      const ops = before(c);
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (a?.state && b?.state && a.state.last_seq <= b.state.last_seq) return false; // a marker takes a number
      return ops.some((m, at) => marked(m) && about(c, m.body.name) && ops.slice(at).some((x) => takesOne(x) && x.subj.endsWith(`.${m.body.name}`)));
    },
  },
  {
    id: "first-seq-update",
    row: "`first_seq` changed by an update",
    mode: "default",
    ends: true,
    match: ({ o, ours, theirs }) => {
      if (!api(o, "STREAM.UPDATE.")) return false;
      const [a, b] = [copy(ours), copy(theirs)];
      delete a[0]?.data?.config?.first_seq;
      delete b[0]?.data?.config?.first_seq;
      return a[0]?.data?.config && same(a, b);
    },
  },
  {
    id: "counter-marker",
    row: "counter stream with markers",
    mode: "default",
    ends: true,
    match: ({ o, ours, theirs }) => /^STREAM\.(CREATE|UPDATE)\./.test(o.subj) && o.body?.allow_msg_counter && o.body.subject_delete_marker_ttl > 0 && ours[0]?.data?.error?.description === "counter stream cannot use message TTLs",
  },
  // --- both modes ---
  {
    id: "filter-update",
    row: "a consumer whose filter is updated",
    ends: true,
    match: (c) => {
      const names = refiltered(before(c));
      if (names.size === 0) return false;
      // Of an interest stream, what it holds follows.
      if (api(c.o, "STREAM.INFO.")) return !keepsAll(c) && [...names].some((n) => about(c, n.split(" ")[0]));
      return aboutConsumers(c.o) && same(...without(c, names));
    },
  },
  {
    id: "resume",
    row: "resuming a consumer that requests wait for",
    ends: true,
    match: (c) => before(c).filter((x) => x.subj?.startsWith("CONSUMER.PAUSE.")).length > 1 && overslept(c),
  },
  {
    id: "purge-makes-room",
    row: "a request that waits behind `max_ack_pending`, and a purge",
    ends: true,
    match: (c) => before(c).some(takesMany) && overslept(c),
  },
  {
    id: "given-up",
    row: "`num_redelivered`, and messages that came as often as they may",
    match: (c) => {
      if (!api(c.o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(c.ours), consumersOf(c.theirs)];
      for (const [i, k] of b.list.entries()) if (k?.config?.max_deliver > 1 && k.num_redelivered > a.list[i]?.num_redelivered) k.num_redelivered = a.list[i].num_redelivered;
      return same(a.all, b.all);
    },
  },
  {
    id: "first-update",
    row: "the answer to the first update of a consumer after a restart",
    match: (c) => {
      const ops = before(c);
      const made = creates(ops.slice(ops.findLastIndex((x) => x.op === "restart") + 1)).filter((x) => x.subj.split(".").slice(2).join() === c.o.subj?.split(".").slice(2).join());
      return ops.some((x) => x.op === "restart") && made.length === 1 && made[0] === c.o && c.ours[0]?.data?.created && c.theirs[0]?.data?.created && c.ours[0].data.name === c.theirs[0].data.name;
    },
  },
  {
    id: "updated-to-interest",
    row: "a stream updated from limits to interest",
    ends: true,
    match: (c) => {
      const ops = before(c);
      if (c.o.op !== "get" && !api(c.o, "STREAM.")) return false;
      if (c.theirs[0]?.data?.state && !(c.theirs[0].data.state.messages > c.ours[0]?.data?.state?.messages)) return false;
      return ops.some((x) => x.subj?.startsWith("STREAM.UPDATE.") && x.body?.retention === "interest" && about(c, x.body.name) && creates(ops).some((k) => k.body.stream_name === x.body.name));
    },
  },
  {
    id: "no-wait-behind",
    row: "a `no_wait` request that waits behind `max_ack_pending`, and everything",
    ends: true,
    match: (c) => {
      if (!api(c.o, "CONSUMER.") || !before(c).some((x) => x.op === "pull" && x.body?.no_wait)) return false;
      const [a, b] = [consumersOf(c.ours), consumersOf(c.theirs)];
      for (const [i, k] of b.list.entries()) if (k?.num_waiting > a.list[i]?.num_waiting) k.num_waiting = a.list[i].num_waiting;
      return same(a.all, b.all);
    },
  },
  {
    id: "no-wait-paused",
    row: "a `no_wait` request that waits behind `max_ack_pending` while the consumer is paused",
    ends: true,
    match: (c) => {
      if (!api(c.o, "CONSUMER.") || !before(c).some((x) => x.op === "pull" && x.body?.no_wait)) return false;
      const [a, b] = [consumersOf(c.ours), consumersOf(c.theirs)];
      for (const [i, k] of b.list.entries()) if (k?.paused && k.config.max_ack_pending > 0 && a.list[i]?.num_waiting > k.num_waiting) k.num_waiting = a.list[i].num_waiting;
      return same(a.all, b.all);
    },
  },
  {
    id: "ack-passed-over",
    row: "an ack of a message that was never delivered",
    ends: true,
    match: (c) => {
      const [, , stream, name, , seq] = c.o.subj?.split(".") ?? [];
      if (c.o.op !== "raw" || c.ours.length !== 0 || !same(c.theirs, [{ subject: "<inbox>" }]) || !(Number(seq) > 0)) return false;
      return creates(before(c)).some((x) => x.body.stream_name === stream && (x.subj.split(".").includes(name) || name.startsWith("%")) && (x.body.config.filter_subject || x.body.config.filter_subjects?.length));
    },
  },
  {
    id: "deleted-zero",
    row: "`deleted_details` of a fresh stream",
    match: ({ o, ours, theirs }) => {
      if (!api(o, "STREAM.INFO.") || !same(theirs[0]?.data?.state?.deleted, [0])) return false;
      const t = copy(theirs);
      delete t[0].data.state.deleted;
      delete t[0].data.state.num_deleted;
      return t[0].data.state.last_seq === 0 && same(t, ours);
    },
  },
  {
    id: "pause-epoch",
    row: "PAUSE until 1970-01-01T00:00:00Z",
    match: ({ o, ours, theirs }) => {
      if (o.op === "advisories") return same(ours, theirs.filter((x) => !x.includes('"paused":false,"pause_until":"1970-01-01T00:00:00Z"')));
      if (!api(o, "CONSUMER.")) return false;
      const t = copy(theirs);
      let found = false;
      for (const c of t[0]?.data?.consumers ?? [t[0]?.data]) {
        if (c?.config?.pause_until !== "1970-01-01T00:00:00Z") continue;
        delete c.config.pause_until;
        c.config.metadata["_nats.req.level"] = "0";
        found = true;
      }
      return found && same(t, ours);
    },
  },
  {
    id: "purge-terminated",
    row: "MSG_TERMINATED of messages that a purge or a roll-up takes",
    match: ({ o, ours, theirs, history, index }) => {
      if (o.op !== "advisories" || !history.ops.slice(0, index + 1).some(takesMany)) return false;
      const rest = (list) => list.filter((t) => !t.includes('"reason":"Unacknowledged message was deleted"'));
      return same(rest(ours), rest(theirs));
    },
  },
  {
    id: "last-active",
    row: "`last_active` after a restart",
    match: ({ o, ours, theirs, history, index }) => {
      if (!api(o, "CONSUMER.") || !history.ops.slice(0, index + 1).some((x) => x.op === "restart")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const c of [...a.list, ...b.list]) for (const k of ["delivered", "ack_floor"]) if (c?.[k]) delete c[k].last_active;
      for (const [i, c] of a.list.entries()) if (c?.config && !c.config.name && b.list[i]?.config) delete b.list[i].config.name;
      return same(a.all, b.all);
    },
  },
  {
    id: "start-beyond",
    row: "`num_pending` of a consumer that starts beyond the last sequence",
    match: ({ o, ours, theirs, history, index }) => {
      if (!history.ops.slice(0, index + 1).some((x) => x.body?.config?.opt_start_seq > 1 || (x.subj?.startsWith("CONSUMER.RESET.") && x.body?.seq > 1))) return false;
      if (o.op === "pull" || o.op === "deliveries") {
        return same(blind(ours), blind(theirs));
      }
      if (!api(o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const [i, c] of b.list.entries()) if (c?.num_pending > a.list[i]?.num_pending) c.num_pending = a.list[i].num_pending;
      return same(a.all, b.all);
    },
  },
  {
    id: "memory-skip",
    row: "`delivered.stream_seq` of a filtered consumer of a stream in memory",
    ends: true,
    match: ({ o, ours, theirs }) => {
      if (!api(o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const [i, c] of b.list.entries()) {
        if (!(c?.config?.filter_subject || c?.config?.filter_subjects) || !a.list[i]) continue;
        for (const k of ["delivered", "ack_floor"]) if (c[k]?.stream_seq !== undefined && a.list[i][k]) c[k].stream_seq = a.list[i][k].stream_seq;
      }
      return same(a.all, b.all);
    },
  },
  {
    id: "ack-all-loss",
    row: "ack policy `all`, and a message that waits for its ack is deleted",
    ends: true,
    match: (context) => {
      const { o, ours, theirs } = context;
      if (o.op === "deliveries" || o.op === "pull") return creates(before(context)).some((x) => x.body.config.ack_policy === "all") && same(blind(ours), blind(theirs));
      if (!api(o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const [i, c] of b.list.entries()) {
        if (c?.config?.ack_policy !== "all" || !a.list[i]) continue;
        for (const k of ["ack_floor", "num_ack_pending", "num_redelivered", "num_pending"]) c[k] = a.list[i][k];
      }
      return same(a.all, b.all);
    },
  },
  {
    id: "floor-after-purge",
    row: "the ack floor after a purge or a roll-up took messages that wait",
    ends: true,
    match: (context) => {
      if (!api(context.o, "CONSUMER.") || !before(context).some(takesMany)) return false;
      const [a, b] = [consumersOf(context.ours), consumersOf(context.theirs)];
      for (const [i, c] of b.list.entries()) {
        const mine = a.list[i];
        if (!c?.ack_floor || !mine || c.num_ack_pending < mine.num_ack_pending) continue;
        for (const k of ["ack_floor", "num_ack_pending", "num_redelivered"]) c[k] = mine[k];
      }
      return same(a.all, b.all);
    },
  },
  {
    id: "last-per-subject-pending",
    row: "`num_pending` of a consumer that begins with the last of each subject",
    ends: true,
    match: (context) => {
      const { o, ours, theirs } = context;
      if (o.op === "deliveries" || o.op === "pull") return creates(before(context)).some((x) => x.body.config.deliver_policy === "last_per_subject") && same(blind(ours), blind(theirs));
      if (!api(o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const [i, c] of b.list.entries()) if (c?.config?.deliver_policy === "last_per_subject" && a.list[i]) c.num_pending = a.list[i].num_pending;
      return same(a.all, b.all);
    },
  },
  {
    id: "batch-pending",
    row: "the pending count in the ack subject, when an atomic batch is delivered",
    match: ({ o, ours, theirs, history, index }) => {
      if ((o.op !== "pull" && o.op !== "deliveries") || !history.ops.slice(0, index + 1).some((x) => x.hdr?.some((h) => h.startsWith("Nats-Batch-Commit")))) return false;
      return same(blind(ours), blind(theirs));
    },
  },
  {
    id: "purge-pending",
    row: "the pending count after a purge or a roll-up",
    match: (context) => {
      const { o, ours, theirs } = context;
      if (!before(context).some(takesMany)) return false;
      if (o.op === "pull" || o.op === "deliveries") return same(blind(ours), blind(theirs));
      if (!api(o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const [i, c] of b.list.entries()) if (c?.num_pending > a.list[i]?.num_pending) c.num_pending = a.list[i].num_pending;
      return same(a.all, b.all);
    },
  },
  {
    id: "kill-consumer",
    row: "how far a consumer is, after kill -9",
    ends: true,
    match: ({ o, ours, theirs, history, index }) => {
      if (!api(o, "CONSUMER.") || !history.ops.slice(0, index + 1).some((x) => x.how === "kill")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const [i, c] of b.list.entries())
        for (const k of ["delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_pending"]) if (a.list[i]?.[k] !== undefined) c[k] = a.list[i][k];
      return same(a.all, b.all);
    },
  },
  {
    id: "kill-removals",
    row: "messages that were removed, after kill -9",
    ends: true,
    match: ({ o, ours, theirs, history, index }) => {
      const [a, b] = [ours[0]?.data?.state, theirs[0]?.data?.state];
      return api(o, "STREAM.INFO.") && history.ops.slice(0, index + 1).some((x) => x.how === "kill") && b?.messages > a?.messages && a.last_seq === b.last_seq;
    },
  },
  {
    id: "account-sum",
    row: "`storage` and `memory` of the account",
    match: ({ o, ours, theirs }) => {
      const [a, b] = [ours[0]?.data, theirs[0]?.data];
      if (!api(o, "INFO") || !o.sums || a?.storage !== o.sums.file || a.memory !== o.sums.memory) return false;
      return same(a, { ...b, storage: a.storage, memory: a.memory });
    },
  },
  {
    id: "larger-than-max-bytes",
    row: "a message larger than `max_bytes`",
    ends: true,
    match: (c) => {
      const ops = before(c);
      return configs(ops).some((m) => m.body.max_bytes > 0 && about(c, m.body.name) && ops.some((x) => goesTo(x, m.body.name) && sizeOf(x) > m.body.max_bytes));
    },
  },
  {
    id: "last-of-all",
    row: "`last_by_subj` of `>` after the last message was deleted",
    match: ({ o, ours, theirs }) => o.body?.last_by_subj === ">" && ((refused(theirs, 10037) && ours[0]?.data?.message) || (/^NATS\/1\.0 404 /.test(theirs[0]?.hdr) && ours.length === 1 && !/^NATS\/1\.0 \d/.test(ours[0].hdr ?? ""))),
  },
  {
    id: "batch-torn",
    row: "an atomic batch that only its end makes too large",
    ends: true,
    match: (c) => {
      const [a, b] = [c.ours[0]?.data?.state, c.theirs[0]?.data?.state];
      return api(c.o, "STREAM.INFO.") && b?.messages > a?.messages && before(c).some((x) => x.hdr?.includes("Nats-Batch-Commit: eob"));
    },
  },
  {
    id: "ids-restart",
    row: "ids of messages that are gone",
    ends: true,
    match: (c) => c.o.op === "pub" && c.ours[0]?.data?.duplicate && !c.theirs[0]?.data?.duplicate && before(c).some((x) => x.op === "restart" || x.body?.retention === "interest"),
  },
  {
    id: "created-restart",
    row: "`created` of a consumer after a restart",
    match: (c) => c.moment && api(c.o, "CONSUMER.") && before(c).some((x) => x.op === "restart"),
  },
  {
    id: "multi-up-to",
    row: "`multi_last` with `up_to_seq` beyond the last sequence",
    match: ({ o, theirs, ours }) =>
      o.op === "get" && o.body?.multi_last && o.body.up_to_seq > 0 && theirs.length === 1 && theirs[0].hdr === "NATS/1.0 404 No Results\r\n\r\n" && /^NATS\/1\.0 204 EOB/.test(ours.at(-1)?.hdr),
  },
];

