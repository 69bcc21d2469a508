#!/usr/bin/env node
// store-model.mjs: random operations against a naive model, centuries of simulated time (test/fault/model.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-model", {
  size: 20_000,
  largest: 2_000_000,
  args: (seed, steps) => [`--seed=${seed}`, `--steps=${steps}`],
  units: [
    [/model: (\d+) steps/, "steps"],
    [/(\d+) years/, "simulated years"],
  ],
});
