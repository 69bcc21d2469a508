// rules.mjs: accepted differences.  Each names its row of docs/deviations.md by the beginning of the
// row's first cell, and matches an operation and both answers, never a mere field.
//   mode   default (left out: both modes)
//   ends   the two servers go different ways from here: the rest of the history is not compared
//   match  ({o, ours, theirs, history, index}): whether this difference is that row
import fs from "node:fs";

const api = (o, verb) => (o.op === "api" || o.op === "check") && o.subj.startsWith(verb);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const copy = (v) => JSON.parse(JSON.stringify(v));

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
