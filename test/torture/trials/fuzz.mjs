#!/usr/bin/env node
// fuzz.mjs: libFuzzer on every parser (test/fuzz), each for its share of the time.  --fuzzers=DIR or
// FUZZERS says where they were built.
import fs from "node:fs";
import path from "node:path";
import { runProgram } from "../lib/program.mjs";
import { Cannot, TOP, run } from "../lib/trial.mjs";

const isFuzzer = (f) => fs.readFileSync(f).includes("LLVMFuzzerInitialize") || fs.readFileSync(f).includes("-max_total_time");

run("fuzz", async (t) => {
  const dir = path.resolve(t.more.fuzzers ?? process.env.FUZZERS ?? path.join(TOP, "build-fuzz/test/fuzz"));
  const targets = fs.existsSync(dir) ? fs.readdirSync(dir).filter((f) => /^fuzz_[a-z0-9_]+$/.test(f)).sort() : [];
  if (targets.length === 0 || !isFuzzer(path.join(dir, targets[0]))) throw new Cannot(`no fuzzers in ${dir} (./dev fuzz builds them)`);
  let execs = 0, ran = 0;
  t.tried = () => `${ran} of ${targets.length} parsers, ${execs} inputs`;
  // In another order each time: when the time is short, not always the same ones are left out.
  const order = targets.map((_, i) => targets[(i + t.seed) % targets.length]);
  for (const [i, name] of order.entries()) {
    const short = name.slice(5);
    const seconds = Math.floor(t.left() / 1000 / (order.length - i));
    if (seconds < 1) break;
    const found = path.join(t.dir, short);
    fs.mkdirSync(found);
    const dict = path.join(TOP, "test/fuzz", `${short}.dict`);
    const args = [`-max_total_time=${seconds}`, "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", `-seed=${(t.seed % 2147483646) + 1}`,
      `-artifact_prefix=${found}-`, ...(fs.existsSync(dict) ? [`-dict=${dict}`] : []), found, path.join(TOP, "test/fuzz/corpus", short)];
    const r = await runProgram(path.join(dir, name), args, { ms: (seconds + 60) * 1000 });
    execs += Number(r.text.match(/number_of_executed_units: (\d+)/)?.[1] ?? 0);
    ran++;
    const input = r.text.match(/Test unit written to (\S+)/)?.[1];
    // A machine that stood still looks like an input that takes too long: it is tried alone.
    const slow = /libFuzzer: timeout/.test(r.text) && input && (await runProgram(path.join(dir, name), ["-timeout=10", input], { ms: 60000 })).code === 0;
    if (r.code !== 0 && !slow) {
      t.found(short, r.text.match(/(==\d+==ERROR|.*runtime error|.*Assertion)[^]{0,800}/)?.[0] ?? r.text.slice(-800), `${path.relative(process.cwd(), path.join(dir, name))} ${input ?? "(no input)"}`);
    }
  }
  return t.tried();
});
