// rules_copies.mjs: accepted differences about mirrors and sources.
import { api, before, configs, copy, same } from "./rules_help.mjs";

export const COPY_RULES = [
  {
    id: "hidden-consumers",
    row: "consumers that mirrors and sources read with",
    match: (c) => {
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (!api(c.o, "INFO") || !(b?.consumers > a?.consumers)) return false;
      return configs(before(c)).some((x) => x.body.mirror || x.body.sources) && same(a, { ...b, consumers: a.consumers });
    },
  },
  {
    id: "lag-before-start",
    row: "`num_pending` of a consumer that starts beyond the last sequence",
    match: (c) => {
      const { o, ours, theirs } = c;
      if (!api(o, "STREAM.INFO.") && !api(o, "STREAM.LIST")) return false;
      const b = copy(theirs);
      const streams = (answer) => answer[0]?.data?.streams ?? [answer[0]?.data];
      let found = false;
      for (const [i, s] of streams(b).entries()) {
        for (const [k, from] of feeds(s).entries()) {
          // It begins later, or its origin was made anew and is shorter than what was copied.
          const later = feeds(s.config).some((f) => f.name === from.name && (f.opt_start_seq > 0 || f.opt_start_time));
          const anew = before(c).some((x) => x.subj === `STREAM.DELETE.${from.name}`);
          if (!(later || anew) || !(from.lag > 0) || feeds(streams(ours)[i])[k]?.lag !== 0) continue;
          from.lag = 0;
          found = true;
        }
        withoutZero(s);
      }
      return found && same(ours, b);
    },
  },
  {
    id: "source-added",
    row: "a source that is added to a stream whose first messages are gone",
    ends: true,
    match: (c) => {
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      const now = c.history.ops[c.index];
      if (!api(c.o, "STREAM.INFO.") || !same(a?.config, b?.config) || now.subj !== `STREAM.UPDATE.${b?.config?.name}`) return false;
      if (!(a.state.last_seq > b.state.last_seq)) return false;
      const was = configs(before(c).slice(0, -1)).findLast((x) => x.body.name === b.config.name && !c.refused?.has(x));
      const old = (was?.body.sources ?? []).map(indexOf);
      const begins = (f) => b.state.first_seq > 1 || f.opt_start_time;
      return (now.body.sources ?? []).some((f) => !old.includes(indexOf(f)) && !f.opt_start_seq && begins(f));
    },
  },
  {
    id: "stands-still",
    row: "why a copy stands still",
    ends: true, // it goes on, where it can, at another moment
    match: (c) => {
      if (!api(c.o, "STREAM.INFO.") || !c.theirs[0]?.data?.config) return false;
      const [a, b] = [copy(c.ours), copy(c.theirs)];
      for (const [k, f] of feeds(a[0]?.data).entries()) {
        const other = feeds(b[0].data)[k];
        if (![10054, 10169].includes(f.error?.err_code) || other?.error) continue; // too large; what it follows does not count
        delete f.error;
        f.lag = other.lag;
      }
      withoutZero(b[0].data);
      return !same(a, c.ours) && same(a, b);
    },
  },
  {
    id: "mirror-direct-restart",
    row: "`mirror_direct` of a mirror whose origin got or lost `allow_direct`",
    ends: true, // who answers direct gets of the origin is another one
    match: (c) => {
      const [a, b] = [copy(c.ours), copy(c.theirs)];
      const [mine, other] = [a[0]?.data?.config, b[0]?.data?.config];
      if (!api(c.o, "STREAM.INFO.") || c.history.ops[c.index].op !== "restart" || !other?.mirror || mine?.mirror_direct === other.mirror_direct) return false;
      const origin = configs(before(c)).findLast((x) => x.body.name === other.mirror.name && !c.refused?.has(x));
      mine.mirror_direct = origin?.body.allow_direct ?? false;
      withoutZero(b[0].data);
      passedOnly(a[0].data, b[0].data);
      return same(a, b);
    },
  },
  {
    id: "mirror-window-restart",
    row: "`duplicate_window` of a mirror, after a restart",
    ends: true, // every answer about the mirror would tell it
    match: (c) => {
      const [a, b] = [copy(c.ours), copy(c.theirs)];
      const [mine, other] = [a[0]?.data?.config, b[0]?.data?.config];
      if (!api(c.o, "STREAM.INFO.") || c.history.ops[c.index].op !== "restart" || !other?.mirror || other.duplicate_window || !mine?.duplicate_window) return false;
      delete mine.duplicate_window;
      withoutZero(b[0].data);
      passedOnly(a[0].data, b[0].data);
      return same(a, b);
    },
  },
  {
    id: "mirror-passed-restart",
    row: "`last_ts` of a mirror that has only passed over sequences",
    match: (c) => {
      const b = copy(c.theirs);
      if (!api(c.o, "STREAM.INFO.") || !before(c).some((o) => o.op === "restart") || !passedOnly(c.ours[0]?.data, b[0]?.data)) return false;
      return same(c.ours, b);
    },
  },
  {
    id: "source-deleted-kill",
    row: "the last message that a source brought is deleted",
    ends: true,
    match: (c) => {
      const [a, b] = [c.ours[0]?.data, c.theirs[0]?.data];
      if (!api(c.o, "STREAM.INFO.") || c.history.ops[c.index].how !== "kill" || !b?.config?.sources || !same(a?.config, b.config)) return false;
      const removed = before(c).some((x) => x.subj === `STREAM.MSG.DELETE.${b.config.name}` || x.subj === `STREAM.PURGE.${b.config.name}`);
      return removed && b.state.last_seq > a.state.last_seq && b.state.messages - a.state.messages === b.state.last_seq - a.state.last_seq;
    },
  },
  {
    id: "mirror-answers",
    row: "direct gets of an upstream that has mirrors with `mirror_direct`",
    // One that has not got the message, or under another subject, says so for its origin; which one answers is chance.
    match: (c) => {
      const stream = c.o.op === "get" && c.o.subj.split(".")[0];
      const none = (answer) => /^NATS\/1\.0 404 /.test(answer[0]?.hdr);
      return stream && none(c.theirs) && !none(c.ours) && configs(before(c)).some((x) => x.body.mirror?.name === stream && !c.refused?.has(x));
    },
  },
  {
    id: "origin-deleted",
    row: "an upstream that is deleted",
    match: (c) => {
      if (!api(c.o, "STREAM.INFO.")) return false;
      const a = copy(c.ours);
      const gone = (name) => before(c).some((x) => x.subj === `STREAM.DELETE.${name}`);
      for (const [k, f] of feeds(a[0]?.data).entries()) if (f.error?.err_code === 10059 && gone(f.name) && !feeds(c.theirs[0]?.data)[k]?.error) delete f.error;
      return !same(a, c.ours) && same(a, c.theirs);
    },
  },
];

// What a source is told apart by.
const indexOf = (f) => JSON.stringify([f.name, f.filter_subject ?? "", f.subject_transforms ?? [], f.external ?? null]);

const feeds = (s) => [s?.mirror, ...(s?.sources ?? [])].filter((x) => x);

// A mirror that holds nothing but sequences it passed over: the time of that, which nats-server forgot, may come with it.
function passedOnly(mine, x) {
  if (!x?.config?.mirror || x.state.messages !== 0 || x.state.last_seq === 0) return false;
  if (!/^0001-/.test(x.state.last_ts) || /^0001-/.test(mine?.state?.last_ts)) return false;
  x.state.last_ts = mine.state.last_ts;
  return true;
}

// `deleted_details` of a fresh stream, another row, may come with it.
function withoutZero(s) {
  if (!same(s?.state?.deleted, [0]) || s.state.last_seq !== 0) return;
  delete s.state.deleted;
  delete s.state.num_deleted;
}
