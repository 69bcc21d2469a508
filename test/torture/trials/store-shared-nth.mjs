#!/usr/bin/env node
// store-shared-nth.mjs: the n-th disk call or allocation of several stores and their commit journal fails, for every n
// (test/fault/shared_nth.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-shared-nth", {
  size: 60,
  largest: 400,
  args: (seed, ops) => [`--seed=${seed}`, `--ops=${ops}`, "--rounds=1"],
  units: [[/shared_nth: (\d+)/, "runs with a fault each"]],
});
