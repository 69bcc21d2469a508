// rules_consumers.mjs: the accepted differences about consumers.  Beside `match` (rules_list.mjs) a rule may have
//   part  (context, mine, theirs): what the row explains of one consumer in an answer: `theirs` is changed to what
//         is here.  An answer is accepted when its parts together explain all of it.
import { about, aboutConsumers, again, api, asleep, before, blind, called, configs, consumersOf, copy, creates, deletesFrom, deliveryOf, discards, filterOf, firstApart, forInterest, goesTo, holdsMore, inMemory, keepsAll, reach, refiltered, same, streamsOf, takesFrom, takesMany, without } from "./rules_help.mjs";

const take = (k, mine, fields) => fields.forEach((f) => mine[f] !== undefined && (k[f] = mine[f]));
const less = (k, mine, field) => k[field] > mine[field] && (k[field] = mine[field]);
const restarted = (c) => before(c).some((x) => x.op === "restart");
const delivers = (o) => o.op === "pull" || o.op === "deliveries";
const DELETED = /"reason":"Unacknowledged message was deleted"/;
const UNDER_WAY = "<under way>"; // how far it is, is compared when it has settled
const PROGRESS = ["delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_pending"];

// Sleeps on nats-server and went on here (as far as there are requests that may be served); whom it is pinned to is
// found out on the way.
function woken(k, mine) {
  if (!asleep(k) || (asleep(mine) && !/^(overflow|pinned_client)$/.test(mine.config.priority_policy)) || !(mine.delivered.consumer_seq > k.delivered.consumer_seq)) return;
  take(k, mine, [...PROGRESS, "num_waiting"]);
  if (!k.priority_groups?.some((g) => g.pinned_client_id)) take(k, mine, ["priority_groups"]);
}
const unfiltered = (config) => filterOf(config) === filterOf({});
// A publish to an interest stream that is looked at here, and refused: there nobody wants it, since the filter of the
// one who does was taken away.
function wantedHere(c, names) {
  const ops = before(c);
  const waits = (n) => creates(ops).some((x) => n === called(x.body.stream_name, x.body.config.durable_name ?? x.body.config.name ?? x.subj.split(".").at(-1)) && unfiltered(x.body.config));
  const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
  return [10165, 10166, 10077].includes(a?.error?.err_code) && b?.seq > 0 && !b.error && [...names].some((n) => forInterest(ops, n.split(" ")[0]) && goesTo(c.o, n.split(" ")[0]) && waits(n));
}
// Whether the first message that differs is a later one there: what stands before it is gone.  Without headers none tells its
// sequence.
const sequence = (m) => Number(/\r\nNats-Sequence: (\d+)/.exec(m?.hdr ?? "")?.[1] ?? Infinity);
const skips = (c) => {
  const at = c.ours.findIndex((m, i) => sequence(m) !== sequence(c.theirs[i]));
  return c.o.body?.no_hdr ? !notFound(c.theirs) : at >= 0 && sequence(c.ours[at]) < sequence(c.theirs[at]);
};
const notFound = (answer) => answer[0]?.data?.error?.err_code === 10037 || /^NATS\/1\.0 404 Message Not Found/.test(answer[0]?.hdr);
const full = (k) => k.config.max_ack_pending > 0 && k.num_ack_pending >= k.config.max_ack_pending;

// The sequence of the first message of an answer; NaN if it has none.
const sequenceOf = (answer) => Number(/^Nats-Sequence: (\d+)/m.exec(answer[0]?.hdr ?? "")?.[1]);

