// rules_list.mjs: the accepted differences themselves.  Each names its row of docs/deviations.md by the
// beginning of the row's first cell, and matches an operation, what came before it, and both answers.
//   mode   default (left out: both modes)
//   ends   the two servers go different ways from here: the rest of the history is not compared
//   match  ({o, ours, theirs, history, index}): whether this difference is that row
//   moment  it may also be about moments that are not the same on both, where all else is
// What is about consumers stands in rules_consumers.mjs, about mirrors and sources in rules_copies.mjs, about snapshots
// in rules_backups.mjs, about priority groups in rules_groups.mjs.
import { BACKUP_RULES } from "./rules_backups.mjs";
import { CONSUMER_RULES } from "./rules_consumers.mjs";
import { COPY_RULES } from "./rules_copies.mjs";
import { GROUP_RULES } from "./rules_groups.mjs";
import { about, aboutConsumers, api, batchOf, before, configs, copy, creates, goesTo, inMemory, marked, reaches, refused, same, sizeOf, streamsIn, takesOne, tellsLess, ttlOf } from "./rules_help.mjs";

// Whether a stream that acknowledges nothing took ids there that came before: more was stored, as only its state tells.
function unheardAgain(c) {
  const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
  const more = b?.state?.last_seq - a?.state?.last_seq;
  if (!api(c.o, "STREAM.") || !b?.config?.no_ack || !(more > 0) || !same(a.config, b.config)) return false;
  const ids = before(c).filter((x) => goesTo(x, b.config.name)).flatMap((x) => x.hdr?.filter((h) => h.startsWith("Nats-Msg-Id:")).slice(0, 1) ?? []);
  return ids.length - new Set(ids).size >= more;
}

