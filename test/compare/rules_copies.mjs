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
    match: ({ o, ours, theirs }) => {
      if (!api(o, "STREAM.INFO.") && !api(o, "STREAM.LIST")) return false;
      const b = copy(theirs);
      const streams = (answer) => answer[0]?.data?.streams ?? [answer[0]?.data];
      let found = false;
      for (const [i, s] of streams(b).entries()) {
        for (const [k, from] of feeds(s).entries()) {
          const asked = feeds(s?.config)[k];
          if (!(asked?.opt_start_seq > 0 || asked?.opt_start_time) || !(from.lag > 0) || feeds(streams(ours)[i])[k]?.lag !== 0) continue;
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
      if (!api(c.o, "STREAM.INFO.") || !(a?.state?.messages > b?.state?.messages) || !(b.state.first_seq > 1)) return false;
      const names = (x) => (x.body.sources ?? []).map((f) => f.name);
      const mine = configs(before(c)).filter((x) => x.body.name === a.config?.name);
      return mine.some((x, i) => i > 0 && names(x).some((n) => !names(mine[i - 1]).includes(n)));
    },
  },
];

const feeds = (s) => [s?.mirror, ...(s?.sources ?? [])].filter((x) => x);

// `deleted_details` of a fresh stream, another row, may come with it.
function withoutZero(s) {
  if (!same(s?.state?.deleted, [0]) || s.state.last_seq !== 0) return;
  delete s.state.deleted;
  delete s.state.num_deleted;
}