export const CONSUMER_RULES = [
  {
    id: "filter-update",
    row: "a consumer whose filter is updated",
    ends: true,
    // What was passed over there is counted or delivered here; a list made anew may be longer or shorter.
    part: (c, mine, k) => {
      if (!refiltered(before(c)).has(called(k.stream_name, k.name))) return;
      // Without a filter it is not told there of what goes, either.
      const untold = unfiltered(k.config) && (before(c).some(deletesFrom(k.stream_name)) || discards(before(c), k.stream_name));
      if (k.config.deliver_policy !== "last_per_subject" && reach(mine) < reach(k) && !untold) return;
      take(k, mine, [...PROGRESS, "num_waiting"]);
      if (!k.priority_groups?.some((g) => g.pinned_client_id)) take(k, mine, ["priority_groups"]); // by what came here
    },
    match: (c) => {
      const names = refiltered(before(c));
      if (names.size === 0) return false;
      if (c.o.op === "pub") return wantedHere(c, names);
      if (!aboutConsumers(c.o) || api(c.o, "CONSUMER.") || !same(...without(c, names))) return false;
      return !delivers(c.o) || passedOver(c) || creates(before(c)).some((x) => x.body.config.deliver_policy === "last_per_subject");
    },
  },
  {
    id: "filter-takes",
    row: "an interest stream, and a consumer of it whose filter is updated",
    ends: true,
    // There is more here, of that stream alone.
    match: (c) => {
      const ops = before(c);
      const streams = [...refiltered(ops)].map((n) => n.split(" ")[0]).filter((s) => forInterest(ops, s));
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (!streams.some((s) => about(c, s))) return false;
      if (c.o.subj === "INFO") return a.storage + a.memory > b.storage + b.memory && a.storage >= b.storage && a.memory >= b.memory && same({ ...b, storage: 0, memory: 0 }, { ...a, storage: 0, memory: 0 });
      if (["INFO", "SNAPSHOT", "UPDATE"].some((verb) => api(c.o, `STREAM.${verb}.`))) return a?.state?.messages > b?.state?.messages && a.state.last_seq === b.state.last_seq && same(a.config, b.config);
      if (api(c.o, "STREAM.PURGE.")) return a?.purged > b?.purged;
      // What a publish expects of its subject is answered with the last message of that.
      const last = (x) => (x?.error?.err_code === 10071 ? Number(/: (\d+)$/.exec(x.error.description)?.[1]) : NaN);
      if (c.o.op === "pub") return c.o.hdr?.some((h) => h.startsWith("Nats-Expected-Last-Subject-Sequence:")) && last(a) > last(b);
      if (api(c.o, "CONSUMER.CREATE.")) return a?.delivered?.stream_seq < b?.delivered?.stream_seq && a.num_pending >= b.num_pending; // another one begins with them
      if (api(c.o, "STREAM.MSG.GET.")) return a?.message && b?.error?.err_code === 10037;
      return c.o.op === "get" && c.ours.length >= c.theirs.length && /^NATS\/1\.0 404 /.test(c.theirs[0]?.hdr) && !/^NATS\/1\.0 404 /.test(c.ours[0]?.hdr);
    },
  },
  {
    id: "resume",
    row: "resuming a consumer that requests wait for",
    ends: true,
    part: (c, mine, k) => {
      const pauses = before(c).filter((x) => x.subj?.startsWith(`CONSUMER.PAUSE.${k.stream_name}.`)).length;
      const born = creates(before(c)).some((x) => x.body.stream_name === k.stream_name && x.body.config.pause_until);
      if (pauses <= (born ? 0 : 1)) return;
      woken(k, mine);
      // What was refused comes again whether there is room or not; a client that is not the pinned one is told so.
      if (k.num_waiting > 0 && mine.num_redelivered > k.num_redelivered && mine.delivered.consumer_seq > k.delivered.consumer_seq) take(k, mine, [...PROGRESS, "num_waiting"]);
      const pins = k.config.priority_policy === "pinned_client" && before(c).some((x) => x.op === "pull" && x.s === k.stream_name && x.body?.id);
      if (pins && same(mine.delivered, k.delivered)) less(k, mine, "num_waiting");
    },
    // An interest stream holds what the one that sleeps has not got yet.
    match: (c) => holdsMore(c) && before(c).filter((x) => x.subj?.startsWith(`CONSUMER.PAUSE.${c.theirs[0].data.config.name}.`)).length > 1,
  },
  {
    id: "sampling-stays",
    row: "`sample_freq` left out by an update",
    match: (c) => {
      if (c.o.op !== "advisories") return false;
      const off = creates(before(c)).filter((x, i, all) => !x.body.config.sample_freq && all.slice(0, i).some((y) => y.body.config.sample_freq && y.body.stream_name === x.body.stream_name));
      const told = (t) => off.some((x) => t.startsWith(`{"subject":"$JS.EVENT.METRIC.CONSUMER.ACK.${x.body.stream_name}.`));
      return same(c.ours.filter((t) => !told(t)), c.theirs.filter((t) => !told(t))) && c.ours.every((t) => c.theirs.includes(t));
    },
  },
  {
    id: "purge-makes-room",
    row: "a request that waits behind `max_ack_pending`, and a purge",
    ends: true,
    part: (c, mine, k) => before(c).some(takesFrom(k.stream_name)) && woken(k, mine),
  },
  {
    id: "given-up",
    row: "`num_redelivered`, and messages that came as often as they may",
    part: (c, mine, k) => (k.config.max_deliver > 1 || creates(before(c)).some((x) => x.body.stream_name === k.stream_name && x.body.config.max_deliver > 0)) && less(k, mine, "num_redelivered"),
  },
  {
    id: "given-up-acked",
    row: "an ack of what was given up, ack policy `all`",
    // As much waits there, and the floor is where it was.
    part: (_, mine, k) => {
      if (k.config.ack_policy !== "all" || !(k.config.max_deliver > 0) || k.num_ack_pending !== mine.num_ack_pending) return;
      if (k.ack_floor.stream_seq < mine.ack_floor.stream_seq && mine.ack_floor.stream_seq <= k.delivered.stream_seq) take(k, mine, ["ack_floor"]);
    },
  },
  {
    id: "given-up-reset",
    row: "CONSUMER.RESET without a sequence, after messages were given up",
    ends: true,
    // Theirs begins behind them: here they are still to come.
    part: (c, mine, k) => {
      if (!c.o.subj.startsWith("CONSUMER.RESET.") || c.o.body?.seq || !(k.config.max_deliver > 0)) return;
      const skipped = k.reset_seq - mine.reset_seq;
      if (skipped > 0 && mine.num_pending > k.num_pending && mine.num_pending - k.num_pending <= skipped) take(k, mine, ["reset_seq", "delivered", "ack_floor", "num_pending"]);
    },
  },
  {
    id: "next-for-nobody",
    row: "`+NXT` without a reply subject",
    ends: true,
    part: (c, mine, k) => {
      if (k.config.max_deliver > 0 && k.num_ack_pending < mine.num_ack_pending && asksForNobody(c, k.stream_name, k.name)) take(k, mine, ["num_ack_pending"]);
      // That request is found to have no receiver between the others, and another one of them is next.
      if (k.config.priority_policy === "overflow" && nextForNobody(c, k.stream_name, k.name).length > 0 && same(mine.delivered, k.delivered)) take(k, mine, ["num_waiting"]);
    },
    match: (c) => {
      if (c.o.op !== "advisories") return false;
      const more = [...c.theirs];
      const onlyHere = c.ours.filter((t) => !more.includes(t) || !more.splice(more.indexOf(t), 1));
      const [of, seq] = [(t, key) => new RegExp(`"${key}":"([^"]+)"`).exec(t)?.[1], (t) => /"stream_seq":(\d+)/.exec(t)?.[1]];
      const given = (t) => /MAX_DELIVERIES/.test(t) && asksForNobody(c, of(t, "stream"), of(t, "consumer"));
      // What waits here, and is refused once more.
      const waited = (t) => /MSG_NAKED/.test(t) && more.some((x) => ["stream", "consumer"].every((key) => of(x, key) === of(t, key)) && seq(x) === seq(t));
      return more.length > 0 && more.every(given) && onlyHere.every(waited);
    },
  },
  {
    id: "listed-interest",
    row: "an interest stream, and a consumer that begins with the last of each subject",
    ends: true,
    match: (c) => {
      const stream = c.o.op === "get" ? c.o.subj.split(".")[0] : c.o.subj?.split(".")[2];
      if (!forInterest(before(c), stream ?? "") || !creates(before(c)).some((x) => x.body.stream_name === stream && x.body.config.deliver_policy === "last_per_subject")) return false;
      if (c.o.op === "get" && sequenceOf(c.theirs) < sequenceOf(c.ours)) return true; // it finds one of those that stay
      return holdsMore(c) || (api(c.o, "STREAM.PURGE.") && c.theirs[0]?.data?.purged > c.ours[0]?.data?.purged);
    },
  },
  {
    id: "first-update",
    row: "the answer to the first update of a consumer after a restart",
    // It tells what it told when it had started; what holds now is told by every other answer.
    match: (c) => {
      const ops = before(c);
      const k = c.theirs[0]?.data;
      const at = ops.findLastIndex((x) => x.op === "restart" || (x.op === "restore" && x.s === k?.stream_name));
      const made = creates(ops.slice(at + 1)).filter((x) => !c.refused.has(x) && named(x) === named(c.o));
      const was = at >= 0 && c.started.get(k?.stream_name)?.find((x) => x.name === k.name);
      return made.length === 1 && made[0] === c.o && was && same(told(k), told({ ...was, ...(k.delivered === UNDER_WAY ? k : {}), config: was.config })) && c.ours[0]?.data?.created && same(still(c.ours), still(c.theirs));
    },
  },
  {
    id: "group-updated",
    row: "a push consumer whose deliver group is updated",
    ends: true,
    part: (c, mine, k) => {
      const groups = creates(before(c)).filter((x) => !c.refused.has(x) && named(x) === `${k.stream_name},${k.name}`).map((x) => x.body.config.deliver_group);
      if (new Set(groups).size < 2 || !mine.push_bound || k.push_bound) return;
      take(k, mine, PROGRESS);
      delete k.ts; // which stands behind it
      take(k, mine, ["push_bound", "ts"]);
    },
  },
  {
    id: "no-wait-behind",
    row: "a `no_wait` request that waits behind `max_ack_pending`, and everything",
    ends: true,
    part: (c, mine, k) => asksNow(c, k.stream_name) && less(k, mine, "num_waiting"),
  },
  {
    id: "no-wait-paused",
    row: "a `no_wait` request that waits behind `max_ack_pending` while the consumer is paused",
    ends: true,
    part: (c, mine, k) => {
      if (k.paused && k.config.max_ack_pending > 0 && mine.num_waiting > k.num_waiting && asksNow(c, k.stream_name)) k.num_waiting = mine.num_waiting;
    },
  },
  {
    id: "ack-passed-over",
    row: "an ack of a message that was never delivered",
    ends: true,
    // With +NXT nothing is confirmed, but it was a sign of life.
    part: (c, mine, k) => {
      const next = before(c).some((x) => x.op === "ack" && called(x.s, x.c) === called(k.stream_name, k.name) && x.data?.startsWith("+NXT"));
      if (next && resetAndGone(c, k.stream_name, k.name) && k.ack_floor.last_active && !mine.ack_floor.last_active) delete k.ack_floor.last_active;
    },
    match: (c) => {
      const [, , stream, name, , seq] = c.o.subj?.split(".") ?? [];
      if (c.o.op === "ack" && c.ours.length === 0 && same(c.theirs, [{ subject: "<inbox>" }])) return resetAndGone(c, c.o.s, c.o.c);
      if (c.o.op !== "raw" || c.ours.length !== 0 || !same(c.theirs, [{ subject: "<inbox>" }]) || !(Number(seq) > 0)) return false;
      const gone = discards(before(c), stream) || before(c).some(deletesFrom(stream)); // before it was delivered
      return creates(before(c)).some((x) => x.body.stream_name === stream && (x.subj.split(".").includes(name) || name.startsWith("%")) && (gone || x.body.config.filter_subject || x.body.config.filter_subjects?.length));
    },
  },
  {
    id: "pause-epoch",
    row: "PAUSE until 1970-01-01T00:00:00Z",
    part: (_, mine, k) => {
      if (k.config.pause_until !== "1970-01-01T00:00:00Z") return;
      delete k.config.pause_until;
      k.config.metadata["_nats.req.level"] = "0";
    },
    match: ({ o, ours, theirs }) => o.op === "advisories" && same(ours, theirs.filter((x) => !x.includes('"paused":false,"pause_until":"1970-01-01T00:00:00Z"'))),
  },
  {
    id: "purge-terminated",
    row: "MSG_TERMINATED of messages that a purge or a roll-up takes",
    match: (c) => {
      if (c.o.op !== "advisories" || !before(c).some(takesMany)) return false;
      const rest = (list) => list.filter((t) => !DELETED.test(t));
      return same(rest(c.ours), rest(c.theirs));
    },
  },
  {
    id: "last-active",
    row: "`last_active` after a restart",
    part: (c, mine, k) => {
      if (!restarted(c)) return;
      for (const f of ["delivered", "ack_floor"]) if (mine[f]?.last_active && k[f]) k[f].last_active = mine[f].last_active;
      if (!mine.config.name) delete k.config.name;
    },
  },
  {
    id: "limits-restart",
    row: "a consumer that is older than its stream's `consumer_limits`",
    part: (c, mine, k) => {
      const own = restarted(c) ? configs(before(c)).filter((x) => x.body.name === k.stream_name) : [];
      for (const f of ["max_ack_pending", "inactive_threshold"]) if (mine.config[f] === undefined && own.some((x) => x.body.consumer_limits?.[f] === k.config[f])) delete k.config[f];
    },
  },
  {
    id: "start-beyond",
    row: "`num_pending` of a consumer that starts beyond the last sequence",
    part: (c, mine, k) => startsBeyond(c) && less(k, mine, "num_pending"),
    // What it counts and will not get is there for a request that does not wait.
    match: (c) => delivers(c.o) && startsBeyond(c) && (same(blind(c.ours), blind(c.theirs)) || (/^NATS\/1\.0 404 No Messages/.test(c.ours[0]?.hdr) && /^NATS\/1\.0 408 Requests Pending/.test(c.theirs[0]?.hdr))),
  },
  {
    id: "last-deleted",
    row: "a consumer without a filter that begins with the last message",
    ends: true,
    part: (_, mine, k) => k.config.deliver_policy === "last" && filterOf(k.config) === filterOf({}) && mine.delivered.stream_seq < k.delivered.stream_seq && reach(mine) > reach(k) && take(k, mine, [...PROGRESS, "num_waiting"]),
  },
  {
    id: "memory-skip",
    row: "`delivered.stream_seq` of a consumer of a stream in memory",
    ends: true,
    part: (c, mine, k) => {
      if ((k.config.mem_storage || inMemory(before(c), k.stream_name)) && k.delivered.consumer_seq === 0 && mine.delivered.consumer_seq === 0 && k.num_pending === mine.num_pending) less(k.delivered, mine.delivered, "stream_seq");
    },
  },
  {
    id: "ack-all-loss",
    row: "ack policy `all`, and a message that waits for its ack is deleted",
    ends: true,
    // Less waits there, never more; with room for more it goes on.
    part: (c, mine, k) => {
      if (k.config.ack_policy === "all" && stopsAtGone(c, mine, k)) take(k, mine, ["ack_floor"]);
      if (k.config.ack_policy !== "all" || !(k.ack_floor.stream_seq >= mine.ack_floor.stream_seq)) return;
      const room = k.config.max_ack_pending > 0 && (k.delivered.consumer_seq > mine.delivered.consumer_seq || (full(mine) && !full(k)));
      if (room || k.num_ack_pending <= mine.num_ack_pending) take(k, mine, room ? [...PROGRESS, "num_waiting"] : ["ack_floor", "num_ack_pending", "num_redelivered", "num_pending"]);
    },
    match: (c) => {
      const all = creates(before(c)).filter((x) => x.body.config.ack_policy === "all");
      if (delivers(c.o)) return all.length > 0 && same(blind(c.ours), blind(c.theirs));
      // What is acknowledged so goes from an interest stream.
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      const loses = (s) => all.some((x) => x.body.stream_name === s) && (before(c).some(deletesFrom(s)) || discards(before(c), s));
      if (api(c.o, "STREAM.INFO.")) return loses(b?.config?.name) && !keepsAll(c) && b.state.messages < a?.state?.messages && a.state.last_seq === b.state.last_seq;
      if (c.o.op === "get" || api(c.o, "STREAM.MSG.GET.")) return loses(streamsOf(c).at(-1)) && (skips(c) || (notFound(c.theirs) && !notFound(c.ours))) && configs(before(c)).some((x) => x.body.retention === "interest");
      if (c.o.op !== "advisories" || !all.length) return false;
      // What it does not wait for any more cannot be refused, nor told to be gone.
      const told = (t) => /MSG_(NAKED|TERMINATED)/.test(t) && all.some((x) => t.includes(`"stream":"${x.body.stream_name}"`));
      return same(...[c.ours, c.theirs].map((list) => list.filter((t) => !told(t))));
    },
  },
  {
    id: "ack-all-refused",
    row: "ack policy `all`, and a message is refused that was delivered before one that came again",
    ends: true,
    // It comes again here; there it waits.
    part: (c, mine, k) => {
      if (k.config.ack_policy === "all" && refusedOf(c, k.stream_name, k.name) && mine.delivered.consumer_seq > k.delivered.consumer_seq && mine.num_redelivered >= k.num_redelivered && mine.num_ack_pending >= k.num_ack_pending && same(mine.ack_floor.stream_seq, k.ack_floor.stream_seq)) take(k, mine, [...PROGRESS, "num_waiting"]);
    },
    match: (c) => {
      const all = creates(before(c)).filter((x) => x.body.config.ack_policy === "all").map((x) => x.body.stream_name);
      if (c.o.op === "advisories") {
        const naked = (t) => t.includes(".ADVISORY.CONSUMER.MSG_NAKED.") && all.some((s) => t.includes(`"stream":"${s}"`));
        return c.ours.length > c.theirs.length && same(c.ours.filter((t) => !naked(t)), c.theirs.filter((t) => !naked(t)));
      }
      const [m, other] = firstApart(c);
      return delivers(c.o) && m?.reply && again(m) && all.includes(streamOf(m)) && refusedOf(c, ...m.reply.split(".").slice(2, 4)) && !(other && again(other));
    },
  },
  {
    id: "ack-all-below-floor-gone",
    row: "ack policy `all`, and a message goes that was delivered before one that came again",
    ends: true,
    part: (c, mine, k) => {
      const again = before(c).some((x) => x.op === "ack" && called(x.s, x.c) === called(k.stream_name, k.name) && x.data?.startsWith("-NAK"));
      if (k.config.ack_policy === "all" && again && loses(c, k.stream_name) && same(mine.delivered, k.delivered) && same(mine.ack_floor, k.ack_floor)) less(k, mine, "num_ack_pending");
    },
  },
  {
    id: "ack-before-reset",
    row: "an ack of a delivery from before a reset, or with a number that no delivery has, ack policy `all`",
    ends: true,
    // Its floor lies above what it has delivered since; or it has the number of what waits now, whose own ack counts for nothing there.
    part: (c, mine, k) => {
      if (!(wasReset(before(c), k.stream_name, k.name) || wasForged(before(c), k.stream_name, k.name)) || k.config.ack_policy !== "all" || mine.ack_floor.consumer_seq > mine.delivered.consumer_seq) return;
      if (k.ack_floor.consumer_seq > k.delivered.consumer_seq) take(k, mine, PROGRESS);
      if (k.num_ack_pending > 0 && k.ack_floor.consumer_seq < mine.ack_floor.consumer_seq && k.delivered.consumer_seq <= mine.delivered.consumer_seq) take(k, mine, [...PROGRESS, "num_waiting"]);
    },
    match: (c) => {
      const name = c.theirs[0]?.data?.config?.name;
      return holdsMore(c) && creates(before(c)).some((x) => x.body.stream_name === name && x.body.config.ack_policy === "all" && wasReset(before(c), name, x.subj.replace("DURABLE.", "").split(".")[3]));
    },
  },
  {
    id: "evicted-count",
    row: "the pending count in the ack subject and the ack floor, when a message that waits for its ack is discarded",
    // Between the two floors there is nothing.
    part: (c, mine, k) => {
      if (k.config.ack_policy !== "explicit" || !discards(before(c), k.stream_name) || !same(mine.delivered, k.delivered) || mine.num_ack_pending !== k.num_ack_pending) return;
      if (mine.ack_floor.consumer_seq === k.ack_floor.consumer_seq && mine.ack_floor.stream_seq < k.ack_floor.stream_seq) take(k, mine, ["ack_floor"]);
    },
    // The new one that the other had to go for is counted here, there perhaps not yet.
    match: (c) => {
      const ops = before(c);
      if (c.o.op !== "deliveries" || !same(blind(c.ours), blind(c.theirs))) return false;
      const bound = (s) => discards(ops, s) && creates(ops).some((x) => x.body.stream_name === s && x.body.config.max_ack_pending > 0);
      return c.ours.every((m, i) => same(m, c.theirs[i]) || (bound(streamOf(m)) && leftOf(m) === leftOf(c.theirs[i]) + 1));
    },
  },
  {
    id: "purge-forgets-naks",
    row: "a message that was refused, and a purge or a roll-up takes others",
    ends: true,
    // It came again here; there it did not, or something new came instead.
    part: (c, mine, k) => {
      if (!refusedAndTaken(c, k.stream_name) || mine.num_redelivered < k.num_redelivered) return;
      // It came again by +NXT, and was acknowledged since; there what came next.
      const next = before(c).some((x) => x.op === "ack" && called(x.s, x.c) === called(k.stream_name, k.name) && x.data?.startsWith("+NXT"));
      if (next && mine.delivered.consumer_seq === k.delivered.consumer_seq && mine.delivered.stream_seq < k.delivered.stream_seq && reach(mine) > reach(k)) take(k, mine, PROGRESS);
      // What had come again before is counted on both; what came by +NXT may be acknowledged since.
      if (mine.num_redelivered === k.num_redelivered && !((mine.num_redelivered > 0 || next) && mine.delivered.consumer_seq > k.delivered.consumer_seq && mine.num_ack_pending === k.num_ack_pending)) return;
      if (mine.delivered.consumer_seq >= k.delivered.consumer_seq && mine.delivered.stream_seq <= k.delivered.stream_seq) take(k, mine, ["delivered", "num_ack_pending", "num_redelivered", "num_pending", "num_waiting"]);
    },
    match: (c) => {
      // +NXT has brought it here, and there what comes next.
      // Here it comes by this very +NXT, under its own subject.
      if (c.o.op === "ack" && /^\+NXT .*"no_wait"/.test(c.o.data ?? "")) return refusedAndTaken(c, c.o.s) && c.ours.length === 0 && /^NATS\/1\.0 404 No Messages/.test(c.theirs[0]?.hdr);
      const stream = delivers(c.o) && (c.o.s ?? streamOf(c.ours[0] ?? {}));
      const next = stream && before(c).some((x) => x.op === "ack" && x.s === stream && x.data?.startsWith("+NXT"));
      if (next && refusedAndTaken(c, stream) && passedOver(c)) return true;
      if (!delivers(c.o) || !c.ours.some((m) => refusedAndTaken(c, streamOf(m)) && again(m))) return false;
      return !c.theirs.some(again) || refusedLater(c);
    },
  },
  {
    id: "floor-after-purge",
    row: "the ack floor after a purge or a roll-up took messages that wait",
    ends: true,
    part: (c, mine, k) => {
      if (!before(c).some(takesFrom(k.stream_name))) return;
      // What its floor has passed over it may forget, and a refusal of that with a delay is no activity there.
      const naked = before(c).some((x) => x.op === "ack" && called(x.s, x.c) === called(k.stream_name, k.name) && x.data?.startsWith("-NAK "));
      if (naked && k.num_ack_pending > 0 && k.ack_floor.consumer_seq === k.delivered.consumer_seq && !k.delivered.last_active) take(k.delivered, mine.delivered, ["last_active"]);
      const forgotten = mine.num_ack_pending - k.num_ack_pending;
      if (forgotten > 0 && forgotten > k.ack_floor.stream_seq - mine.ack_floor.stream_seq) return;
      // What went and is still counted may be one too many: nothing comes any more.
      const full = k.config.max_ack_pending > 0 && k.num_ack_pending >= k.config.max_ack_pending && mine.delivered.consumer_seq > k.delivered.consumer_seq;
      take(k, mine, full ? [...PROGRESS, "num_waiting"] : ["ack_floor", "num_ack_pending", "num_redelivered"]);
    },
    // What went and is still counted can be refused; what the floor has passed over can not.
    match: (c) => {
      if (c.o.op !== "advisories") return false;
      const [a, b] = [c.ours, c.theirs].map((list) => list.filter((t) => !DELETED.test(t)));
      const more = [...b.filter((t) => !a.includes(t)), ...a.filter((t) => !b.includes(t))];
      const naked = (t) => /MSG_NAKED/.test(t) && refusedAndTaken(c, /"stream":"([^"]+)"/.exec(t)?.[1]);
      return more.length > 0 && more.every(naked) && same(a.filter((t) => b.includes(t)), b.filter((t) => a.includes(t)));
    },
  },
  {
    id: "purge-looked",
    row: "`delivered.stream_seq` after a purge or a roll-up",
    // Nothing that it wants lies between the two numbers.
    part: (c, mine, k) => {
      if (k.delivered.consumer_seq !== mine.delivered.consumer_seq || k.num_pending !== mine.num_pending || !before(c).some(takesFrom(k.stream_name))) return;
      const step = before(c).some((x) => x.op === "restore" && x.s === k.stream_name && x.cross) ? (a, b, f) => take(a, b, [f]) : less; // each has the other's
      step(k.delivered, mine.delivered, "stream_seq");
      if (k.ack_floor.consumer_seq === mine.ack_floor.consumer_seq && k.num_ack_pending === mine.num_ack_pending) step(k.ack_floor, mine.ack_floor, "stream_seq");
    },
  },
  {
    id: "only-subject",
    row: "a consumer whose filter is the stream's only subject",
    ends: true,
    part: (c, mine, k) => {
      const own = configs(before(c)).filter((x) => x.body.name === k.stream_name);
      const others = own.some((x) => x.body.subject_transform) || new Set(own.map((x) => JSON.stringify(x.body.subjects))).size > 1;
      const more = reach(k) > reach(mine) || k.delivered.stream_seq < mine.delivered.stream_seq;
      if (others && more && own.some((x) => same(x.body.subjects, [k.config.filter_subject]))) take(k, mine, PROGRESS);
    },
    match: (c) => {
      const outside = (m) => configs(before(c)).some((x) => x.body.name === streamOf(m) && x.body.subject_transform && x.body.subjects?.length === 1 && !m.subject.startsWith(x.body.subjects[0].replace(">", "")));
      if (delivers(c.o) && c.theirs.some((m) => m.subject && outside(m)) && !c.ours.some((m) => m.subject && outside(m))) return true;
      // One of those, too large for the request, ends it there.
      const tooLarge = (list) => list.some((m) => m.hdr?.startsWith("NATS/1.0 409 Message Size Exceeds MaxBytes"));
      const mapped = configs(before(c)).some((x) => x.body.name === c.o.s && x.body.subject_transform && x.body.subjects?.length === 1 &&
        before(c).some((k) => k.body?.stream_name === c.o.s && k.body.config?.filter_subject === x.body.subjects[0]));
      return c.o.op === "pull" && mapped && tooLarge(c.theirs) && !tooLarge(c.ours);
    },
  },
  {
    id: "reset-looked",
    row: "CONSUMER.RESET without a sequence",
    ends: true,
    // Nothing that it wants lies between the two; to the other side only where a floor stayed behind a purge or a roll-up.
    part: (c, mine, k) => {
      if (!c.o.subj.startsWith("CONSUMER.RESET.") || c.o.body?.seq || k.num_pending !== mine.num_pending) return;
      if (!(k.reset_seq > mine.reset_seq) && !before(c).some(takesFrom(k.stream_name))) return;
      k.reset_seq = mine.reset_seq;
      for (const f of ["delivered", "ack_floor"]) if (mine[f].stream_seq !== undefined) k[f].stream_seq = mine[f].stream_seq;
    },
  },
  {
    id: "last-per-subject-pending",
    row: "`num_pending` of a consumer that begins with the last of each subject",
    ends: true,
    part: (c, mine, k) => k.config.deliver_policy === "last_per_subject" && (loses(c, k.stream_name) || usedAndReset(c, k.stream_name, k.name)) && k.num_pending < mine.num_pending && take(k, mine, ["num_pending"]),
    match: (c) => delivers(c.o) && creates(before(c)).some((x) => x.body.config.deliver_policy === "last_per_subject" && (loses(c, x.body.stream_name) || usedAndReset(c, x.body.stream_name, x.body.config.durable_name))) && same(blind(c.ours), blind(c.theirs)),
  },
  {
    id: "listed-gone",
    row: "a consumer that begins with the last of each subject, when one of those is gone",
    ends: true,
    part: (c, mine, k) => {
      if (k.config.deliver_policy !== "last_per_subject") return;
      woken(k, mine);
      const asked = before(c).some((x) => x.op === "pull" && x.s === k.stream_name && x.body?.no_wait);
      // What follows the list there leaves out what came while it was read.
      if (before(c).some(takesFrom(k.stream_name)) && reach(mine) > reach(k) && mine.delivered.consumer_seq === k.delivered.consumer_seq && mine.delivered.stream_seq < k.delivered.stream_seq) take(k, mine, PROGRESS);
      if (asked && k.num_waiting === 0 && k.num_pending > 0 && mine.delivered.consumer_seq > k.delivered.consumer_seq) take(k, mine, [...PROGRESS, "num_waiting"]);
    },
    // It stops there: no_wait is told that there is nothing, though there is.
    match: (c) => {
      const next = c.o.op === "ack" && c.o.data?.startsWith("+NXT"); // the message that comes then is not among the answers
      if ((c.o.op !== "pull" && !next) || !creates(before(c)).some((x) => x.body.stream_name === c.o.s && x.body.config.deliver_policy === "last_per_subject")) return false;
      if (next) return c.ours.length === 0 && c.theirs.length === 1 && /^NATS\/1\.0 404 No Messages/.test(c.theirs[0].hdr);
      const gone = before(c).some(deletesFrom(c.o.s)) || discards(before(c), c.o.s);
      if (c.theirs.length === 0) return gone && c.ours[0]?.reply; // one that waits, waits on
      const [got, end] = [c.theirs.slice(0, -1), c.theirs.at(-1)];
      const more = c.ours[got.length]; // the next one here, or that it is too large
      return /^NATS\/1\.0 404 No Messages/.test(end?.hdr) && (more?.reply || /^NATS\/1\.0 409 Message Size/.test(more?.hdr)) && same(blind(c.ours.slice(0, got.length)), blind(got));
    },
  },
  {
    id: "reset-listed",
    row: "CONSUMER.RESET of a consumer that begins with the last of each subject",
    ends: true,
    part: (c, mine, k) => {
      if (k.config.deliver_policy === "last_per_subject" && usedAndReset(c, k.stream_name, k.name) && mine.delivered.stream_seq <= k.delivered.stream_seq && reach(mine) === reach(k)) take(k, mine, [...PROGRESS, "num_waiting"]);
    },
    match: (c) => {
      const [stream, name] = delivers(c.o) ? (firstApart(c)[0]?.reply?.split(".").slice(2, 4) ?? []) : [];
      return stream && usedAndReset(c, stream, name) && creates(before(c)).some((x) => x.body.stream_name === stream && x.body.config.deliver_policy === "last_per_subject") && passedOver(c);
    },
  },
  {
    id: "listed-too-large",
    row: "a consumer that begins with the last of each subject, and a request whose `max_bytes`",
    ends: true,
    // It comes with the next request here, and there what follows it.
    part: (c, mine, k) => {
      if (k.config.deliver_policy === "last_per_subject" && askedInVain(c, k.stream_name, k.name) && mine.delivered.stream_seq <= k.delivered.stream_seq && reach(mine) >= reach(k)) take(k, mine, [...PROGRESS, "num_waiting"]);
    },
    match: (c) => {
      if (!delivers(c.o)) return false;
      const [a, b] = firstApart(c);
      const [stream, name] = c.o.op === "pull" ? [c.o.s, c.o.c] : (/^\$JS\.ACK\.([^.]+)\.([^.]+)/.exec(a?.reply ?? "")?.slice(1, 3) ?? []);
      if (!askedInVain(c, stream, name) || !creates(before(c)).some((x) => x.body.stream_name === stream && x.body.config.deliver_policy === "last_per_subject")) return false;
      return c.o.op === "pull" ? c.ours[0]?.reply && passedOver(c) : deliveryOf(a) === deliveryOf(b) && numberOf(a) < numberOf(b);
    },
  },
  {
    id: "batch-pending",
    row: "the pending count in the ack subject, when an atomic batch is delivered",
    match: (c) => delivers(c.o) && before(c).some((x) => x.hdr?.some((h) => h.startsWith("Nats-Batch-Commit"))) && same(blind(c.ours), blind(c.theirs)),
  },
  {
    id: "update-push-bound",
    row: "the answer to an update that gives a push consumer another deliver subject",
    match: (c) => {
      const [a, b] = [copy(c.ours), copy(c.theirs)];
      const made = creates(before(c)).filter((x) => !c.refused.has(x) && named(x) === named(c.o));
      if (!made.includes(c.o) || new Set(made.map((x) => x.body.config.deliver_subject)).size < 2 || !a[0]?.data?.push_bound || b[0]?.data?.push_bound) return false;
      for (const x of [a, b]) if (x[0]?.data) delete x[0].data.push_bound;
      return same(a, b);
    },
  },
  {
    id: "batch-no-wait",
    row: "the pending count in the ack subject, when an atomic batch is delivered",
    ends: true,
    // The same messages come, but a request that does not wait had enough at the first one.
    part: (c, mine, k) => {
      const ops = before(c);
      const asked = ops.some((x) => x.op === "pull" && x.s === k.stream_name && x.body?.no_wait && x.body.expires) && ops.some((x) => goesTo(x, k.stream_name) && x.hdr?.some((h) => h.startsWith("Nats-Batch-Commit")));
      if (asked && reach(mine) === reach(k) && mine.delivered.consumer_seq < k.delivered.consumer_seq) take(k, mine, [...PROGRESS, "num_waiting"]);
    },
    match: (c) => {
      const [a, b] = [c.ours, c.theirs].map((l) => blind(l.filter((m) => m.reply)));
      const all = a.length > b.length ? a : b;
      const asked = before(c).some((x) => x.op === "pull" && x.body?.no_wait && x.body.expires) && before(c).some((x) => x.hdr?.some((h) => h.startsWith("Nats-Batch-Commit")));
      return delivers(c.o) && asked && a.length !== b.length && a.length > 0 && b.length > 0 && same(all.slice(0, Math.min(a.length, b.length)), all === a ? b : a);
    },
  },
  {
    id: "purge-pending",
    row: "the pending count after a purge or a roll-up",
    part: (c, mine, k) => before(c).some(takesFrom(k.stream_name)) && less(k, mine, "num_pending"),
    match: (c) => delivers(c.o) && before(c).some(takesMany) && same(blind(c.ours), blind(c.theirs)),
  },
  {
    id: "kill-consumer",
    row: "how far a consumer is, after kill -9",
    ends: true,
    // As soon as it has started again: neither is further than it was, and here nothing is lost that it had to do.
    part: (c, mine, k) => {
      const was = c.history.ops[c.index].how === "kill" && c.stopped.get(k.stream_name)?.consumers.find((x) => x.name === mine.name);
      const back = (x) => x.delivered.consumer_seq <= was.delivered.consumer_seq && x.ack_floor.stream_seq <= was.ack_floor.stream_seq;
      const ahead = (x) => x.num_pending + x.num_ack_pending;
      if (was && back(mine) && back(k) && ahead(mine) >= ahead(was)) take(k, mine, PROGRESS);
    },
  },
  {
    id: "created-restart",
    row: "`created` of a consumer after a restart",
    moment: true,
    match: (c) => c.moment && api(c.o, "CONSUMER.") && restarted(c),
  },
];

