#!/usr/bin/env node
// store-flip.mjs: every byte of a store damaged in turn (test/fault/flip.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-flip", {
  size: 1,
  largest: 16,
  args: (seed, n) => [`--seed=${seed}`, `--bits=${n >> 1}`, `--cut-step=${Math.ceil(61 / n)}`],
  units: [
    [/flip: (\d+) bits/, "bits flipped"],
    [/(\d+) stores opened/, "damaged stores opened"],
  ],
});
