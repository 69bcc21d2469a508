// rules.mjs: accepted differences.  Each names its row of docs/deviations.md by the beginning of the
// row's first cell, and matches an operation and both answers, never a mere field.
//   mode   default (left out: both modes)
//   ends   the two servers go different ways from here: the rest of the history is not compared
//   match  ({o, ours, theirs, history, index}): whether this difference is that row
import fs from "node:fs";

const api = (o, verb) => (o.op === "api" || o.op === "check") && o.subj.startsWith(verb);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const copy = (v) => JSON.parse(JSON.stringify(v));

// The consumers of an answer, to be changed before two answers are compared.
function consumersOf(answer) {
  const all = copy(answer);
  return { all, list: all[0]?.data?.consumers ?? [all[0]?.data] };
}
const takesMany = (o) => (o.subj ?? "").startsWith("STREAM.PURGE.") || o.hdr?.some((h) => /^(Nats-Rollup|KV-Operation: PURGE|Nats-Schedule)/.test(h));

export const RULES = [
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
      return same(a.all, b.all);
    },
  },
  {
    id: "start-beyond",
    row: "`num_pending` of a consumer that starts beyond the last sequence",
    match: ({ o, ours, theirs, history, index }) => {
      if (!history.ops.slice(0, index + 1).some((x) => x.body?.config?.opt_start_seq > 1)) return false;
      if (o.op === "pull" || o.op === "deliveries") {
        const blind = (list) => list.map((m) => ({ ...m, reply: m.reply?.replace(/\.\d+$/, "") }));
        return same(blind(ours), blind(theirs));
      }
      if (!api(o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      for (const [i, c] of b.list.entries()) if (c?.config?.opt_start_seq > 1 && c.num_pending > a.list[i]?.num_pending) c.num_pending = a.list[i].num_pending;
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
        if (!(c?.config?.filter_subject || c?.config?.filter_subjects) || !a.list[i]) return false;
        for (const k of ["delivered", "ack_floor"]) if (c[k].stream_seq > a.list[i][k].stream_seq) c[k].stream_seq = a.list[i][k].stream_seq;
      }
      return same(a.all, b.all);
    },
  },
  {
    id: "ack-all-loss",
    row: "ack policy `all`, and a message that waits for its ack is deleted",
    ends: true,
    match: ({ o, ours, theirs }) => {
      if (!api(o, "CONSUMER.")) return false;
      const [a, b] = [consumersOf(ours), consumersOf(theirs)];
      return b.list.some((c, i) => c?.config?.ack_policy === "all" && c.ack_floor.consumer_seq > a.list[i]?.ack_floor.consumer_seq);
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
    id: "multi-up-to",
    row: "`multi_last` with `up_to_seq` beyond the last sequence",
    match: ({ o, theirs, ours }) =>
      o.op === "get" && o.body?.multi_last && o.body.up_to_seq > 0 && theirs.length === 1 && theirs[0].hdr === "NATS/1.0 404 No Results\r\n\r\n" && /^NATS\/1\.0 204 EOB/.test(ours.at(-1)?.hdr),
  },
];

export class Rules {
  constructor(mode, deviations) {
    this.mode = mode;
    this.rows = rowsOf(fs.readFileSync(deviations, "utf8"));
    this.list = RULES.filter((r) => !r.mode || r.mode === mode);
  }

  // Rules whose row does not exist (any more).
  orphans() {
    return RULES.filter((r) => !this.rows.some((row) => row.startsWith(r.row))).map((r) => `${r.id}: no row "${r.row}"`);
  }

  match(context) {
    return this.list.find((r) => r.match(context));
  }
}

// First cells of all table rows.
function rowsOf(text) {
  return text.split("\n").filter((l) => /^\| [^-]/.test(l)).map((l) => l.slice(2).split(" | ")[0]);
}
