#!/usr/bin/env node
// store-twin.mjs: pieces of another history of the same store laid over its files (test/fault/twin.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-twin", {
  size: 100,
  largest: 3200,
  args: (seed, splices) => [`--seed=${seed}`, `--splices=${splices}`],
  units: [[/twin: (\d+)/, "splices"]],
});
