// pinger.mjs: a foreign client that pings from a thread of its own, while others keep the server busy.
//
// Of each PING two things are noted: how long it waited, and how long the server's loop ran meanwhile.  The second does not
// grow when other programs take the cores: it is what the PING would wait for on a machine that has nothing else to do.
import { Worker } from "node:worker_threads";

export class Pinger {
  static async open(server) {
    const p = new Pinger();
    p.worker = new Worker(new URL("./ping_thread.mjs", import.meta.url), { workerData: { port: server.port, pid: server.proc.pid } });
    p.ended = new Promise((ok, bad) => p.worker.once("error", bad).once("exit", () => ok({ waits: [0], cpu: [0] })));
    await p.#next();
    return p;
  }
  #next() {
    return Promise.race([new Promise((ok) => this.worker.once("message", ok)), this.ended]);
  }
  // { waits, cpu }: in milliseconds, sorted, of all PINGs since the last call; the one under way is the last of them.
  async take() {
    const all = this.#next();
    this.worker.postMessage("take");
    return all;
  }
  async close() {
    await this.worker.terminate();
  }
}
