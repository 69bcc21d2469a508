#!/usr/bin/env node
// store-repair.mjs: damaged stores are repaired: nothing that was removed comes back (test/fault/repair.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-repair", {
  size: 100,
  largest: 16000,
  args: (seed, n) => [`--seed=${seed}`, `--rounds=${n}`],
  units: [[/repair: (\d+) rounds/, "damaged stores repaired four times each"]],
});
