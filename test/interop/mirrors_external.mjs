// mirrors_external.mjs: mirrors and sources through an API of another name: the own domain, another account.
import assert from "node:assert/strict";
import { contents, hash, holds, reaches, texts } from "./lib/copies.mjs";
import { jetstreamBlock, onServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const kinds = {
  mirror: (from) => ({ subjects: undefined, mirror: from }),
  source: (from) => ({ subjects: undefined, sources: [from] }),
};
const told = async (c) => {
  const info = await c.info();
  return info.mirror ?? info.sources[0];
};
const bare = (list) => list.map((x) => [x.subject, x.data, x.hdr.replace(/Nats-Stream-Source: [^\r]*\r\n/, "").replace(/^NATS\/1.0\r\n\r\n$/, "")]);

for (const [kind, make] of Object.entries(kinds)) {
  // nats-server asks itself in vain: its own requests are not mapped.
  scenario(`${kind} through the own domain's name`, { only: "mayfly" }, async (t) => {
    const s = await t.server({ config: jetstreamBlock("domain: hub") });
    const { stream } = await onServer(t, s);
    const [c, copy] = [stream("ORIGIN"), stream("COPY")];
    await c.create();
    for (let i = 1; i <= 3; i++) await c.pub("a", `m${i}`, { X: `${i}` });
    const external = { api: "$JS.hub.API", deliver: "" };
    const r = await copy.create(make({ name: c.id, external }));
    assert.deepEqual((r.config.mirror ?? r.config.sources[0]).external, external);
    await reaches(copy, { messages: 3 });
    await c.pub("a", "m4");
    await holds(copy, "m4");
    assert.deepEqual(bare(await contents(copy)), bare(await contents(c)));
    const o = await told(copy);
    assert.deepEqual([o.name, o.external, o.lag], [c.id, external, 0]);
    if (kind === "source") assert.match((await copy.get(1)).hdr, new RegExp(`Nats-Stream-Source: ORIGIN:${hash("$JS.hub.API")} 1 > > ${c.subject("a")}`));
    else assert.deepEqual(await contents(copy), await contents(c));
  });

  scenario(`${kind} of a stream in another account, through exports and imports`, async (t) => {
    const config = `accounts {
      A { jetstream: enabled, users: [ {user: a, password: p} ]
          exports: [ {service: "$JS.API.CONSUMER.>", response_type: stream}, {stream: "deliver.b.>"}, {service: "$JS.FC.>"} ] }
      B { jetstream: enabled, users: [ {user: b, password: p} ]
          imports: [ {service: {account: A, subject: "$JS.API.CONSUMER.>"}, to: "from.a.CONSUMER.>"}
                     {stream: {account: A, subject: "deliver.b.>"}}, {service: {account: A, subject: "$JS.FC.>"}} ] }
    }\n`;
    const s = await t.server({ config: config + jetstreamBlock() });
    const a = await onServer(t, s, { user: "a", pass: "p" });
    const b = await onServer(t, s, { user: "b", pass: "p" });
    const [c, copy] = [a.stream("ORIGIN"), b.stream("COPY")];
    await c.create();
    for (let i = 1; i <= 3; i++) await c.pub("a", `m${i}`, { X: `${i}` });
    const external = { api: "from.a", deliver: "deliver.b" };
    await copy.create(make({ name: c.id, external }));
    await reaches(copy, { messages: 3 });
    await c.pub("a", "m4");
    await holds(copy, "m4");
    assert.deepEqual(bare(await contents(copy)), bare(await contents(c)));
    if (kind === "mirror") assert.deepEqual((await contents(copy)).map((x) => [x.seq, x.time]), (await contents(c)).map((x) => [x.seq, x.time]));
    else assert.match((await copy.get(1)).hdr, new RegExp(`Nats-Stream-Source: ORIGIN:${hash("from.a")} 1 > > ${c.subject("a")}`));
    // Much of it: flow control has to come through as well.
    for (let i = 0; i < 5000; i++) c.nc.publish(c.subject("b"), `${i} ${"x".repeat(500)}`);
    await c.nc.flush();
    await reaches(c, { last_seq: 5004 });
    await reaches(copy, { messages: 5004, last_seq: 5004 });
    assert.equal((await c.state()).consumer_count, 0);
  });

  scenario(`${kind} through an API that nobody answers: it waits, and INFO tells`, async (t) => {
    const s = await t.server({ config: jetstreamBlock() });
    const { stream } = await onServer(t, s);
    const copy = stream("COPY");
    await copy.create(make({ name: "ORIGIN", external: { api: "$JS.nowhere.API", deliver: "there" } }));
    const o = await told(copy);
    assert.deepEqual([o.name, o.lag, o.active], ["ORIGIN", 0, -1]);
    assert.deepEqual(o.external, { api: "$JS.nowhere.API", deliver: "there" });
    // The server goes on as before, and the stream can be deleted.
    const c = stream("ORIGIN");
    await c.create();
    await c.pub("a", "m1");
    assert.equal((await copy.api("STREAM.DELETE.COPY")).success, true);
  });
}

scenario("the same name in this account and in another: two sources, told apart", async (t) => {
  const config = `accounts {
    A { jetstream: enabled, users: [ {user: a, password: p} ]
        exports: [ {service: "$JS.API.CONSUMER.>", response_type: stream}, {stream: "deliver.b.>"}, {service: "$JS.FC.>"} ] }
    B { jetstream: enabled, users: [ {user: b, password: p} ]
        imports: [ {service: {account: A, subject: "$JS.API.CONSUMER.>"}, to: "from.a.CONSUMER.>"}
                   {stream: {account: A, subject: "deliver.b.>"}}, {service: {account: A, subject: "$JS.FC.>"}} ] }
  }\n`;
  const s = await t.server({ config: config + jetstreamBlock() });
  const a = await onServer(t, s, { user: "a", pass: "p" });
  const b = await onServer(t, s, { user: "b", pass: "p" });
  const [there, here, copy] = [a.stream("ORIGIN"), b.stream("ORIGIN"), b.stream("COPY")];
  for (const [c, word] of [[there, "there"], [here, "here"]]) {
    await c.create();
    for (let i = 1; i <= 3; i++) await c.pub("a", `${word} ${i}`);
  }
  await copy.create({ subjects: undefined, sources: [{ name: "ORIGIN" }, { name: "ORIGIN", external: { api: "from.a", deliver: "deliver.b" } }] });
  await reaches(copy, { messages: 6 });
  assert.deepEqual((await texts(copy)).sort(), ["here 1", "here 2", "here 3", "there 1", "there 2", "there 3"]);
  await until("both to be told", async () => (await copy.info()).sources.every((x) => x.lag === 0 && x.active >= 0));
  assert.deepEqual((await copy.info()).sources.map((x) => x.external?.api ?? "").sort(), ["", "from.a"]);
});
