// scenario.mjs: the list of scenarios and what each of them is given.
import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import { Server, isMayfly } from "./server.mjs";
import { Raw } from "./raw.mjs";
import "./patience.mjs";
import { LIMIT_MS } from "./wait.mjs";

export const scenarios = [];

// scenario(NAME, FN) or scenario(NAME, {only: "mayfly"}, FN).  later: mayflyd does not do this yet; LATER=1 runs it there all the same.
export function scenario(name, options, fn) {
  if (typeof options === "function") [options, fn] = [{}, options];
  if (options.only === "mayfly" && !isMayfly) return;
  if (options.later && isMayfly && !process.env.LATER) return;
  scenarios.push({ name, fn });
}

// What a scenario starts ends with it, last first, whatever happened.
export class Scene {
  #cleanup = [];

  after(fn) {
    this.#cleanup.push(fn);
  }

  async server(options) {
    const s = new Server(options);
    this.after(() => s.remove());
    this.after(async () => {
      // Throws on a bad exit, so it is part of the test.
      await s.stop().finally(() => s.kill());
    });
    return s.start();
  }

  // A server that has not been started.
  prepare(options) {
    const s = new Server(options);
    this.after(() => s.remove());
    this.after(async () => {
      await s.kill();
      s.checkReports();
    });
    return s;
  }

  // A nats.js connection; never reconnects unless told to.
  async connect(server, options = {}) {
    const nc = await connect({ servers: server.url.replace(/^\w+:\/\//, ""), reconnect: false, timeout: LIMIT_MS, ...options });
    this.after(() => nc.close());
    nc.errors = [];
    nc.events = [];
    (async () => {
      for await (const s of nc.status()) {
        nc.events.push(s);
        if (s.type === "error") nc.errors.push(s.error);
      }
    })().catch(() => {});
    return nc;
  }

  // Expects the connection to be refused with an error that matches pattern.
  async refused(server, options, pattern = /authorization violation/i) {
    let nc;
    try {
      nc = await connect({ servers: server.url.replace(/^\w+:\/\//, ""), reconnect: false, timeout: LIMIT_MS, ...options });
    } catch (e) {
      assert.match(`${e.name} ${e.message} ${e.cause?.message ?? ""}`, pattern);
      return e;
    }
    await nc.close();
    assert.fail(`connected, but should have been refused with ${pattern}`);
  }

  async raw(server, options) {
    const r = await Raw.open(server.port, options);
    this.after(() => r.close());
    return r;
  }

  async end() {
    let first;
    for (const fn of this.#cleanup.reverse()) {
      try {
        await fn();
      } catch (e) {
        first ??= e;
      }
    }
    if (first) throw first;
  }
}

// Collects what a subscription receives, as text.
export function collect(nc, subject, options = {}) {
  const got = [];
  got.sub = nc.subscribe(subject, {
    ...options,
    callback: (err, m) => got.push(err ?? m),
  });
  got.texts = () => got.map((m) => m.string());
  return got;
}
