// rules_list.mjs: the accepted differences themselves.  Each names its row of docs/deviations.md by the
// beginning of the row's first cell, and matches an operation, what came before it, and both answers.
//   mode   default (left out: both modes)
//   ends   the two servers go different ways from here: the rest of the history is not compared
//   match  ({o, ours, theirs, history, index}): whether this difference is that row
const api = (o, verb) => (o.op === "api" || o.op === "check") && o.subj.startsWith(verb);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
// Deliveries without the pending count at the end of their ack subjects.
const blind = (list) => list.map((m) => ({ ...m, reply: m.reply?.replace(/\.\d+$/, "") }));
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
const filterOf = (c) => JSON.stringify([c.filter_subject || undefined, c.filter_subjects?.length ? c.filter_subjects : undefined]);
const ttlOf = (o) => o.hdr?.find((h) => h.startsWith("Nats-TTL:"))?.slice(9).trim();
const refused = (answer, code) => answer[0]?.data?.error?.err_code === code;
const takesOne = (o) => o.op === "api" && (o.subj.startsWith("STREAM.MSG.DELETE.") || (o.subj.startsWith("STREAM.PURGE.") && o.body?.filter));
const marked = (o) => o.op === "api" && /^STREAM\.(CREATE|UPDATE)\./.test(o.subj) && o.body?.subject_delete_marker_ttl > 0;

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
      return ops.some((x) => x.body?.no_ack) && ops.some((x) => x.op === "pub" && (/^0+s?$/.test(ttlOf(x)) || /^\d{15,}h$/.test(ttlOf(x))));
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
      const at = ops.findIndex(marked);
      return at >= 0 && ops.slice(at).some(takesOne);
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
      if (!aboutConsumers(c.o)) return false;
      const seen = new Map();
      return creates(before(c)).some((x) => {
        const name = x.subj.split(".").slice(0, x.subj.includes("DURABLE") ? 5 : 4).join(".");
        const filter = filterOf(x.body.config);
        const other = seen.has(name) && seen.get(name) !== filter;
        seen.set(name, filter);
        return other;
      });
    },
  },
  {
    id: "resume",
    row: "resuming a consumer that requests wait for",
    ends: true,
    match: (c) => aboutConsumers(c.o) && before(c).filter((x) => x.subj?.startsWith("CONSUMER.PAUSE.")).length > 1,
  },
  {
    id: "max-deliver-nak",
    row: "MAX_DELIVERIES after a NAK",
    ends: true,
    match: (c) => aboutConsumers(c.o) && creates(before(c)).some((x) => x.body.config.max_deliver > 0) && before(c).some((x) => x.op === "ack" && x.data?.startsWith("-NAK")),
  },
  {
    id: "updated-to-interest",
    row: "a stream updated from limits to interest",
    ends: true,
    match: (c) => (c.o.op === "get" || api(c.o, "STREAM.")) && before(c).some((x) => x.subj?.startsWith("STREAM.UPDATE.") && x.body?.retention === "interest") && creates(before(c)).length > 0,
  },
  {
    id: "no-wait-behind",
    row: "a `no_wait` request that waits behind `max_ack_pending`",
    ends: true,
    match: (c) => {
      if (!api(c.o, "CONSUMER.") || !before(c).some((x) => x.op === "pull" && x.body?.no_wait)) return false;
      const [a, b] = [consumersOf(c.ours), consumersOf(c.theirs)];
      for (const [i, k] of b.list.entries()) if (k?.num_waiting > a.list[i]?.num_waiting) k.num_waiting = a.list[i].num_waiting;
      return same(a.all, b.all);
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
      const limits = ops.filter((x) => /^STREAM\.(CREATE|UPDATE)\./.test(x.subj)).map((x) => x.body?.max_bytes).filter((n) => n > 0);
      return limits.length > 0 && ops.some((x) => x.op === "pub" && sizeOf(x) > Math.min(...limits));
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

