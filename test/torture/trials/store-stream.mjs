#!/usr/bin/env node
// store-stream.mjs: power-cut images of a stream, each opened and compared (test/fault/stream.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-stream", {
  size: 1000,
  largest: 64_000,
  args: (seed, images) => [`--seed=${seed}`, `--images=${images}`],
  units: [[/stream: (\d+)/, "images"]],
});
