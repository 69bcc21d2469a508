// rules.mjs: accepted differences.  Each names its row of docs/deviations.md by the beginning of the
// row's first cell, and matches an operation and both answers, never a mere field.
//   mode   default (left out: both modes)
//   ends   the two servers go different ways from here: the rest of the history is not compared
//   match  ({o, ours, theirs, history, index}): whether this difference is that row
import fs from "node:fs";

export const RULES = [];

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
