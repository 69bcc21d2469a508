// rules_copies.mjs: accepted differences about mirrors and sources.
import { api, before, configs, same } from "./rules_help.mjs";

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
];
