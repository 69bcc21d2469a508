// trial.mjs: the frame of a trial: its flags, its finds, its last line and exit code (README.md has the contract).
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { awake } from "./awake.mjs";

export const TORTURE = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
export const TOP = path.resolve(TORTURE, "../..");

export { dice } from "../../interop/lib/dice.mjs";

// Why a trial cannot run here: exit 2.
export class Cannot extends Error {}

export class Trial {
  constructor(name, argv) {
    this.name = name;
    const flags = Object.fromEntries(argv.map((a) => a.match(/^--([a-z]+)=(.*)$/s)?.slice(1) ?? [a, ""]));
    const { seconds = "10", seed = String(Date.now() % 1_000_000_007), mayflyd = "build-torture/mayflyd", dir, ...more } = flags;
    this.seconds = Number(seconds);
    this.seed = Number(seed);
    this.mayflyd = path.resolve(mayflyd);
    this.build = path.dirname(this.mayflyd); // programs built beside it: test/fault/*, test/torture/shim.so
    const scratch = path.resolve(dir ?? process.env.TMPDIR ?? "/var/tmp");
    fs.mkdirSync(scratch, { recursive: true });
    this.dir = fs.mkdtempSync(path.join(scratch, `torture-${name}-`)); // kept when something was found
    this.more = more; // flags of this trial alone
    this.end = awake() + this.seconds * 1000;
    this.finds = 0;
    this.rounds = 0;
    this.seen = new Map();
    this.tried = null; // a function that says what was tried so far
    if (!(this.seconds > 0) || !Number.isSafeInteger(this.seed)) throw new Cannot("--seconds and --seed are numbers");
  }

  left() {
    return this.end - awake();
  }

  // Is there time for a round that takes about `ms`?  For the first one always; after many finds for none.
  another(ms) {
    return this.finds < 20 && (this.rounds++ === 0 || this.left() > ms);
  }

  // One find.  The same class is told five times, counted always.
  found(kind, text, repeat = this.again()) {
    this.finds++;
    const n = (this.seen.get(kind) ?? 0) + 1;
    this.seen.set(kind, n);
    if (n <= 5) console.log(`FOUND ${kind}: ${String(text).replaceAll(/\s*\n\s*/g, " | ").slice(0, 1500)}; repeat with: ${repeat}`);
  }

  again(seed = this.seed, more = "") {
    return `test/torture/trials/${this.name}.mjs --seconds=${this.seconds} --seed=${seed} --mayflyd=${path.relative(process.cwd(), this.mayflyd)}${more}`;
  }

  needs(file, what) {
    if (!fs.existsSync(file)) throw new Cannot(`${what} is not there: ${file}`);
    return file;
  }
}

// An error that is a find of this kind.
export const wrong = (kind, text) => Object.assign(new Error(text), { kind });

// Runs MAIN(trial), which returns what was tried, in numbers.
export async function run(name, main) {
  let t, tried = "nothing", code = 0;
  try {
    t = new Trial(name, process.argv.slice(2));
    t.needs(t.mayflyd, "mayflyd");
    console.log(`${name}: seed ${t.seed}`);
    tried = await main(t);
  } catch (e) {
    if (e instanceof Cannot) {
      console.log(`${name}: could not run here: ${e.message}`);
      code = 2;
    } else {
      // What the trial itself stumbles over may be the server's fault as well: it is looked at.
      t?.found(e.kind ?? "trial-error", e.kind ? e.message : e.stack);
      tried = t?.tried?.() ?? tried;
    }
  }
  if (t && t.finds === 0) fs.rmSync(t.dir, { recursive: true, force: true });
  if (code === 2) process.exit(2);
  console.log(`${name}: ${tried}, ${t.finds} found`);
  process.exit(t.finds > 0 ? 1 : 0);
}