const streamOf = (m) => /^\$JS\.ACK\.([^.]+)/.exec(m.reply ?? "")?.[1];
const numberOf = (m) => Number(/^\$JS\.ACK(?:\.[^.]+){3}\.(\d+)/.exec(m?.reply ?? "")?.[1] ?? Infinity);
const leftOf = (m) => Number(/\.(\d+)$/.exec(m.reply ?? "")?.[1] ?? 0); // the pending count
// The first delivery that differs comes from further back here, or there is none on nats-server; else only the pending
// counts differ, and here they are not smaller.
function passedOver({ ours, theirs }) {
  const [a, b] = [blind(ours), blind(theirs)];
  for (const [i, m] of ours.entries()) {
    if (!same(a[i], b[i])) return numberOf(m) < numberOf(theirs[i]);
    if (leftOf(m) < leftOf(theirs[i])) return false;
  }
  return ours.length === theirs.length;
}
// A NAK, and a purge or a roll-up: what was queued to come again is forgotten, what lies below the floor that moved is not heeded.
function refusedAndTaken(c, stream) {
  return before(c).some((x) => x.op === "ack" && x.s === stream && x.data?.startsWith("-NAK")) && before(c).some(takesFrom(stream));
}

// Somebody asked for what is there now, by a request or with an ack.
const asksNow = (c, stream) => before(c).some((x) => x.s === stream && ((x.op === "pull" && x.body?.no_wait) || (x.op === "ack" && /^\+NXT .*"no_wait"/.test(x.data ?? ""))));

