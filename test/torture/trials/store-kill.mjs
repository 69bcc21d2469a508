#!/usr/bin/env node
// store-kill.mjs: a writing process killed at random moments, its store opened and compared (test/fault/kill.c).
import { programTrial } from "../lib/program.mjs";

programTrial("store-kill", {
  size: 5,
  largest: 200,
  args: (seed, rounds) => [String(rounds), String(seed)],
  units: [
    [/kill: (\d+) kills/, "kills"],
    [/(\d+) messages compared/, "messages compared"],
  ],
});
