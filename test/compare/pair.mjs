// pair.mjs: mayflyd and nats-server side by side, with one account for each history that runs at a time.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Server } from "../interop/lib/server.mjs";

// A disk in memory where there is one: what is compared is answers, not fsync.
const ROOM = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();

export const SIDES = ["mayflyd", "nats-server"];

export class Pair {
  // mode: strict or default.  sync: what was acked is on nats-server's disk too.
  constructor({ ours, theirs, mode, lanes, sync = false }) {
    const accounts = Array.from({ length: lanes }, (_, i) => account(i)).join("\n");
    const config = (block) => `server_name: cmp
accounts {
${accounts}
}
authorization { timeout: 60 }
max_payload: 64KB
jetstream { store_dir: "DIR/js", max_mem: 512MB, max_file: 8GB, ${block} }
`;
    const dir = (name) => fs.mkdtempSync(path.join(ROOM, `compare-${name}-`));
    this.servers = [
      new Server({ program: ours, dir: dir("a"), config: config(mode === "strict" ? "compat: strict" : "") }),
      new Server({ program: theirs, dir: dir("b"), config: config(sync ? "sync_interval: always" : "") }),
    ];
  }

  // Whatever happens to this process, its servers and their folders go with it.
  #leaveNothing() {
    process.once("exit", () => {
      for (const s of this.servers) {
        if (s.proc && !s.gone) s.proc.kill("SIGKILL");
        s.remove();
      }
    });
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  }

  async start() {
    this.#leaveNothing();
    await Promise.all(this.servers.map((s) => s.start()));
    return this;
  }

  async restart(signal) {
    await Promise.all(
      this.servers.map(async (s) => {
        if (signal === "SIGKILL") await s.kill();
        else await s.stop();
        s.killed = false;
        await s.startAgain();
      }),
    );
  }

  // A server that ended by itself, and what it said.
  fallen() {
    return this.servers.filter((s) => s.gone).map((s) => `${path.basename(s.program)} ended: ${s.text.slice(-3000)}`);
  }

  async stop() {
    const wrong = [];
    for (const s of this.servers) {
      try {
        await s.stop();
      } catch (e) {
        wrong.push(e.message);
      }
      await s.kill();
      s.remove();
    }
    return wrong;
  }
}

// One account in so many has small limits of its own.
export const SMALL_EACH = 8;
export const isSmall = (i) => i % SMALL_EACH === SMALL_EACH - 1;

function account(i) {
  const small = "{ max_mem: 64KB, max_file: 256KB, max_streams: 3, max_consumers: 4 }";
  return `  L${i} { users: [{ user: l${i}, password: x }], jetstream: ${isSmall(i) ? small : "enabled"} }`;
}
