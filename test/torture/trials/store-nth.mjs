#!/usr/bin/env node
// store-nth.mjs: the n-th disk call or allocation of a store fails, for every n (test/fault/nth.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-nth", {
  size: 100,
  largest: 1600,
  args: (seed, ops) => [`--seed=${seed}`, `--ops=${ops}`, "--rounds=1"],
  units: [[/nth: (\d+)/, "stores with a fault each"]],
});
