// rules_backups.mjs: accepted differences about streams that were restored from a snapshot.
import { about, api, before, called, configs, copy, creates, goesTo, same, streamsIn, takesFrom } from "./rules_help.mjs";

const restores = (c, stream) => before(c).filter((x) => x.op === "restore" && (stream === undefined || x.s === stream));

// Whether nats-server's consumer began anew behind the messages that are gone, when it was restored.
function began(c, stream, name) {
  const k = restores(c, stream).length && c.started?.get(stream)?.find((x) => called(stream, x.name) === called(stream, name));
  return k && k.delivered.consumer_seq === 0 && k.ack_floor.stream_seq > 0;
}

// What is told of a snapshot that is taken of a restored stream, without the time of its last message.
function untimed(c, text) {
  const [, stream] = /"type":"io\.nats\.jetstream\.advisory\.v1\.snapshot_create".*?"stream":"([^"]+)"/.exec(text) ?? [];
  return stream && restores(c, stream).length ? text.replace(/"last_ts":"[^"]*"/, "") : text;
}

// Whether a stream that acknowledges nothing got an id once more that it had when it was restored: it is stored there.
function storedAgain(c) {
  const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
  const name = b?.config?.name;
  if (!(api(c.o, "STREAM.INFO.") || api(c.o, "STREAM.SNAPSHOT.")) || !b?.config?.no_ack || !restores(c, name).length) return false;
  const more = b.state.last_seq - a?.state?.last_seq;
  const at = before(c).findLastIndex((x) => x.op === "restore" && x.s === name);
  const ids = (ops) => ops.filter((x) => goesTo(x, name)).flatMap((x) => x.hdr?.filter((h) => h.startsWith("Nats-Msg-Id:")) ?? []);
  const had = ids(before(c).slice(0, at));
  const limited = configs(before(c)).some((x) => x.body.name === name && (x.body.max_msgs_per_subject > 0 || x.body.max_msgs > 0 || x.body.max_bytes > 0)); // others may have gone for it
  return more > 0 && (limited || b.state.messages - a.state.messages === more) && ids(before(c).slice(at)).filter((h) => had.includes(h)).length >= more;
}

// The same, where a message of such a stream is read: the one there has the id.
function readAgain(c) {
  const name = c.o.op === "get" ? c.o.subj.split(".")[0] : api(c.o, "STREAM.MSG.GET.") ? c.o.subj.split(".")[2] : undefined;
  if (!name || !restores(c, name).length || !configs(before(c)).some((x) => x.body.name === name && x.body.no_ack)) return false;
  const at = before(c).findLastIndex((x) => x.op === "restore" && x.s === name);
  const published = (id, ops) => ops.some((x) => goesTo(x, name) && x.hdr?.includes(`Nats-Msg-Id: ${id}`));
  const id = /Nats-Msg-Id: (\S+)/.exec(c.theirs[0]?.hdr ?? Buffer.from(c.theirs[0]?.data?.message?.hdrs ?? "", "base64"))?.[1];
  return id && published(id, before(c).slice(0, at)) && published(id, before(c).slice(at)) && !same(c.ours, c.theirs);
}

