// ttl_examples.mjs: the guide docs/ttl.md.  Its blocks are run as they stand there, and each answer that it
// shows is compared with the real one (lib/doc_run.mjs): a guide that is wrong fails here.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { blocks, sameShape, shown, table } from "./lib/doc.mjs";
import { Section } from "./lib/doc_run.mjs";
import { jetstreamBlock, onServer, ownServer } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { runBinary } from "./lib/server.mjs";
import { lives, policy, span } from "./lib/ttl.mjs";
import { ask, ms, ttl } from "./lib/ttl_api.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const ours = { only: "mayfly" };
const GUIDE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../docs/ttl.md");
const text = fs.readFileSync(GUIDE, "utf8");
const all = blocks(text);
const under = (heading) => {
  const found = all.filter((b) => b.heading.startsWith(heading));
  assert.ok(found.length > 0, `the guide has blocks under ${heading}`);
  return found;
};
const one = (heading, lang) => {
  const found = under(heading).filter((b) => b.lang === lang);
  assert.equal(found.length, 1, `${heading} has one block of ${lang}`);
  return found[0];
};

// A server as the section wants it, its blocks run to their end: what is connected to it.  c: `nats` is made of nats.c.
async function example(t, heading, { login, c = false } = {}) {
  const mine = under(heading);
  const conf = mine.filter((b) => b.lang === "conf").map((b) => b.text);
  const s = await t.server({ config: jetstreamBlock() + conf.join(""), monitor: true });
  const section = new Section(t, s, mine);
  if (c) await section.useC();
  await section.run();
  return { s, section, ...(await onServer(t, s, login)) };
}

// Everything ends by itself, or is without an end on purpose: nothing is left to be deleted by hand.
async function nothingForgotten(c, ...streams) {
  for (const stream of streams) assert.equal((await ttl(c, `STATS.${stream}`)).items_without_ttl, 0, stream);
}

scenario("the addresses of the guide are those of a server without further options", ours, async () => {
  assert.equal(one("Worked examples", "sh").text, "export NATS_URL=nats://127.0.0.1:4222 MONITOR_URL=http://127.0.0.1:8222\n");
});

// --- worked examples ---------------------------------------------------------------------------------

scenario("R000_05_R000_69_example_a_drafts_are_renewed_announced_and_recovered", ours, async (t) => {
  const { stream, nc } = await example(t, "a. ");
  const c = stream("KV_drafts");
  await nothingForgotten(c, "KV_drafts", "KV_sessions");
  const letter = await ttl(c, "GET.KV_drafts.dead.$KV.drafts.alice.7f3a");
  assert.deepEqual([span(letter), letter.decided_by], [7 * 86400, "rule:letters"]);
  await lives(c, "$KV.drafts.alice.7f3a", 86400, "default"); // recovered
  assert.equal((await ttl(c, "POLICY.KV_sessions")).policy.slide, "read");
  const keys = [];
  for await (const k of await (await new Kvm(nc).open("drafts")).keys()) keys.push(k);
  assert.deepEqual(keys.sort(), ["alice.7f3a", "bob.1"], "letters are no keys");
  await (await new Kvm(nc).open("drafts")).delete("bob.1");
  assert.equal((await ask(c, "GET.KV_drafts.dead.$KV.drafts.bob.1")).error?.err_code, 10037, "what is deleted leaves no letter");
});

scenario("R000_05_R000_69_example_b_no_bucket_of_an_operator_is_lost", ours, async (t) => {
  const { stream } = await example(t, "b. ");
  const c = stream("LIMITS");
  await nothingForgotten(c, "LIMITS");
  const alice = await ttl(c, "GET.LIMITS.bucket.alice.gpt4");
  assert.equal(alice.state, "ttl");
  assert.ok(span(alice) >= 42000 && alice.left_ms <= 42000_000, `from its removal on: ${JSON.stringify(alice)}`);
  assert.equal((await ttl(c, "GET.LIMITS.config.bob.gpt4")).state, "infinite");
});