export const RULES = [
  ...BACKUP_RULES, // first: a consumer that began anew differs in much that others explain in part
  // --- default mode: what the requirement asks for ---
  {
    id: "ttl-zero",
    row: "`Nats-TTL: 0`",
    mode: "default",
    ends: true,
    match: (c) => c.o.op === "pub" && batchOf(c).some((x) => /^0+s?$/.test(ttlOf(x))) && (refused(c.theirs, 10165) || ((c.o.suffix || c.o.hdr?.some((l) => l.startsWith("Nats-Batch-Id:"))) && refused(c.theirs, 10166))) && !refused(c.ours, 10165),
  },
  {
    id: "ttl-unanswered",
    row: "`Nats-TTL: 0`",
    mode: "default",
    ends: true,
    match: (c) => {
      const ops = before(c);
      const odd = (x) => /^0+s?$/.test(ttlOf(x)) || /^\d{15,}h$/.test(ttlOf(x));
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (a?.state && b?.state && a.state.last_seq <= b.state.last_seq) return false; // there is one more here
      if ((a?.seq && b?.seq && a.seq <= b.seq) || tellsLess(c)) return false;
      return configs(ops).some((m) => m.body.no_ack && about(c, m.body.name) && ops.some((x) => goesTo(x, m.body.name) && odd(x)));
    },
  },
  {
    id: "ttl-beyond",
    row: "a TTL beyond the last date",
    mode: "default",
    ends: true,
    match: (c) => c.o.op === "pub" && batchOf(c).some((x) => /^\d{15,}h$/.test(ttlOf(x))) && (refused(c.theirs, 10165) || refused(c.ours, 10166)) && !refused(c.ours, 10165),
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
    id: "key-marker",
    row: "the marker of a key of a KV bucket",
    mode: "default",
    match: (c) => {
      const { o, ours, theirs } = c;
      const line = "KV-Operation: PURGE\r\n";
      if (api(o, "STREAM.INFO.") || api(o, "INFO")) {
        if (!before(c).some((x) => x.op === "wait") || !before(c).some(marked)) return false;
        const [a, b] = [copy(ours), copy(theirs)];
        const [x, y] = [a, b].map((v) => v[0]?.data?.state ?? v[0]?.data);
        for (const k of ["bytes", "storage", "memory"]) if (x?.[k] > y?.[k] && (x[k] - y[k]) % line.length === 0) x[k] = y[k];
        return same(a, b);
      }
      if (o.op !== "get" && o.op !== "pull" && o.op !== "deliveries") return false;
      const bare = ours.map((m) => (/\r\nNats-Marker-Reason: MaxAge\r\n/.test(m.hdr) ? { ...m, hdr: m.hdr.replace(`Nats-Rollup: sub\r\n${line}`, "Nats-Rollup: sub\r\n") } : m));
      return !same(bare, ours) && same(bare, theirs);
    },
  },
  {
    id: "first-seq-update",
    row: "`first_seq` changed by an update",
    mode: "default",
    ends: true,
    match: (c) => {
      if (!api(c.o, "STREAM.UPDATE.")) return false;
      const [a, b] = [copy(c.ours), copy(c.theirs)];
      if (!a[0]?.data?.config || a[0].data.config.first_seq === b[0]?.data?.config?.first_seq) return false;
      delete a[0].data.config.first_seq;
      delete b[0]?.data?.config?.first_seq;
      return same(a, b) || BACKUP_RULES.find((r) => r.id === "restored-last-ts").match({ ...c, ours: a, theirs: b });
    },
  },
  {
    id: "counter-marker",
    row: "counter stream with markers",
    mode: "default",
    ends: true,
    match: ({ o, ours, theirs }) => /^STREAM\.(CREATE|UPDATE)\./.test(o.subj) && o.body?.allow_msg_counter && o.body.subject_delete_marker_ttl > 0 && ours[0]?.data?.error?.description === "counter stream cannot use message TTLs",
  },
  // --- strict: what would lose data is not imitated ---
  {
    id: "first-seq-restart",
    row: "`first_seq` changed by an update",
    mode: "strict",
    ends: true,
    match: (c) => {
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (!api(c.o, "STREAM.INFO.") || !(b?.config?.first_seq > 0) || !before(c).some((x) => x.op === "restart")) return false;
      const set = new Set(configs(before(c)).filter((x) => x.body.name === b.config.name).map((x) => x.body.first_seq ?? 0));
      return set.size > 1 && b.state.first_seq >= b.config.first_seq && b.state.first_seq > a?.state?.first_seq && b.state.messages <= a.state.messages;
    },
  },
  // --- both modes ---
  {
    id: "purged-unused",
    row: "`first_seq` of a stream that was purged before it held a message",
    match: (c) => {
      const [a, b] = [copy(c.ours), c.theirs];
      const ops = before(c);
      const stopped = ops.findLastIndex((x) => x.op === "restart");
      let found = false;
      for (const [i, x] of streamsIn(a).entries()) {
        const other = streamsIn(b)[i];
        if (x.state.last_seq !== 0 || x.state.first_seq !== 0 || other?.state.first_seq !== 1 || !ops.slice(0, stopped + 1).some((o) => o.subj === `STREAM.PURGE.${x.config.name}`)) continue;
        x.state.first_seq = 1;
        found = true;
      }
      return found && same(a, b);
    },
  },
  {
    id: "updated-to-interest",
    row: "a stream updated from limits to interest",
    ends: true,
    match: (c) => {
      const ops = before(c);
      const room = c.o.op === "pub" && refused(c.theirs, 10077) && c.ours[0]?.data?.seq > 0; // it is full there
      if (c.o.op !== "get" && !api(c.o, "STREAM.") && !room) return false;
      if (c.theirs[0]?.data?.state && !(c.theirs[0].data.state.messages > c.ours[0]?.data?.state?.messages)) return false;
      return ops.some((x) => x.subj?.startsWith("STREAM.UPDATE.") && x.body?.retention === "interest" && about(c, x.body.name) && creates(ops).some((k) => k.body.stream_name === x.body.name));
    },
  },
  {
    id: "deletion-untold",
    row: "advisories of a stream and its consumers that are deleted",
    // Less is told there, and only of what was deleted.
    match: ({ o, ours, theirs, history, index }) => {
      if (o.op !== "advisories" || !(theirs.length < ours.length)) return false;
      const gone = history.ops.slice(0, index + 1).filter((x) => x.subj?.startsWith("STREAM.DELETE.")).map((x) => x.subj.split(".")[2]);
      const lacks = (t) => !theirs.includes(t) && gone.some((s) => t.includes(`STREAM.DELETED.${s}"`) || t.includes(`CONSUMER.DELETED.${s}.`));
      return same(ours.filter((t) => !lacks(t)), theirs);
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
    id: "unused-last-ts",
    row: "`last_ts` of a stream made with `first_seq` that never held a message",
    // Nothing else of the answer may differ.
    match: (c) => {
      if (!api(c.o, "STREAM.") || !before(c).some((x) => x.how === "kill")) return false;
      const b = copy(c.theirs);
      const [mine, theirs] = [streamsIn(c.ours), streamsIn(b)];
      const unused = (x) => x.config?.first_seq > 0 && x.state.messages === 0 && x.state.last_seq === x.config.first_seq - 1;
      theirs.forEach((x, i) => unused(x) && mine[i] && /^0001-/.test(mine[i].state.last_ts) && (x.state.last_ts = mine[i].state.last_ts));
      return theirs.length > 0 && same(c.ours, b);
    },
  },
  {
    id: "kill-deleted-last",
    row: "`last_ts` of a stream whose last message was deleted, after kill -9",
    // Nothing else of the answer may differ.
    match: (c) => {
      if (!api(c.o, "STREAM.") || !before(c).some((x) => x.how === "kill")) return false;
      const b = copy(c.theirs);
      const [mine, theirs] = [streamsIn(c.ours), streamsIn(b)];
      const removed = (name) => before(c).some((x) => x.subj === `STREAM.MSG.DELETE.${name}`);
      theirs.forEach((x, i) => /^0001-/.test(x.state.last_ts) && x.state.last_seq > 0 && mine[i] && removed(x.config?.name) && (x.state.last_ts = mine[i].state.last_ts));
      return theirs.length > 0 && same(c.ours, b);
    },
  },
  {
    id: "kill-removals",
    row: "messages that were removed, after kill -9",
    ends: true,
    match: ({ o, ours, theirs, history, index }) => {
      const [a, b] = [ours[0]?.data?.state, theirs[0]?.data?.state];
      if (!api(o, "STREAM.INFO.") || !history.ops.slice(0, index + 1).some((x) => x.how === "kill") || !a || !b) return false;
      // What is back there may have pushed out others again.
      const back = a.deleted?.some((seq) => seq >= b.first_seq && !b.deleted?.includes(seq));
      // What was removed for its subject's limit was back, pushed out the oldest, and is removed again.
      const { max_msgs: most, max_bytes: bytes, max_msgs_per_subject: each } = theirs[0].data.config;
      const gone = (seq) => seq < b.first_seq || b.deleted?.includes(seq);
      const pushed = (most > 0 || bytes > 0) && each > 0 && b.first_seq > a.first_seq && b.messages < a.messages && a.deleted?.length > 0 && a.deleted.every(gone);
      return (b.messages > a.messages || back || pushed || (b.lost && !a.lost)) && a.last_seq === b.last_seq;
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
    // All others made room for it: it alone is here, and nothing there, until the next one is stored.
    match: (c) => {
      const streams = tooLarge(c).filter((s) => about(c, s));
      if (!streams.length || tellsLess(c)) return false;
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (a?.state && b?.state) return a.state.messages === 1 && b.state.messages === 0 && a.state.last_seq === b.state.last_seq;
      if (c.o.subj === "INFO") return a.storage >= b.storage && a.memory >= b.memory && same({ ...a, storage: 0, memory: 0 }, { ...b, storage: 0, memory: 0 });
      if (api(c.o, "STREAM.MSG.GET.")) return a?.message && refused(c.theirs, 10037);
      if (api(c.o, "STREAM.PURGE.")) return a?.purged === 1 && b?.purged === 0;
      if (api(c.o, "STREAM.MSG.DELETE.")) return a?.success && b?.error;
      if (c.o.op === "get") return gone(c.theirs) && !gone(c.ours);
      // What somebody expects of the last message of a subject: it has a number here.
      if (c.o.op === "pub") return c.o.hdr?.some((h) => h.startsWith("Nats-Expected-Last-Subject-Sequence:") || h.startsWith("Nats-Incr:")) && !same(a?.error, b?.error);
      return aboutConsumers(c.o) || api(c.o, "STREAM.LIST");
    },
  },
  {
    id: "purge-deleted-last",
    row: "a purge up to a sequence that was deleted, behind all messages there are",
    ends: true,
    match: (c) => {
      if (!api(c.o, "STREAM.INFO.")) return false;
      const [a, b] = [copy(c.ours), copy(c.theirs)];
      const [x, y] = [a[0]?.data?.state, b[0]?.data?.state];
      const name = b[0]?.data?.config?.name;
      if (!x || !y || inMemory(before(c), name)) return false;
      const purged = before(c).filter((o) => o.subj === `STREAM.PURGE.${name}` && o.body?.seq > 1 && !o.body.filter);
      if (!purged.length || !(y.first_seq < x.first_seq || y.num_deleted > x.num_deleted)) return false;
      for (const k of ["first_seq", "first_ts", "num_deleted", "deleted"]) delete x[k], delete y[k];
      return same(a, b);
    },
  },
  {
    id: "last-of-all",
    row: "`last_by_subj` of `>` after the last message was deleted",
    match: ({ o, ours, theirs }) => {
      // Only what is refused is told of.
      if (o.op === "audits") return theirs.length > ours.length && same(ours, theirs.filter((t) => !OF_ALL.test(t)));
      return o.body?.last_by_subj === ">" && ((refused(theirs, 10037) && ours[0]?.data?.message) || (/^NATS\/1\.0 404 /.test(theirs[0]?.hdr) && ours.length === 1 && !/^NATS\/1\.0 \d/.test(ours[0].hdr ?? "")));
    },
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
    id: "fast-expected-id",
    row: "a wrong `Nats-Expected-Last-Msg-Id` in a fast batch",
    ends: true,
    match: (c) => {
      const { o, ours, theirs } = c;
      if (o.op !== "pub" || !o.suffix) return false;
      const asks = (x) => x.suffix?.split(".")[0] === o.suffix.split(".")[0] && x.hdr?.some((h) => /^Nats-Expected-Last-Msg-Id: *\S/.test(h));
      if (!asks(o)) return ours[0]?.data?.error?.err_code === 10208 && before(c).some(asks); // it is over here
      const wrong = (m) => m.data?.error?.err_code === 10070;
      return ours.some((m) => wrong(m) && m.data.type === "err") && wrong(theirs.at(-1) ?? {}) && !theirs.at(-1).data.type;
    },
  },
  {
    id: "fast-end",
    row: "the end of a fast batch whose last message was refused",
    ends: true,
    match: ({ o, ours, theirs }) => o.op === "pub" && o.suffix && ours.length === theirs.length + 1 && ours.at(-1).data?.batch !== undefined && same(ours.slice(0, -1), theirs),
  },
  {
    id: "ids-restart",
    row: "ids of messages that are gone",
    ends: true,
    match: (c) => (unheardAgain(c) || (c.o.op === "pub" && c.ours[0]?.data?.duplicate && !c.theirs[0]?.data?.duplicate)) && before(c).some((x) => x.op === "restart" || x.body?.retention === "interest"),
  },
  {
    id: "multi-up-to",
    row: "`multi_last` with `up_to_seq` beyond the last sequence",
    match: ({ o, theirs, ours }) =>
      o.op === "get" && o.body?.multi_last && o.body.up_to_seq > 0 && theirs.length === 1 && theirs[0].hdr === "NATS/1.0 404 No Results\r\n\r\n" && /^NATS\/1\.0 204 EOB/.test(ours.at(-1)?.hdr),
  },
  ...CONSUMER_RULES,
  ...COPY_RULES,
  ...GROUP_RULES,
];

const OF_ALL = /"subject":"\$JS\.API\.STREAM\.MSG\.GET\.[^"]+","request":"\{\\"last_by_subj\\":\\">\\"/;
const gone = (answer) => /^NATS\/1\.0 404 /.test(answer[0]?.hdr);

// Streams that discard old messages and got one that does not fit into them: the last one there, or what consumers got of it.
function tooLarge(c) {
  const ops = before(c);
  const names = configs(ops).filter((m) => m.body.max_bytes > 0 && m.body.discard !== "new").map((m) => [m.body.name, m.body.max_bytes]);
  return names.filter(([s, max]) => {
    const to = ops.filter((x) => x !== c.o && reaches(c, x, s) && !c.refused?.has(x));
    return (aboutConsumers(c.o) ? to : to.slice(-1)).some((x) => sizeOf(x) > max);
  }).map(([s]) => s);
}