export const BACKUP_RULES = [
  {
    id: "restored-ids",
    row: "ids of messages that were restored",
    ends: true,
    match: (c) => {
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (storedAgain(c) || readAgain(c)) return true;
      if (c.o.op !== "pub" || !a || !restores(c, a.stream).length) return false;
      const asks = c.o.hdr?.some((h) => h.startsWith("Nats-Expected-Last-Msg-Id:"));
      if (a.error?.err_code === 10201 && b?.batch && restores(c, b.stream).length) return true; // one of a batch
      return (a.duplicate && !b?.duplicate) || (asks && (a.error?.err_code === 10070 || b?.error?.err_code === 10070) && (b?.error?.description ?? "wrong last msg ID: ") === "wrong last msg ID: ");
    },
  },
  {
    id: "restored-last-ts",
    row: "`last_ts` of a restored stream",
    moment: true,
    // Until the next message comes, whatever tells of the stream.
    match: (c) => {
      const told = c.o.op === "advisories" && [c.ours, c.theirs].map((l) => l.map((t) => untimed(c, t)));
      if (told) return c.moment ? !same(told[0], c.ours) : same(...told);
      if (!api(c.o, "STREAM.")) return false;
      const b = copy(c.theirs);
      const [mine, theirs] = [streamsIn(c.ours), streamsIn(b)];
      theirs.forEach((s, i) => restores(c, s.config?.name).length && mine[i]?.state.last_seq === s.state.last_seq && (s.state.last_ts = mine[i].state.last_ts));
      const times = (v) => (c.moment ? JSON.stringify(v).replace(/<time [^>]*>/g, (t) => (JSON.stringify(mine.map((s) => s.state.last_ts)).includes(t) ? t : "<time>")) : JSON.stringify(v));
      return theirs.length > 0 && same(times(c.ours), times(b)) && !same(c.ours, c.theirs);
    },
  },
  {
    id: "restore-cut",
    row: "a snapshot of the other server that is cut off",
    ends: true,
    match: ({ o, ours, theirs }) => api(o, "STREAM.RESTORE.") && o.cross && o.flaw === "short" && [ours, theirs].every((x) => x.at(-1)?.data?.error?.err_code === 10062),
  },
  {
    id: "restore-below-floor",
    row: "a snapshot whose consumer waits for a message that its ack floor was moved over",
    ends: true,
    // Of nats-server's snapshot: what was acknowledged below the floor waits once more.
    part: (c, mine, k) => {
      const acked = before(c).some((x) => x.op === "ack" && called(x.s, x.c) === called(k.stream_name, k.name));
      if (!restores(c, k.stream_name).some((x) => x.cross) || !before(c).some(takesFrom(k.stream_name)) || !acked) return;
      if (same(mine.delivered, k.delivered) && same(mine.ack_floor, k.ack_floor) && mine.num_ack_pending > k.num_ack_pending) k.num_ack_pending = mine.num_ack_pending;
    },
    match: ({ o, ours, theirs }) => api(o, "STREAM.RESTORE.") && ours.at(-1)?.data?.config && /bad pending entry, sequence \[\d+\] out of range/.test(theirs.at(-1)?.data?.error?.description),
  },
  {
    id: "restore-replicas",
    row: "a restore with more replicas than there are servers",
    ends: true,
    match: ({ o, ours, theirs }) => api(o, "STREAM.RESTORE.") && (o.body?.config ?? o.config)?.num_replicas > 1 && ours.length === 1 && ours[0].data?.error?.err_code === 10074 && theirs[0]?.data?.deliver_subject && (theirs.length === 1 || (o.flaw ? theirs[1].data?.error : /replicas > 1 not supported/.test(theirs[1].data?.error?.description))),
  },
  {
    id: "restored-first-seq",
    row: "`first_seq` changed by an update",
    ends: true,
    match: (c) => {
      const firsts = new Set(configs(before(c)).filter((x) => x.body.name === c.o.s).map((x) => x.body.first_seq ?? 0).concat(c.o.config?.first_seq ?? []));
      const [a, b] = [c.ours.at(-1)?.data, c.theirs.at(-1)?.data];
      if (!api(c.o, "STREAM.RESTORE.") || firsts.size < 2 || !a?.config) return false;
      if (b?.state) return b.state.messages === 0 && b.state.first_seq === b.config.first_seq && a.state.first_seq < b.state.first_seq; // one without messages begins there
      return /expected sequence does not match store/.test(b?.error?.description);
    },
  },
  {
    id: "restored-floor",
    row: "a consumer whose ack floor lies before the first message",
    ends: true,
    part: (c, mine, k) => {
      const anew = k.delivered.consumer_seq === 0 || (k.ack_floor.consumer_seq === 0 && k.delivered.last_active && !mine.delivered.last_active); // somebody listens: it has begun
      const behind = mine.ack_floor.stream_seq < k.ack_floor.stream_seq || (restores(c, k.stream_name).some((x) => x.cross) && mine.ack_floor.stream_seq === k.ack_floor.stream_seq); // each may have the other's floor
      if (!restores(c, k.stream_name).length || !anew || !(mine.delivered.consumer_seq > 0) || !behind) return;
      for (const f of ["delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_pending"]) k[f] = mine[f];
    },
    // Its first delivery has the number 1 again.
    match: (c) => {
      if (c.o.op === "ack") return c.o.data?.startsWith("+NXT") && began(c, c.o.s, c.o.c) && /^NATS\/1\.0 404 /.test(c.ours[0]?.hdr) && c.theirs.length === 0; // what comes then is not among the answers
      const [a, b] = [c.ours, c.theirs].map((l) => l[0]?.reply?.split(".").slice(2, 7) ?? []);
      return (c.o.op === "pull" || c.o.op === "deliveries") && a[0] === b[0] && a[1] === b[1] && b[4] === "1" && Number(a[4]) > 1 && restores(c, a[0]).length > 0;
    },
  },
  {
    id: "restored-unused",
    row: "a consumer whose ack floor lies before the first message",
    // One that got nothing yet: both numbers are that before the first message, and what it will get is the same.
    part: (c, mine, k) => {
      const at = k.delivered.stream_seq;
      // Its list is made anew there, of what came since it was made too.
      const listed = k.config.deliver_policy === "last_per_subject" && k.num_pending < mine.num_pending;
      if (!restores(c, k.stream_name).length || (k.num_pending !== mine.num_pending && !listed) || k.ack_floor.consumer_seq !== 0 || mine.ack_floor.consumer_seq !== 0) return;
      // It has begun since, and nothing is acknowledged yet.
      if (k.delivered.consumer_seq > 0 && same(k.delivered, mine.delivered) && mine.ack_floor.stream_seq < k.ack_floor.stream_seq) k.ack_floor.stream_seq = mine.ack_floor.stream_seq;
      if (k.delivered.consumer_seq !== 0 || mine.delivered.consumer_seq !== 0) return;
      if (at !== k.ack_floor.stream_seq || !(mine.delivered.stream_seq < at) || !(mine.ack_floor.stream_seq < at)) return;
      k.delivered.stream_seq = mine.delivered.stream_seq;
      k.ack_floor.stream_seq = mine.ack_floor.stream_seq;
      k.num_pending = mine.num_pending;
    },
  },
  {
    id: "restored-needless",
    row: "messages that no consumer needs, in a snapshot",
    ends: true,
    // A reset to a number left them behind, a consumer begins behind them, the stream was another one when they were
    // acknowledged, or one was given up.
    match: (c) => {
      const [a, b] = [c.ours[1]?.data, c.theirs[1]?.data];
      if (!api(c.o, "STREAM.RESTORE.") || !same(a?.config, b?.config) || !["workqueue", "interest"].includes(a?.config?.retention)) return false;
      const reset = before(c).some((x) => x.subj?.startsWith(`CONSUMER.RESET.${c.o.s}.`) && x.body?.seq > 1);
      const givesUp = creates(before(c)).some((x) => x.body.stream_name === c.o.s && x.body.config.max_deliver > 0);
      const later = creates(before(c)).some((x) => x.body.stream_name === c.o.s && (x.body.config.opt_start_seq > 1 || x.body.config.opt_start_time));
      return (reset || givesUp || later || c.o.config?.retention) && b.state.consumer_count > 0 && a.state.messages > b.state.messages && a.state.last_seq === b.state.last_seq;
    },
  },
  {
    id: "restore-failed",
    row: "a restore that fails",
    ends: true,
    // The stream is there on nats-server, and not here.
    match: (c) => {
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      const names = [...(c.unmade ?? [])].filter((s) => about(c, s));
      if (!names.length) return false;
      if (api(c.o, "STREAM.NAMES") || api(c.o, "STREAM.LIST")) return b.total > a.total && same(b.streams.filter((s) => !names.includes(s.config?.name ?? s)), a.streams ?? []);
      if (c.o.subj === "INFO") return b.streams > a.streams;
      if (c.o.op === "pub") return names.includes(b?.stream) && !a?.stream;
      return (api(c.o, "STREAM.") || api(c.o, "CONSUMER.")) && ((a?.error?.err_code === 10059 && b?.error?.err_code !== 10059) || ([10058, 10130].includes(b?.error?.err_code) && !a?.error));
    },
  },
  {
    id: "restored-unused-first",
    row: "`first_seq` of a restored stream that never held a message",
    match: (c) => {
      const b = copy(c.theirs);
      const [mine, theirs] = [streamsIn(c.ours), streamsIn(b)];
      const unused = (x) => x?.state.messages === 0 && x.state.last_seq === 0;
      const at = (name) => before(c).findIndex((x) => x.op === "restore" && x.s === name);
      const again = (name) => at(name) >= 0 && before(c).slice(at(name)).some((x) => x.op === "restart");
      theirs.forEach((x, i) => again(x.config?.name) && unused(x) && unused(mine[i]) && mine[i].state.first_seq === 0 && x.state.first_seq === 1 && (x.state.first_seq = 0));
      return api(c.o, "STREAM.") && theirs.length > 0 && same(c.ours, b);
    },
  },
];
