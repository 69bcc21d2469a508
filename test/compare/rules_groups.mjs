// rules_groups.mjs: accepted differences about priority groups.
import { again, asleep, before, blind, called, creates, deliveryOf, firstApart, holdsMore, same } from "./rules_help.mjs";

const PROGRESS = ["delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_pending", "num_waiting", "priority_groups"];
const whose = (m) => /^\$JS\.ACK\.([^.]+)\.([^.]+)/.exec(m.reply ?? "")?.slice(1, 3);

// Consumers and the policies they had: "stream name" -> set.
function policies(ops) {
  const out = new Map();
  for (const x of creates(ops)) {
    const t = x.subj.replace("DURABLE.", "").split(".");
    const name = called(t[2], t[3] ?? x.body.config.durable_name);
    out.set(name, (out.get(name) ?? new Set()).add(x.body.config.priority_policy ?? "none"));
  }
  return out;
}

// Whether its policy was updated (from this one, or to it).
function updated(c, name, from) {
  const seen = policies(before(c)).get(name);
  return seen?.size > 1 && (!from || seen.has(from));
}

// Whether that of a consumer of the stream that is told of was (away from pinned clients).
function updatedOf(c, away) {
  const stream = c.theirs[0].data.config.name;
  return [...policies(before(c)).keys()].some((name) => name.startsWith(`${stream} `) && (away ? released : updated)(c, name));
}

// Whether it was for pinned clients and is for all now.
function released(c, name) {
  const made = creates(before(c)).filter((x) => !c.refused.has(x));
  return updated(c, name, "pinned_client") && policies(made.reverse()).get(name)?.values().next().value !== "pinned_client";
}

// Whether its policy was another one and is this one now.
function becameNow(c, name, policy) {
  const made = creates(before(c)).filter((x) => !c.refused.has(x)).reverse();
  return updated(c, name) && policies(made).get(name)?.values().next().value === policy;
}

function ahead(mine, k) {
  if (!(mine.delivered.consumer_seq > k.delivered.consumer_seq)) return;
  for (const f of PROGRESS) if (mine[f] !== undefined) k[f] = mine[f];
}

export const GROUP_RULES = [
  {
    id: "policy-updated",
    row: "requests that wait when their consumer's priority policy is updated",
    ends: true,
    part: (c, mine, k) => updated(c, called(k.stream_name, k.name)) && asleep(k) && ahead(mine, k),
    match: (c) => holdsMore(c) && updatedOf(c),
  },
  {
    id: "prioritized-later",
    row: "the order of requests that wait when their consumer's priority policy is updated to `prioritized`",
    ends: true,
    // As many messages went out; another number of requests is over, and what came by +NXT is not among the answers.
    part: (c, mine, k) => {
      if (becameNow(c, called(k.stream_name, k.name), "prioritized") && same(mine.delivered, k.delivered)) k.num_waiting = mine.num_waiting;
    },
    match: (c) => {
      const all = c.o.op === "deliveries" || c.o.op === "pull" ? [...c.ours, ...c.theirs].map(whose).filter((w) => w) : [];
      return all.length > 0 && all.every((w) => becameNow(c, called(...w), "prioritized"));
    },
  },
  {
    id: "again-turn",
    row: "a message that is to come again, when there are requests but none may have it",
    ends: true,
    // The one that is first there is small enough for a request, or too large for it, and comes or does not.
    part: (c, mine, k) => {
      const name = called(k.stream_name, k.name), had = policies(before(c)).get(name);
      const few = before(c).some((x) => x.op === "pull" && called(x.s, x.c) === name && x.body?.max_bytes > 0);
      const apart = mine.delivered.consumer_seq - k.delivered.consumer_seq;
      if (!few || !(had?.has("overflow") || had?.has("pinned_client")) || Math.abs(apart) > 1 || !same(mine.delivered.stream_seq, k.delivered.stream_seq)) return;
      if (mine.num_pending === k.num_pending && mine.num_ack_pending === k.num_ack_pending) for (const f of ["delivered", "num_redelivered", "num_waiting"]) if (mine[f] !== undefined) k[f] = mine[f];
    },
    // Both deliver one that comes again, as the same delivery of the same consumer, but not the same one.
    match: (c) => {
      const [a, b] = firstApart(c);
      if ((c.o.op !== "pull" && c.o.op !== "deliveries") || !again(a) || !again(b) || deliveryOf(a) !== deliveryOf(b) || !same(whose(a), whose(b))) return false;
      const had = policies(before(c)).get(called(...whose(a)));
      return had?.has("overflow") || had?.has("pinned_client");
    },
  },
  {
    id: "unpinned-deleted",
    row: "a consumer that is pinned to a client when it is deleted",
    match: (c) => {
      if (c.o.op !== "advisories") return false;
      const gone = before(c).filter((x) => x.subj?.startsWith("CONSUMER.DELETE.")).map((x) => x.subj.slice(16));
      const late = (t) => gone.some((name) => t.startsWith(`{"subject":"$JS.EVENT.ADVISORY.CONSUMER.UNPINNED.${name}"`)) && t.includes('"reason":"timeout"');
      return c.theirs.length > c.ours.length && same(c.ours, c.theirs.filter((t) => !late(t)));
    },
  },
  {
    id: "pin-outlives",
    row: "a consumer that is pinned to a client when its priority policy is updated",
    ends: true,
    // Here its requests are served, there they wait, or are told that there is nothing; where one is the pinned client's
    // that gets all there, another number of them is over.
    part: (c, mine, k) => {
      const asked = before(c).some((x) => x.op === "pull" && called(x.s, x.c) === called(k.stream_name, k.name) && x.body?.no_wait);
      if (!released(c, called(k.stream_name, k.name)) || !(k.num_waiting > 0 || asked)) return;
      if (k.num_pending > 0 || mine.num_redelivered > k.num_redelivered) ahead(mine, k);
      if (same(mine.delivered, k.delivered) && mine.num_pending === k.num_pending) k.num_waiting = mine.num_waiting;
    },
    match: (c) => {
      if (holdsMore(c)) return updatedOf(c, true);
      // Which of its requests gets a message is another matter then.
      const all = c.o.op === "deliveries" ? [...c.ours, ...c.theirs].map(whose).filter((w) => w) : [];
      if (all.length) return all.every((w) => released(c, called(...w)));
      if (!released(c, called(c.o.s, c.o.c))) return false;
      // The message that comes then is not among the answers.
      if (c.o.op === "ack") return c.o.data?.startsWith("+NXT") && c.ours.length === 0 && c.theirs.length === 1 && /^NATS\/1\.0 404 No Messages/.test(c.theirs[0].hdr);
      if (c.o.op !== "pull" || c.o.body?.id) return false;
      const got = c.theirs.filter((m) => m.reply);
      const more = c.ours[got.length]; // the next one here, or that it is too large
      return (more?.reply || /^NATS\/1\.0 409 Message Size/.test(more?.hdr)) && !same(more, c.theirs[got.length]) && same(blind(c.ours.slice(0, got.length)), blind(got));
    },
  },
];