scenario("R000_05_R000_69_example_c_namespaces_decide_for_clients_that_know_nothing", ours, async (t) => {
  const { s, stream, section } = await example(t, "c. ", { login: { user: "app", pass: "secret" } });
  const c = stream("permanent-records");
  await nothingForgotten(c, "KV_user-sessions", "permanent-records", "analytics-events");
  for (const [name, subject, seconds] of [
    ["KV_user-sessions", "$KV.user-sessions.a", 86400], ["KV_user-sessions", "$KV.user-sessions.b", 3600],
    ["permanent-records", "records.a", 30 * 86400], ["permanent-records", "records.b", 3600], ["analytics-events", "events.a", 90 * 86400],
  ])
    assert.equal(span(await ttl(c, `GET.${name}.${subject}`)), seconds, subject);
  // The same with nats.c: without a TTL, with one, and with never.
  section.env.NATS_URL = s.url.replace("//", "//app:secret@");
  await section.run_c(one(HELPERS, "c"), sender(["records.d", null], ["records.e", "1h"], ["records.f", "never"]));
  assert.equal(span(await ttl(c, "GET.permanent-records.records.d")), 30 * 86400);
  assert.equal(span(await ttl(c, "GET.permanent-records.records.e")), 3600);
  assert.equal((await ttl(c, "GET.permanent-records.records.f")).state, "infinite");
  await assert.rejects(section.run_c(one(HELPERS, "c"), sender(["$KV.user-sessions.d", "never"])), /never is not allowed here/);
});

for (const [name, c] of [["R000_05_R000_69_example_d_a_stream_moves_to_a_policy_in_phases", false], ["R000_69_example_d_with_nats_c", true]])
  scenario(name, ours, async (t) => {
    const { stream, nc } = await example(t, "d. ", { c });
    const events = stream("EVENTS");
    await nothingForgotten(events, "EVENTS");
    assert.equal((await ttl(events, "GET.EVENTS.events.old.3")).state, "infinite"); // PERSIST by filter
    assert.equal((await ttl(events, "POLICY.EVENTS")).policy.enforce, "off");
    assert.equal(span(await ttl(events, "GET.EVENTS.events.new.4")), 30 * 86400);
    const first = await ttl(events, "GET.EVENTS.events.new.1"); // by the backfill, spread over a day
    assert.ok(first.left_ms > 29.9 * 86400_000 && first.left_ms <= 31 * 86400_000, JSON.stringify(first));
    await jetstream(nc, { timeout: LIMIT_MS }).publish("events.new.5", "x");
    assert.equal((await ttl(events, "GET.EVENTS.events.new.5")).state, "none"); // it is out of force
  });

scenario("R000_05_no_example_of_the_guide_removes_old_data_by_itself", ours, async () => {
  for (const b of all) assert.doesNotMatch(b.text, /cron|setInterval|setTimeout|MSG\.DELETE|deleteMessage|\bdays?_ago\b/i, `line ${b.line}`);
});

// --- helpers -------------------------------------------------------------------------------------------

