// rules.mjs: which difference is an accepted one, and whether its row is still there.
import fs from "node:fs";
import { api, consumersOf, same } from "./rules_help.mjs";
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
    if (context.moment) return this.list.find((r) => r.moment && r.match(context));
    const parts = this.list.filter((r) => r.part);
    for (const r of this.list) {
      if (r.match?.(context)) return r;
      if (r.part && explained(context, [r])) return r;
    }
    const used = explained(context, parts);
    return used && { id: used.map((r) => r.id).join("+"), used, ends: used.some((r) => r.ends) };
  }
}

// Which of these rules explain, each in part, how consumers differ; undefined where something is left.
function explained(context, rules) {
  if (!api(context.o, "CONSUMER.")) return undefined;
  const [a, b] = [consumersOf(context.ours), consumersOf(context.theirs)];
  const used = new Set();
  if (a.list.length !== b.list.length) return undefined;
  for (const [i, k] of b.list.entries()) {
    if (!k?.config || !a.list[i]?.config || k.name !== a.list[i].name) continue;
    for (const r of rules) {
      const was = JSON.stringify(k);
      r.part(context, a.list[i], k);
      if (JSON.stringify(k) !== was) used.add(r);
    }
  }
  return same(a.all, b.all) ? [...used] : undefined;
}

// First cells of all table rows.
function rowsOf(text) {
  return text.split("\n").filter((l) => /^\| [^-]/.test(l)).map((l) => l.slice(2).split(" | ")[0]);
}
