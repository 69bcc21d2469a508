// setup.mjs: what a scenario of the leaf link is given: servers in the two places, clients and proxies.  The place "hub" accepts, the place
// "leaf" dials; each is filled by nats-server or by mayflyd, as run.mjs was told.
import assert from "node:assert/strict";
import path from "node:path";
import { jetstream, jetstreamManager, Kvm, Objm } from "../../interop/lib/clients.mjs";
import { Raw } from "../../interop/lib/raw.mjs";
import { Scene } from "../../interop/lib/scenario.mjs";
import { LIMIT_MS, until } from "../../interop/lib/wait.mjs";
import { freePort } from "./ports.mjs";
import { Proxy } from "./proxy.mjs";

export const PROGRAMS = {
  nats: process.env.NATS_SERVER && path.resolve(process.env.NATS_SERVER),
  mayfly: path.resolve(process.env.MAYFLYD ?? "build/mayflyd"),
};
export const scenarios = [];

// scenario(NAME, OPTIONS, FN)
//   quick     part of the selection of ./dev test
//   cluster   the hub is three nats-servers, so the place cannot be mayflyd's
//   hub, leaf "nats" or "mayfly": only with that server in the place
//   alone     only one place is filled by a server (the other by the scenario itself): "hub" or "leaf"
export function scenario(name, options, fn) {
  scenarios.push({ name, ...options, fn });
}

export const ACCOUNTS = `accounts { ACC { jetstream: enabled, users: [ {user: a, password: a} ] }, SYS { users: [ {user: s, password: s} ] } }
system_account: SYS\n`;
const A = { user: "a", pass: "a" };

const store = (domain, more = "") => (domain === null ? "" : `jetstream { store_dir: "DIR/js", ${domain ? `domain: ${domain}, ` : ""}${more} }\n`);

export class Setup extends Scene {
  constructor(pair) {
    super();
    this.pair = pair;
  }

  program(place) {
    return PROGRAMS[this.pair[place]];
  }
  is(place, kind) {
    return this.pair[place] === kind;
  }

  // A server that accepts leaf links.  domain: null is one without JetStream, "" one without a domain.  auth: who its clients are.
  async hub({ name = "N1", domain = "hub", accounts = ACCOUNTS, leafnodes = "", js = "", more = "", place = "hub", ...options } = {}) {
    const leafPort = await freePort();
    const config = `server_name: ${name}\n${store(domain, js)}${accounts}leafnodes { listen: "127.0.0.1:${leafPort}"\n${leafnodes}\n}\n${more}\n`;
    const s = await this.server({ config, monitor: true, port: await freePort(), program: this.program(place), ...options });
    s.leafPort = leafPort;
    return s;
  }

  // Three nats-servers, ready for streams with three replicas.
  async cluster({ domain = "hub", accounts = ACCOUNTS, leafnodes = "", more = "" } = {}) {
    const routes = await Promise.all([freePort(), freePort(), freePort()]);
    const nodes = await Promise.all(routes.map((port, i) => {
      const cluster = `cluster { name: HC, listen: "127.0.0.1:${port}", routes: [ ${routes.map((p) => `"nats://127.0.0.1:${p}"`).join(", ")} ] }\n`;
      return this.hub({ name: `N${i + 1}`, domain, accounts, leafnodes, more: cluster + more });
    }));
    await until("the cluster to have a leader", async () => {
      const meta = await Promise.all(nodes.map((n) => n.page("/jsz").then((p) => p.json?.meta_cluster, () => undefined)));
      const leader = meta.findIndex((m, i) => m?.leader === `N${i + 1}`);
      return meta.every((m) => m?.leader && m.leader === meta[leader]?.leader && m.cluster_size === 3) && meta[leader]?.replicas?.length === 2 && meta[leader].replicas.every((r) => r.current && !r.offline);
    });
    return nodes;
  }

  // The entry of a remote.  to: hubs or proxies, or a list of them.
  remote(to, { user = "a:a", scheme = "nats-leaf", more = "", compression = "off" } = {}) {
    const urls = [to].flat().map((x) => `"${scheme}://${user ? `${user}@` : ""}${x.host ?? "127.0.0.1"}:${x.leafPort ?? x.port}"`);
    return `{ urls: [ ${urls.join(", ")} ], first_info_timeout: "60s"${compression ? `, compression: ${compression}` : ""}\n${more} }`;
  }