const HELPERS = "Helpers for clients";
const there = (program, ...args) => {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

// A program in C that publishes by the helper: [subject, ttl], null: without one.
const sender = (...messages) => `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int publish(jsCtx *js, const char *subject, const char *ttl)
{
    natsMsg *m = NULL;
    natsStatus s = natsMsg_Create(&m, subject, NULL, "x", 1);
    if (s == NATS_OK && ttl != NULL)
        s = strcmp(ttl, "never") == 0 ? no_expiration(m) : with_ttl(m, ttl);
    if (s == NATS_OK)
        s = js_PublishMsg(NULL, js, m, NULL, NULL);
    if (s != NATS_OK)
        fprintf(stderr, "%s: %s\\n", subject, nats_GetLastError(NULL));
    natsMsg_Destroy(m);
    return s;
}
int main(void)
{
    natsConnection *nc = NULL;
    jsCtx *js = NULL;
    int rc = natsConnection_ConnectTo(&nc, getenv("NATS_URL")) || natsConnection_JetStream(&js, nc, NULL);
    ${messages.map(([subject, ttl]) => `rc = rc || publish(js, "${subject}", ${ttl === null ? "NULL" : `"${ttl}"`});`).join("\n    ")}
    jsCtx_Destroy(js);
    natsConnection_Destroy(nc);
    nats_Close();
    return rc;
}
`;

// A stream that allows never, and what a helper wrote into it.
async function helped(t, name) {
  const { s, stream } = await ownServer(t);
  const c = stream(name);
  await c.create({ subjects: ["s.>"], ...policy({ default: "24h", never: "allow" }), allow_msg_ttl: true });
  const section = new Section(t, s, []);
  return {
    section,
    check: async () => {
      assert.equal(span(await ttl(c, `GET.${name}.s.hour`)), 3600);
      assert.equal((await ttl(c, `GET.${name}.s.ever`)).state, "infinite");
    },
  };
}

scenario("R000_58_R000_84_the_helpers_are_short", ours, async () => {
  const langs = under(HELPERS).map((b) => b.lang);
  assert.deepEqual([...langs].sort(), ["c", "go", "js", "python"]);
  for (const b of under(HELPERS)) assert.ok(b.text.split("\n").length - 1 <= 20, `${b.lang} has at most 20 lines`);
});

scenario("R000_58_the_helper_for_JavaScript_sets_a_ttl_and_no_expiration", ours, async (t) => {
  const { section, check } = await helped(t, "JS");
  const use = `import { connect } from "@nats-io/transport-node";
const nc = await connect({ servers: process.env.NATS_URL });
await withTTL(nc, "s.hour", "x", "3600");
await noExpiration(nc, "s.ever", "x");
`;
  section.blocks = [one(HELPERS, "js"), { lang: "js", text: use }];
  await section.run();
  await check();
});

scenario("R000_58_the_helper_for_C_sets_a_ttl_and_no_expiration", ours, async (t) => {
  const { section, check } = await helped(t, "C");
  await section.run_c(one(HELPERS, "c"), sender(["s.hour", "1h"], ["s.ever", "never"]));
  await check();
});

scenario("R000_58_the_helper_for_Python_sets_a_ttl_and_no_expiration", ours, async (t) => {
  if (!there("python3", "-V")) return console.log("# python3 is not there: the helper for Python was not run");
  const { section, check } = await helped(t, "PY");
  await section.run_python(one(HELPERS, "python"), `

import asyncio, nats, os

async def main():
    nc = await nats.connect(os.environ["NATS_URL"])
    js = nc.jetstream()
    await js.publish("s.hour", b"x", headers=with_ttl(3600))
    await js.publish("s.ever", b"x", headers=no_expiration())
    await nc.close()

asyncio.run(main())
`);
  await check();
});

scenario("R000_58_the_helper_for_Go_is_formatted_where_Go_is_there", ours, async (t) => {
  const { section } = await helped(t, "GO");
  const file = path.join(section.dir, "lifetime.go");
  const b = one(HELPERS, "go");
  assert.match(b.text, /Header\.Set\("Nats-TTL", d\.String\(\)\)[^]*Header\.Set\("Nats-TTL", "never"\)/);
  fs.writeFileSync(file, b.text);
  if (!there("gofmt", "-h")) return console.log("# gofmt is not there: the helper for Go was only looked at");
  assert.equal(execFileSync("gofmt", ["-l", "-e", file], { encoding: "utf8" }), "", "formatted as gofmt does it");
});

// --- the reference ---------------------------------------------------------------------------------------

scenario("R000_84_each_row_of_the_Redis_table_does_as_it_says", ours, async (t) => {
  const { stream, nc, jsm } = await ownServer(t);
  const c = stream("KV_k");
  const kv = await new Kvm(nc).create("k", { markerTTL: 60_000 });
  const key = "KV_k.$KV.k.x";
  const js = jetstream(nc, { timeout: LIMIT_MS });
  const rows = {
    "`SETEX k 3600 v`": async () => {
      await js.publish("$KV.k.x", "v", { ttl: "3600" });
      assert.equal(span(await ttl(c, `GET.${key}`)), 3600);
    },
    "`SET k v NX EX 3600`": async () => {
      await kv.create("new", "v", "1h");
      assert.equal(span(await ttl(c, "GET.KV_k.$KV.k.new")), 3600);
      await assert.rejects(kv.create("new", "v", "1h"));
    },
    "`TTL k`": async () => {
      assert.ok((await ttl(c, `GET.${key}`)).left_ms <= 3600_000);
      assert.deepEqual([(await ask(c, "GET.KV_k.$KV.k.absent")).error.code, (await ask(c, "GET.KV_k.$KV.k.absent")).error.err_code], [404, 10037]);
      await kv.put("plain", "v");
      assert.equal((await ttl(c, "GET.KV_k.$KV.k.plain")).state, "none");
    },
    "`EXPIRE k 3600` with `NX`, `XX`, `GT`, `LT`": async () => {
      for (const [cond, count] of [["unset", 0], ["set", 1], ["longer", 1], ["shorter", 0]])
        assert.equal((await ttl(c, `SET.${key}`, { ttl: cond === "longer" ? "2h" : cond === "shorter" ? "3h" : "1h", if: cond })).count, count, cond);
    },
    "`EXPIRETIME k`": async () => assert.ok(ms((await ttl(c, `GET.${key}`)).expires) > Date.now()),
    "`EXPIREAT k t`": async () => {
      const expires = new Date(Date.now() + 7200_000).toISOString();
      assert.equal(ms((await ttl(c, `SET.${key}`, { expires })).expires), ms(expires));
    },
    "`GETEX k EX`": async () => {
      const m = await nc.request(`$MAYFLY.TTL.TOUCH.${key}`, '{"get":true}', { timeout: LIMIT_MS });
      assert.equal(m.string(), "v");
      assert.ok(Number(m.headers.get("Mayfly-TTL-Left")) > 3500);
    },
    "`PERSIST k`": async () => {
      assert.equal((await ttl(c, `PERSIST.${key}`)).count, 1);
      assert.deepEqual([(await ttl(c, `GET.${key}`)).state, (await ttl(c, `GET.${key}`)).pinned], ["infinite", true]);
    },
    "`DEL k`": async () => {
      await kv.delete("x");
      assert.equal((await kv.get("x")).operation, "DEL");
    },
    "`INFO keyspace`": async () => {
      const { items_with_ttl, items_without_ttl, items_infinite_ttl } = await ttl(c, "STATS.KV_k");
      assert.deepEqual([items_with_ttl, items_without_ttl, items_infinite_ttl], [1, 2, 0]); // new; plain and the tombstone
    },
    "keyspace notifications": async () => {
      const iter = await kv.watch({ key: "soon", include: "updates" });
      await js.publish("$KV.k.soon", "v", { ttl: "60" });
      await ttl(c, "SET.KV_k.$KV.k.soon", { expires: "2020-01-01T00:00:00Z" });
      const ops = [];
      for await (const e of iter) if (ops.push(e.operation) === 2) break;
      assert.deepEqual(ops, ["PUT", "PURGE"]);
      assert.equal((await jsm.streams.getMessage("KV_k", { last_by_subj: "$KV.k.soon" })).header.get("Nats-Marker-Reason"), "MaxAge");
    },
  };
  const shownRows = table(text, "From Redis");
  assert.deepEqual(shownRows.map((r) => r[0]), Object.keys(rows), "each row has its trial, in this order");
  for (const [name] of shownRows) await rows[name]();
});

scenario("R000_84_the_playbook_names_the_steps_of_the_example", ours, async () => {
  const rows = table(text, "Moving a stream to a policy");
  assert.deepEqual(rows.map((r) => r[0]), ["look", "audit", "enforce", "backfill", "watch", "back out"]);
  const said = under("d. ").map((b) => b.text).join("");
  for (const [step, deed] of rows)
    for (const word of deed.match(/\b[A-Z]{5,}\b|enforce=\w+|"spread":"\w+"/g) ?? []) {
      const key = word.replace(/^enforce=(.*)/, 'mayfly.ttl.enforce":"$1"');
      assert.ok(said.includes(key), `${step}: ${word} is in example d`);
    }
});

scenario("the tables of keys, patterns and metrics name what there is", ours, async (t) => {
  const s = await t.server({ config: jetstreamBlock(), monitor: true });
  const c = (await onServer(t, s)).stream("S");
  await c.create(policy({ default: "24h" }));
  await c.pub("a", "x");
  const names = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map((m) => m[1]);
  const { policy: effective } = await ttl(c, "POLICY.S");
  for (const name of table(text, "Keys of a stream").flatMap((r) => names(r[0]))) assert.ok(name in effective, `POLICY has ${name}`);
  for (const cells of table(text, "Patterns"))
    for (const [name, said] of [cells.slice(0, 2), cells.slice(3)]) {
      const test = await ttl(c, "POLICY.S", { test: { subject: "s.a" }, policy: { "mayfly.ttl.default": "", "mayfly.ttl.pattern": names(name)[0] } });
      const [, n, unit] = /^(\d+) (minute|hour|day)s$/.exec(said) ?? [];
      const want = n ? `${n * { minute: 1, hour: 60, day: 1440 }[unit]}` : names(said)[0];
      const [, h = 0, m = 0] = /^(?:(\d+)h)?(?:(\d+)m)0s$/.exec(test.result.ttl) ?? [];
      assert.equal(n ? `${Number(h) * 60 + Number(m)}` : test.result.ttl, want, `${name}: ${said}`);
    }
  const lacks = (metrics) =>
    table(text, "Watching it").flatMap((r) => names(r[0])).filter((name) => {
      const [, metric, label] = /^(\w+)(?:\{(\w+)\})?$/.exec(name);
      return !new RegExp(`^${metric}(_bucket)?${label ? `\\{[^}]*\\b${label}="` : "[ {]"}`, "m").test(metrics);
    });
  let missing; // a scrape starts the look that the next one shows
  await until("all metrics", async () => (missing = lacks((await s.page("/metrics")).text)).length === 0).catch(() => assert.deepEqual(missing, []));
});

// Each kind of expression, as its table says, tried by POLICY.
scenario("the table of TTL expressions is right", ours, async (t) => {
  const { stream } = await ownServer(t);
  const c = stream("S");
  await c.create({ subjects: ["s.>"] });
  const rows = table(text.slice(text.indexOf("| expression | with | gives |") - 20).replace(/^[^]*?\n\|/, "### X\n|"), "X");
  assert.ok(rows.length >= 5);
  let payload;
  for (const [expr, given, gives] of rows) {
    const plain = (x) => /^`(.*)`$/.exec(x)?.[1];
    const said = given === "the same" ? payload : plain(given);
    payload = said;
    const header = /^([\w-]+): (.*)$/.exec(said);
    const test = { subject: "s.a", ...(header ? { headers: { [header[1]]: header[2] } } : { payload: said }) };
    const keys = policy({ rules: [{ id: "r", subject: "s.>", ttl: plain(expr) }] }).metadata;
    const { result } = await ttl(c, "POLICY.S", { test, policy: keys });
    assert.equal(result.decided_by, "rule:r", expr);
    const seconds = /^([\d,]+) s/.exec(gives)?.[1].replaceAll(",", "");
    const got = /^(?:(\d+)h)?(?:(\d+)m)?(\d+)s$/.exec(result.ttl).slice(1).reduce((sum, x) => sum * 60 + Number(x ?? 0), 0);
    if (seconds) assert.equal(got, Number(seconds), expr);
    else assert.ok(Math.abs(Date.now() / 1000 + got - Date.parse(JSON.parse(said).expires_at) / 1000) < 60, expr);
  }
});

scenario("R000_72_savings_are_computed_from_the_bytes_that_expired", ours, async (t) => {
  const line = under("d. ").flatMap((b) => b.text.split("\n")).find((l) => l.startsWith("const saved = "));
  const saved = new Function(`${line}\nreturn saved;`)();
  assert.equal(saved({ totals: { expired_bytes: 1e9 } }, 50), "50.00");
  const s = await t.server({ config: jetstreamBlock(), monitor: true });
  const c = (await onServer(t, s)).stream("S");
  await c.create(policy({ default: "24h" }));
  for (let i = 0; i < 20; i++) await c.pub(`a.${i}`, Buffer.alloc(50_000, "x"));
  const { bytes } = await c.state();
  await ttl(c, "SET.S", { filter: "s.>", expires: "2020-01-01T00:00:00Z" });
  await c.empty();
  const stats = await ttl(c, "STATS.S");
  assert.equal(stats.totals.expired_bytes, bytes);
  assert.equal(saved(stats, 50_000), ((bytes / 1e9) * 50_000).toFixed(2));
  assert.match((await s.page("/metrics")).text, new RegExp(`^mayfly_stream_expired_bytes_total\\{[^}]*stream="S"[^}]*\\} ${bytes}$`, "m"));
});

// Blocks of the reference: what runs each of them, by its heading.
const REFERENCE = {
  "Start with one key": async (t) => {
    const { stream } = await example(t, "Start with one key");
    const c = stream("DRAFTS");
    await c.nc.request("drafts.a", "x", { timeout: LIMIT_MS });
    assert.equal(span(await ttl(c, "GET.DRAFTS.drafts.a")), 86400);
  },
  Warnings: async (t) => {
    const { stream, nc } = await ownServer(t);
    const c = stream("KV_drafts");
    await new Kvm(nc).create("drafts", { metadata: policy({ default: "24h" }).metadata });
    const events = collect(nc, "$MAYFLY.EVENT.TTL.EXPIRING.KV_drafts.$KV.drafts.abc");
    await c.pub("$KV.drafts.abc", "x");
    await ttl(c, "SET.KV_drafts.$KV.drafts.abc", { ttl: "3630s" });
    await until("the event", () => events.length === 1);
    sameShape({ ...shown(one("Warnings", "json").text), seq: 1 }, events[0].json());
  },
  "The server's side": async (t) => {
    const s = t.prepare({ config: jetstreamBlock() + one("The server's side", "conf").text });
    s.writeConfig();
    const r = await runBinary(["-t", "-c", s.confFile]);
    assert.equal(r.code, 0, r.text);
    await t.server({ config: s.config });
  },
  Rules: async (t) => {
    const { stream } = await ownServer(t);
    const c = stream("S");
    const [, rules] = /^mayfly\.ttl\.rules = (\[[^]*\])\n$/.exec(one("Rules", "rules").text);
    await c.create({ subjects: ["bucket.*.*", "config.*.*"], metadata: { "mayfly.ttl.rules": rules } });
    assert.deepEqual((await ttl(c, "POLICY.S")).policy.rules.map((r) => r.id), ["bucket", "sync", "operator"]);
    assert.deepEqual(JSON.parse(/const rules = (\[[^]*?\n\]);/.exec(under("b. ")[0].text)[1].replace(/([{,] )(\w+):/g, '$1"$2":').replace(/,\n\]/, "\n]")), JSON.parse(rules), "as in example b");
  },
  "TTL expressions": async () => assert.match(one("TTL expressions", "grammar").text, /^ttl +:= /),
  "Time left of a key": async (t) => {
    const { s, nc } = await ownServer(t);
    await (await new Kvm(nc).create("drafts", { metadata: policy({ default: "24h" }).metadata })).put("alice.7f3a", "x");
    await new Section(t, s, under("Time left of a key")).run();
  },
  // REQUEST -> ANSWER, of STATS.
  "Which messages expire when": async (t) => {
    const { stream } = await ownServer(t);
    const c = stream("S");
    await c.create({ subjects: ["s.>"], ...policy({ default: "24h" }) });
    await c.pub("user.a", "x");
    for (const b of all.filter((x) => x.heading === "Which messages expire when")) {
      const [request, answer] = b.text.split(" -> ").map(shown);
      sameShape(answer, await ttl(c, "STATS.S", request), { values: false });
    }
  },
  // A request and its answer, by turns.
  "Try a policy": async (t) => {
    const { stream } = await ownServer(t);
    const c = stream("S");
    await c.create({ subjects: ["s.>"], allow_msg_ttl: true });
    await c.pub("a", "x", { "Nats-TTL": "24h" });
    await c.pub("b", "x");
    const said = under("Try a policy");
    assert.equal(said.length % 2, 0, "each request has its answer");
    for (let i = 0; i < said.length; i += 2) {
      const [request, answer] = [shown(said[i].text), shown(said[i + 1].text)];
      const real = await ttl(c, "POLICY.S", request);
      sameShape(answer, real, { values: request.test !== undefined }); // other requests count what is stored
    }
  },
  "Apply a policy to old messages: BACKFILL": async (t) => {
    const { stream } = await ownServer(t);
    const c = stream("S");
    await c.create({ subjects: ["s.>"] });
    for (let i = 0; i < 100; i++) await c.pub("a", "x");
    await c.update({ subjects: ["s.>"], ...policy({ default: "24h" }) });
    const requests = one("Apply a policy to old messages: BACKFILL", "requests").text.match(/\{[^}]*\}/g);
    assert.equal(requests.length, 6);
    for (const body of requests) {
      const r = await ask(c, "BACKFILL.S", body);
      if (!/"(pause|resume|stop)"/.test(body)) assert.equal(r.error, undefined, `${body}: ${JSON.stringify(r.error)}`);
      else assert.ok(r.error === undefined || r.error.err_code === 21002, `${body}: ${JSON.stringify(r.error)}`); // its job has ended
      if (body.includes('"start"')) await until("its end", async () => (await ttl(c, "BACKFILL.S", { action: "status" })).job.state !== "running");
    }
    assert.equal((await ttl(c, "STATS.S")).items_without_ttl, 0);
  },
};

for (const heading of Object.keys(REFERENCE)) scenario(`the block under "${heading}" is right`, ours, REFERENCE[heading]);

// An answer that needs much to come about may stand elsewhere, as JSON; where there is anything to run, it is run.
scenario("R000_69_every_block_of_the_guide_is_run", ours, async () => {
  const known = ["Worked examples", "a. ", "b. ", "c. ", "d. ", HELPERS, ...Object.keys(REFERENCE)];
  for (const b of all.filter((x) => !known.some((k) => x.heading.startsWith(k)))) {
    assert.ok([undefined, "json"].includes(b.lang), `line ${b.line}: nothing runs the block under "${b.heading}"`);
    assert.doesNotThrow(() => shown(b.text), `line ${b.line}: no JSON`);
  }
});
