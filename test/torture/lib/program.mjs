// program.mjs: a trial that runs one of the store's fault programs (test/fault) again and again, with the next seed.
import { spawn } from "node:child_process";
import path from "node:path";
import { after, awake } from "./awake.mjs";
import { run } from "./trial.mjs";

// Runs a program until it ends or `ms` have passed: { code, signal, text, late }.
export function runProgram(file, args, { ms, env } = {}) {
  return new Promise((ok) => {
    const p = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
    let text = "", late = false;
    const take = (d) => (text = (text + d).slice(-100_000));
    p.stdout.on("data", take);
    p.stderr.on("data", take);
    const done = after(Math.max(1, ms), () => {
      late = true;
      p.kill("SIGKILL");
    });
    p.on("error", (e) => ok({ code: -1, text: String(e), late }));
    p.on("close", (code, signal) => {
      done();
      ok({ code, signal, text, late });
    });
  });
}

// Stores are encrypted in two of three runs, or become it (test/support/secret.h).
const CIPHERS = ["", "chacha", "aes"];
const CONVERTED = { "store-crash": [...CIPHERS, "convert"], "store-model": [...CIPHERS, "convert"] };
function cipherOf(name, seed) {
  const modes = CONVERTED[name] ?? CIPHERS;
  return modes[seed % modes.length];
}

// args(SEED, SIZE): the command line of one run.  `size` is that of the first run; while runs are short they grow, as a
// larger one goes deeper.  units: what the last line counts, as [PATTERN, NAME].
export const programTrial = (name, { size, largest, args, units }) =>
  run(name, async (t) => {
    const program = t.needs(path.join(t.build, "test/fault", name.replace("store-", "").replaceAll("-", "_")), "the program");
    const sum = units.map(() => 0);
    let runs = 0, n = size;
    for (let seed = t.seed; t.left() > 0; seed++) {
      const from = awake(), cipher = cipherOf(name, seed);
      const r = await runProgram(program, args(seed, n), { ms: t.left(), env: { TMPDIR: t.dir, MAYFLY_TEST_CIPHER: cipher } });
      if (r.late) break; // its time is up, not a find
      const line = r.text.trimEnd().split("\n").at(-1);
      if (r.code !== 0) {
        const why = r.text.match(/^(FAIL|.*ERROR: |.*runtime error)[^]*/m)?.[0] ?? line;
        t.found(name, `${r.signal ?? `exit ${r.code}`}: ${why}`, `${cipher && `MAYFLY_TEST_CIPHER=${cipher} `}${path.relative(process.cwd(), program)} ${args(seed, n).join(" ")}`);
        continue;
      }
      runs++;
      units.forEach(([pattern], i) => (sum[i] += Number(line.match(pattern)?.[1] ?? 0)));
      // The next one should take about a tenth of the whole.
      if (awake() - from < t.seconds * 50) n = Math.min(largest, n * 2);
    }
    return `${runs} runs: ${units.map(([, what], i) => `${sum[i]} ${what}`).join(", ")}`;
  });