  // A server that dials.  remotes: entries made by remote(); to: the same as one entry.
  async leaf({ name = "LF", domain = "lf", to, remotes, accounts = "", leafnodes = "", js = "", more = "", place = "leaf", user, remote, compression, scheme, ...options } = {}) {
    const list = remotes ?? [this.remote(to, { user, more: remote, compression, scheme })];
    const config = `server_name: ${name}\n${store(domain, js)}${accounts}leafnodes { ${leafnodes}\nremotes: [ ${list.join("\n")} ] }\n${more}\n`;
    return this.server({ config, monitor: true, port: await freePort(), program: this.program(place), ...options });
  }

  async proxy(hub, options) {
    const p = await Proxy.open(hub.leafPort ?? hub.port, options);
    this.after(() => p.close());
    return p;
  }

  // The accepting end as a raw leaf sees it.
  async rawLeaf(hub, options) {
    const r = await Raw.open(hub.leafPort, options);
    this.after(() => r.close());
    return r;
  }

  // A hub, a leaf, a proxy between them (wire), and a client at each; linked.
  async link({ hub = {}, leaf = {}, wire = true, cluster = false } = {}) {
    const nodes = cluster ? await this.cluster(hub) : [await this.hub({ ...hub, leafnodes: `${wire ? "no_advertise: true\n" : ""}${hub.leafnodes ?? ""}` })];
    const proxy = wire ? await this.proxy(nodes[0]) : undefined;
    const l = await this.leaf({ to: proxy ?? nodes[0], ...leaf });
    // On a cluster the client is not where the link is.
    const h = nodes[1] ?? nodes[0];
    const [hubNc, leafNc] = [await this.connect(h, A), await this.connect(l, leaf.client ?? {})];
    await linked(hubNc, leafNc);
    return { nodes, hub: nodes[0], leaf: l, proxy, hubNc, leafNc };
  }
}

// A message from one client to the other: the link is up, and interest of the other side is known.
let probes = 0;
export async function crosses(from, to) {
  const subject = `probe.${process.pid}.${++probes}`;
  const sub = to.subscribe(subject, { callback: (_, m) => m.respond("here") });
  try {
    await until(`a message to cross on ${subject}`, async () => {
      try {
        return (await from.request(subject, "", { timeout: 2000 })).string() === "here";
      } catch {
        return false; // no responders yet, or lost on the way
      }
    });
  } finally {
    sub.unsubscribe();
  }
}
export async function linked(a, b) {
  await crosses(a, b);
  await crosses(b, a);
}

// One side's JetStream, as a stock client with a domain sees it.
export async function jetstreamOf(nc, domain) {
  const options = { timeout: LIMIT_MS, ...(domain && { domain }) };
  return { jsm: await jetstreamManager(nc, { ...options, checkAPI: false }), js: jetstream(nc, options), kvm: new Kvm(jetstream(nc, options)), objm: new Objm(jetstream(nc, options)) };
}

// The answer to a request, or "503".
export async function ask(nc, subject, body = "", options = {}) {
  try {
    const m = await nc.request(subject, body, { timeout: LIMIT_MS, ...options });
    try {
      return JSON.parse(m.string());
    } catch {
      return m.string();
    }
  } catch (e) {
    if (/no responders|503/i.test(`${e.name} ${e.message}`)) return "503";
    throw e;
  }
}

// Waits until nobody is there: the withdrawal of interest may still be on its way.
export const nobody = (nc, subject, body = "") =>
  until(`503 on ${subject}`, async () => (await ask(nc, subject, body, { timeout: 2000 }).catch(() => "")) === "503");

// The lines of a log that match, once at least `count` of them are there.
export async function logged(server, pattern, count = 1) {
  const find = () => server.log().split("\n").filter((l) => pattern.test(l));
  try {
    return await until(`${count} lines ${pattern}`, () => find().length >= count && find());
  } catch (e) {
    throw new Error(`${e.message}; the log ends with: ${server.log().split("\n").slice(-12).join("\n")}`);
  }
}

// The links of a server by its page, once `count` of them have a name.
export function leafz(server, count = 1, query = "") {
  let last;
  return until(`${count} links on /leafz`, async () => {
    last = (await server.page(`/leafz${query}`)).json;
    return last.leafs?.length === count && last.leafs.every((l) => l.name) && last;
  }).catch((e) => {
    throw new Error(`${e.message}: ${JSON.stringify(last)}`);
  });
}

// Waits until both lists are equal; shows the difference when they never are.
export async function becomes(what, read, expected) {
  let got;
  try {
    await until(what, async () => {
      got = await read();
      try {
        assert.deepEqual(got, expected);
        return true;
      } catch {
        return false;
      }
    });
  } catch {
    assert.deepEqual(got, expected, what);
  }
}