// Something of this consumer was acknowledged, and then something refused.
function refusedOf(c, stream, name) {
  const own = before(c).filter((x) => x.op === "ack" && called(x.s, x.c) === called(stream, name));
  const acked = own.findIndex((x) => !/^(-NAK|\+WPI)/.test(x.data ?? ""));
  return acked >= 0 && own.slice(acked).some((x) => x.data?.startsWith("-NAK"));
}

// Both deliver one that comes again, but not the same one: here one that was refused before something was taken, there one refused since.
function refusedLater(c) {
  const [m, other] = firstApart(c);
  if (!again(m) || !again(other) || deliveryOf(m) !== deliveryOf(other)) return false;
  const [ops, refuses] = [before(c), (x) => x.op === "ack" && x.s === streamOf(m) && x.data?.startsWith("-NAK")];
  return ops.slice(0, ops.findLastIndex(takesFrom(streamOf(m)))).some(refuses) && ops.slice(ops.findIndex(takesFrom(streamOf(m)))).some(refuses);
}

// The first that waited is gone: the floor there is that one, here the one before the next that waits, and none that was
// delivered lies between them.
function stopsAtGone(c, mine, k) {
  const lost = before(c).some(deletesFrom(k.stream_name)) || discards(before(c), k.stream_name);
  const alike = k.num_ack_pending === mine.num_ack_pending && k.ack_floor.consumer_seq === mine.ack_floor.consumer_seq;
  return lost && alike && mine.num_ack_pending > 0 && k.ack_floor.stream_seq < mine.ack_floor.stream_seq && mine.ack_floor.stream_seq < mine.delivered.stream_seq;
}

