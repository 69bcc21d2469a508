// rules.mjs: which difference is an accepted one, and whether its row is still there.
import fs from "node:fs";
import { RULES } from "./rules_list.mjs";

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
    return this.list.find((r) => (!context.moment || r.id === "created-restart") && r.match(context));
  }
}

// First cells of all table rows.
function rowsOf(text) {
  return text.split("\n").filter((l) => /^\| [^-]/.test(l)).map((l) => l.slice(2).split(" | ")[0]);
}
