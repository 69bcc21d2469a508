// encryption.mjs [--rounds=N] [--size=full|quick]: the durable publish rows of the matrix on one build: plain, chacha and aes in
// turns within each round, so that all three meet the same machine.  Prints medians and the part of plain's rate that is left;
// exit code 1 where it is below 85 % of it in a row.  Called by `./dev bench encryption`.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const LEAST = 0.85;
const CIPHERS = ["", "chacha", "aes"];
const option = (name, otherwise) => process.argv.find((a) => a.startsWith(`--${name}=`))?.split("=")[1] ?? otherwise;
const rounds = Number(option("rounds", process.env.ROUNDS ?? (process.env.QUICK ? 1 : 5)));
const size = option("size", process.env.QUICK ? "quick" : "full");
const build = process.env.BUILD ?? path.resolve("build");
const mayflyd = process.env.MAYFLYD ?? path.join(build, "mayflyd");
const dir = fs.mkdtempSync(path.join(process.env.STORE_DIR ?? build, "bench-encryption."));

// row -> metric -> cipher -> values
const samples = new Map();
function take(cipher, round) {
  const json = path.join(dir, `${cipher || "plain"}-${round}.json`);
  execFileSync(path.join(build, "bench/bench_matrix"), [`--mayflyd=${mayflyd}`, "--nats=none", "--setups=mayfly", "--rows=publish", "--rounds=1", `--size=${size}`, `--json=${json}`], {
    env: { ...process.env, TMPDIR: dir, BENCH_CIPHER: cipher },
    stdio: ["ignore", "ignore", "ignore"],
  });
  for (const { row, metric, value } of JSON.parse(fs.readFileSync(json, "utf8")).samples) {
    if (metric !== "rate" && metric !== "cpu_us") continue;
    const key = `${row} ${metric}`;
    if (!samples.has(key)) samples.set(key, { row, metric, values: Object.fromEntries(CIPHERS.map((c) => [c, []])) });
    samples.get(key).values[cipher].push(value);
  }
}
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const shown = (v) => (v >= 1000 ? Math.round(v).toLocaleString("en-US") : v.toPrecision(3));

let bad = 0;
try {
  for (let round = 0; round < rounds; round++) for (let i = 0; i < CIPHERS.length; i++) take(CIPHERS[(i + round) % CIPHERS.length], round);
  console.log(`${rounds} rounds, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(1)}; medians, and beside plain`);
  console.log(`${"row".padEnd(18)} ${"".padEnd(12)} ${"plain".padStart(10)} ${"chacha".padStart(18)} ${"aes".padStart(18)}`);
  for (const { row, metric, values } of samples.values()) {
    const [plain, ...others] = CIPHERS.map((c) => median(values[c]));
    const cells = others.map((v) => {
      if (metric === "rate" && v / plain < LEAST) bad = 1;
      return `${shown(v)} (${Math.round((100 * v) / plain)} %)`.padStart(18);
    });
    console.log(`${row.padEnd(18)} ${(metric === "rate" ? "messages/s" : "CPU us each").padEnd(12)} ${shown(plain).padStart(10)} ${cells.join(" ")}`);
  }
} finally {
  fs.rmSync(dir, { recursive: true, force: true });
}
process.exit(bad);
