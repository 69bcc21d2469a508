#!/usr/bin/env node
// store-shared.mjs: power-cut images of several stores and their commit journal (test/fault/shared.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-shared", {
  size: 1000,
  largest: 100_000,
  args: (seed, images) => [`--seed=${seed}`, `--images=${images}`],
  units: [[/shared: (\d+)/, "images"]],
});
