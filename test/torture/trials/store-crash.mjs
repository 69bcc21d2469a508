#!/usr/bin/env node
// store-crash.mjs: power-cut images of a store, each opened and compared (test/fault/crash.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-crash", {
  size: 1000,
  largest: 100_000,
  args: (seed, images) => [`--seed=${seed}`, `--images=${images}`],
  units: [[/crash: (\d+)/, "images"]],
});