const wasReset = (ops, stream, name) => ops.some((x) => x.subj?.startsWith(`CONSUMER.RESET.${stream}.`) && called(stream, x.subj.split(".")[3]) === called(stream, name));
// One that may have delivered something before.
function usedAndReset(c, stream, name) {
  const ops = before(c);
  const at = ops.findLastIndex((x) => wasReset([x], stream, name));
  const used = (x) => (x.op === "pull" && called(x.s, x.c) === called(stream, name)) || (x.body?.stream_name === stream && x.body.config?.deliver_subject);
  return at >= 0 && ops.slice(0, at).some(used);
}
// An ack that was made up: its number is none that a delivery has.
function wasForged(ops, stream, name) {
  const made = ops.filter((x) => x.op === "raw" && x.subj?.startsWith(`$JS.ACK.${stream}.`) && called(stream, x.subj.split(".")[3]) === called(stream, name));
  return made.some((x) => !(Number(x.subj.split(".")[6]) >= 1 && Number(x.subj.split(".")[6]) < ops.length));
}
// A +NXT that cannot be answered, after a refusal.
const acksOf = (c, stream, name) => before(c).filter((x) => x.op === "ack" && called(x.s, x.c) === called(stream, name));
const nextForNobody = (c, stream, name) => acksOf(c, stream, name).filter((x) => x.confirm === false && x.data?.startsWith("+NXT"));
function asksForNobody(c, stream, name) {
  const acks = acksOf(c, stream, name);
  return nextForNobody(c, stream, name).some((x) => acks.slice(0, acks.indexOf(x)).some((y) => y.data?.startsWith("-NAK")));
}
// Somebody asked for less than the next message takes, or does not want or may not have it when its turn comes.
function askedInVain(c, stream, name) {
  const vain = (b) => b?.max_bytes > 0 || b?.expires < 1e9 || b?.id || b?.min_pending > 0 || b?.min_ack_pending > 0;
  return before(c).some((x) => x.op === "leave" || x.op === "hangup" || (x !== c.o && x.op === "pull" && called(x.s, x.c) === called(stream, name) && vain(x.body)));
}
// Messages may go from it before they were delivered, or while they wait for an ack.
function loses(c, stream) {
  const forgets = (x) => x.body.name === stream && (/^(interest|workqueue)$/.test(x.body.retention) || x.body.max_age > 0 || x.body.allow_msg_ttl);
  return before(c).some(deletesFrom(stream)) || discards(before(c), stream) || configs(before(c)).some(forgets);
}
// A reset, and something that it left behind is gone, or not wanted any more.
function resetAndGone(c, stream, name) {
  const ops = before(c);
  const forgets = configs(ops).some((x) => x.body.name === stream && (/^(interest|workqueue)$/.test(x.body.retention) || x.body.max_age > 0 || x.body.allow_msg_ttl));
  const gone = forgets || discards(ops, stream) || ops.some(deletesFrom(stream)) || refiltered(ops).has(called(stream, name));
  return gone && wasReset(ops, stream, name);
}

// The stream and the consumer that a request to make one names.
const named = (o) => o.subj?.replace("DURABLE.", "").split(".").slice(2, 4).join();

// What a consumer says of itself, without what belongs to the moment or is told in some answers only (an ephemeral
// starts as a durable).
function told({ config, delivered, ack_floor: floor, num_ack_pending: waiting, num_redelivered: again, num_pending: pending }) {
  return [{ ...config, durable_name: undefined, metadata: config.metadata?.["_nats.req.level"] }, delivered, floor, waiting, again, pending];
}

// What an update and the time since the start cannot change.
function still(answer) {
  const { all, list } = consumersOf(answer);
  for (const k of list) for (const f of [...PROGRESS, "num_waiting", "push_bound", "paused", "pause_remaining", "priority_groups", "config"]) delete k?.[f];
  return all;
}

function startsBeyond(c) {
  return before(c).some((x) => x.body?.config?.opt_start_seq > 1 || (x.subj?.startsWith("CONSUMER.RESET.") && x.body?.seq > 1));
}
