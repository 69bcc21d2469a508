// hostile.mjs: requests that nobody sends in earnest: huge, deep, broken, or with odd bytes.  Each is
// answered, by the same error as nats-server's where there is one, and the server lives on.
import assert from "node:assert/strict";
import { dice } from "./lib/dice.mjs";
import { group, onServer, ownServer, restore } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();
const TYPE = "io.nats.jetstream.api.v1.";
const OPS = ["CREATE", "UPDATE", "INFO", "DELETE", "PURGE", "MSG.GET", "MSG.DELETE", "SNAPSHOT", "RESTORE"];

// The answer to a request of any bytes: "ok", or its error in one line.
async function ask(c, op, body) {
  const m = await c.nc.request(`$JS.API.${op}`, body, { timeout: LIMIT_MS });
  const r = JSON.parse(m.string());
  assert.ok(r.type?.startsWith(TYPE), m.string().slice(0, 200));
  return r.error ? `${r.error.err_code} ${r.error.description}` : "ok";
}
const nested = (open, close, n) => open.repeat(n) + close.repeat(n);
// Nothing was made, and the server still makes what is asked for in earnest.
async function unharmed(c) {
  assert.equal((await c.info()).error?.err_code, 10059);
  await c.create();
  assert.equal(await c.pub("a", "x"), 1);
}

// --- huge documents ------------------------------------------------------------------------------------------------

check("nested too deep, by nine hundred kilobytes, in every request", async (c) => {
  const texts = { arrays: nested("[", "]", 450_000), open: "[".repeat(900_000), objects: '{"a":'.repeat(150_000) + "1" + "}".repeat(150_000) };
  const at = { arrays: 10001, open: 10001, objects: 50001 };
  for (const [what, text] of Object.entries(texts))
    for (const op of ["STREAM.NAMES", ...(what === "open" ? OPS : ["CREATE"]).map((o) => `STREAM.${o}.${c.id}`)]) {
      const said = await ask(c, op, text);
      if (op.startsWith("STREAM.DELETE")) assert.equal(said, "10038 expected an empty request payload");
      else if (op.startsWith("STREAM.SNAPSHOT")) assert.match(said, /^100(25|59) /);
      else assert.equal(said, `10025 invalid JSON: exceeded max depth at offset ${at[what]}`, `${op} ${what}`);
    }
  await unharmed(c);
});

check("the last depth that is read is ten thousand", async (c) => {
  const config = (n) => `{"name":"${c.id}","subjects":${nested("[", "]", n)}}`;
  assert.match(await ask(c, `STREAM.CREATE.${c.id}`, config(9999)), /^10025 invalid JSON: json: cannot unmarshal array/);
  assert.match(await ask(c, `STREAM.CREATE.${c.id}`, config(10000)), /^10025 invalid JSON: exceeded max depth/);
  assert.match(await ask(c, `STREAM.CREATE.${c.id}`, `{"name":"${c.id}","metadata":${'{"a":'.repeat(9000)}1${"}".repeat(9000)}}`), /^10025 /);
  await unharmed(c);
});

check("values without end", async (c) => {
  const create = (more) => ask(c, `STREAM.CREATE.${c.id}`, `{"name":"${c.id}",${more}}`);
  assert.match(await create(`"max_msgs":${"1".repeat(900_000)}`), /^10025 invalid JSON: json: cannot unmarshal number 111/);
  assert.match(await create(`"max_msgs":1.${"1".repeat(900_000)}`), /^10025 invalid JSON: json: cannot unmarshal number 1\.11/);
  assert.match(await create(`"max_msgs":1e${"9".repeat(900_000)}`), /^10025 /);
  assert.match(await create(`"description":"${"\\u0000".repeat(150_000)}"`), /^10052 stream description is too long/);
  assert.match(await create(`"${"k".repeat(900_000)}":1`), /^10025 invalid JSON: json: unknown field "kkk/);
  assert.match(await create(`"retention":"${"k".repeat(900_000)}"`), /^10025 invalid JSON: can not unmarshal "\\"kkk/);
  assert.match(await create(`"metadata":{${Array.from({ length: 60_000 }, (_, i) => `"k${i}":""`).join(",")}}`), /^10052 stream metadata exceeds/);
  assert.match(await create(`"subjects":["${"a.".repeat(5000)}","${"b".repeat(60_000)}"]`), /^10052 invalid subject$/);
  assert.match(await create(`"subjects":["${"a.".repeat(5000)}","${"b".repeat(400_000)}"]`), isMayfly ? /^10052 subject is too long, maximum allowed is 65535$/ : /^10052 invalid subject$/);
  for (const big of ["9223372036854775808", "-9223372036854775809", "1e3", "1.0", "1e-9"])
    assert.match(await create(`"max_msgs":${big}`), /^10025 invalid JSON: json: cannot unmarshal number/, big);
  assert.match(await create('"max_msg_size":2147483648'), /^10025 /);
  assert.match(await create('"first_seq":18446744073709551616'), /^10025 /);
  await unharmed(c);
});

check("one document after the other, blanks, members twice: the last one counts", async (c) => {
  const one = `{"name":"${c.id}","subjects":["${c.prefix}.>"],"max_msgs":`;
  assert.equal(await ask(c, `STREAM.CREATE.${c.id}`, " \t\r\n".repeat(100_000) + `${one}1}`.repeat(5000) + `${one}3,"max_msgs":7}` + " ".repeat(1000)), "ok");
  assert.equal((await c.info()).config.max_msgs, 7);
  assert.match(await ask(c, `STREAM.CREATE.${c.id}`, `${one}7} x`), /^10025 invalid JSON: invalid character 'x' looking for beginning of value/);
});

// nats-server compares each subject with each: five hundred are enough for it.
check("a stream of eight thousand subjects", async (c) => {
  const n = isMayfly ? 8000 : 500;
  const subjects = Array.from({ length: n }, (_, i) => `h${i.toString(36)}`);
  await c.create({ subjects });
  assert.equal((await c.info()).config.subjects.length, n);
  const last = subjects.at(-1);
  assert.equal((await c.nc.request(last, "x", { timeout: LIMIT_MS })).json().seq, 1);
  assert.deepEqual((await c.api("STREAM.NAMES", { subject: last })).streams, [c.id]);
  await c.another().refusedConfig({ subjects: ["free.to.use", last] }, [400, 10065, "subjects overlap with an existing stream"]);
  await c.refusedConfig({ subjects: [...subjects.slice(1), last] }, [500, 10052, `subject "${last}" overlaps with "${last}"`]);
  await c.update({ subjects: subjects.slice(1) });
  await c.another().create({ subjects: [subjects[0]] });
  assert.equal((await c.api(`STREAM.DELETE.${c.id}`)).success, true);
});

check("a stream of ninety thousand subjects is refused at once", { only: "mayfly" }, async (c) => {
  const subjects = Array.from({ length: 90_000 }, (_, i) => `h${i.toString(36)}`);
  await c.refusedConfig({ subjects }, [500, 10052, "maximum number of subjects is 8000"]);
  await unharmed(c);
});

check("subjects of thirty thousand tokens", async (c) => {
  const deep = "a.".repeat(isMayfly ? 30_000 : 1000) + "a";
  await c.create({ subjects: [`${c.prefix}.${deep}`] });
  assert.equal(await ask(c, "STREAM.NAMES", JSON.stringify({ subject: deep })), "ok");
  assert.equal(await ask(c, "STREAM.NAMES", JSON.stringify({ subject: "*." + deep })), "ok");
  assert.equal(await ask(c, `STREAM.PURGE.${c.id}`, JSON.stringify({ filter: deep })), "ok");
  assert.match(await ask(c, `STREAM.MSG.GET.${c.id}`, JSON.stringify({ last_by_subj: deep })), /^10037 /);
});

// --- broken documents ------------------------------------------------------------------------------------------------

check("what is no JSON, and what is no object", async (c) => {
  const create = (text) => ask(c, `STREAM.CREATE.${c.id}`, Buffer.from(text, "latin1"));
  for (const text of ["5", '"x"', "true", "[]", "[{}]"]) assert.match(await create(text), /^10025 invalid JSON: json: cannot unmarshal/, text);
  for (const text of ["null", '{"name":null}', "{}", ""]) assert.equal(await create(text), "10056 stream name in subject does not match request");
  for (const text of ["{", '{"name"', '{"name":"S', '{"name":"S\\', '{"name":"\\u12', "nul", "tru", "-"]) assert.match(await create(text), /^10025 invalid JSON: unexpected EOF/, text);
  for (const text of ['{"name":"S\0"}', '{"name":"a\nb"}', '{"name":"a\tb"}', "{'name':1}", '{"name":01}', '{"a":+1}', '{"name":"\\x"}', '{"name":"\\u12G4"}', '{"name":"S",}', "{,}", "\xef\xbb\xbf{}", "\0", "\xff", "NaN"])
    assert.match(await create(text), /^10025 invalid JSON: invalid (character|escape) /, JSON.stringify(text));
  await unharmed(c);
});

// Bytes that are no UTF-8 become U+FFFD, so that every answer is a document again.
check("bytes that are no UTF-8, and halves of surrogates", async (c) => {
  const text = `{"name":"${c.id}","subjects":["${c.prefix}.>"],"description":"\xff\xfe<&>\\ud800\\u2028","metadata":{"\xc3":"\xe2\x82"}}`;
  assert.equal(await ask(c, `STREAM.CREATE.${c.id}`, Buffer.from(text, "latin1")), "ok");
  const { config } = await c.info();
  assert.equal(config.description, "\ufffd\ufffd<&>\ufffd\u2028");
  assert.match(config.metadata["\ufffd"], /^\ufffd+$/);
});

check("two thousand damaged requests", async (c) => {
  const two = c.another();
  await two.create();
  const next = dice(7);
  const bodies = [
    JSON.stringify(two.config({ max_age: 1e9, metadata: { a: "b" }, republish: { src: ">", dest: "out.>" }, placement: { tags: ["x"] } })),
    '{"seq":1,"last_by_subj":"a","no_hdr":true}', '{"filter":"a.*","keep":5}', '{"deliver_subject":"d","chunk_size":5}', '{"subjects_filter":">","offset":1}',
  ];
  const damage = (text) => {
    const b = Buffer.from(text);
    for (let i = next(4); i >= 0; i--) b[next(b.length)] = next(3) ? '{}[]",:\\u0e-.1\0'.charCodeAt(next(15)) : next(256);
    return b.subarray(0, next(5) ? b.length : next(b.length));
  };
  const ops = ["CREATE", "UPDATE", "INFO", "PURGE", "MSG.GET", "MSG.DELETE"].map((o) => `STREAM.${o}.${two.id}`).concat("STREAM.NAMES", "STREAM.LIST");
  for (let i = 0; i < 20; i++)
    await Promise.all(Array.from({ length: 100 }, () => ask(c, ops[next(ops.length)], damage(bodies[next(bodies.length)]))));
  await unharmed(c);
});

check("a restore of damaged snapshots", async (c) => {
  const next = dice(11);
  const config = { name: c.id, subjects: [`${c.prefix}.>`] };
  for (let i = 0; i < 20; i++) {
    const bytes = Buffer.from(Array.from({ length: 1 + next(3000) }, () => next(256)));
    if (next(2)) bytes.write("\xff\x06\0\0S2sTwO", "latin1");
    const r = await restore(c, { config, state: {}, bytes });
    assert.ok([10062, 10037].includes(r.error?.err_code), JSON.stringify(r));
  }
  await unharmed(c);
});

// --- odd names ---------------------------------------------------------------------------------------------------------

const NAMES = [
  "\u00fcn\u00ef", "\u{1f600}", 'q"q', "a&b", "%s%n%d", "a\u0001b", "a\u007fb", "$x", "-rf", "~", "_", "CON", "a:b", "a|b", "a'b", "`id`", "$(id)", "a?b", "a#b",
  "\u00a0", "\u202e", "a,b;c", "{}", "[0]", "=", "+", "@", "^", "!", "n".repeat(255), "\u00e9".repeat(127), "js", "streams", "lock", "meta",
];

scenario("streams of any name live through a restart", async (t) => {
  const { s, nc, stream } = await ownServer(t);
  for (const [i, name] of NAMES.entries()) {
    const c = stream(name);
    c.prefix = `p${i}`;
    await c.create();
    const ack = await c.send("a", name);
    assert.match(ack, /"seq":1\}$/, name);
    if (isMayfly) assert.equal(JSON.parse(ack).stream, name); // nats-server writes the name as it is
  }
  const all = async (c) => (await c.api("STREAM.NAMES")).streams;
  const names = await all(stream("x"));
  assert.deepEqual([...names].sort(), [...NAMES].sort());
  await nc.close();
  await s.restart();
  const again = (await onServer(t, s)).stream;
  assert.deepEqual(await all(again("x")), names);
  for (const name of NAMES) {
    const c = again(name);
    assert.equal(Buffer.from((await c.get(1)).data, "latin1").toString(), name);
    assert.equal((await c.api(`STREAM.DELETE.${name}`)).success, true);
  }
  assert.equal(await all(again("x")), null);
});

check("names that no stream may have", async (c) => {
  const create = (name) => ask(c, `STREAM.CREATE.${name}`, JSON.stringify({ name }));
  for (const name of ["n".repeat(256), "\u00e9".repeat(128), "\u{1f600}".repeat(64)]) assert.equal(await create(name), "10052 stream name is too long, maximum allowed is 255");
  assert.match(await create("a\fb"), /^10052 stream name is required and can not contain/);
  for (const name of ["a/b", "/", "a\\b", "\\"]) assert.equal(await create(name), "10128 Stream name can not contain path separators");
  assert.match(await create("a\0b"), isMayfly ? /^10056 / : /^10049 /); // no file can have that name
  await assert.rejects(create(".."), /no responders/);
  assert.equal((await c.api("STREAM.NAMES", { subject: "a" })).streams, null);
});

check("subjects with odd bytes are stored and listed", async (c) => {
  await c.create();
  const subjects = ["\u00fc", "\u{1f600}.x", 'q"q', "<&>", "\\", "a\u0001b", "%s%n", "{}", "$x", "x".repeat(3000), "y.".repeat(1000) + "y"];
  if (isMayfly) subjects.push("\u007f"); // nats-server loses sight of that one
  for (const [i, name] of subjects.entries()) assert.equal(await c.pub(name, String(i)), i + 1, name);
  const st = await c.state({ subjects_filter: ">" });
  assert.deepEqual(Object.keys(st.subjects).sort(), subjects.map((x) => c.subject(x)).sort());
  for (const [i, name] of subjects.entries()) {
    assert.equal((await c.last(name)).seq, i + 1, name);
    assert.equal((await c.direct(name)).data, String(i));
    assert.equal((await c.purge({ filter: c.subject(name) })).purged, 1);
  }
});

scenario("subjects and headers that are no UTF-8 make no broken documents", async (t) => {
  const { s, stream } = await ownServer(t);
  const c = stream("RAW");
  await c.create();
  const raw = await (await t.raw(s)).connect({ headers: true });
  raw.send("SUB in 1");
  const hdr = "NATS/1.0\r\n\xff: \xfe\r\n\r\n";
  raw.sendBytes(`HPUB raw.\xff\xfe in ${hdr.length} ${hdr.length + 2}\r\n${hdr}\x80\x81\r\n`);
  await raw.expect(/MSG in 1 \d+\r\n\{"stream":"RAW","seq":1\}\r\n/);
  assert.deepEqual((await c.state({ subjects_filter: ">" })).subjects, { "raw.\ufffd\ufffd": 1 });
  const m = await c.get(1);
  assert.deepEqual([m.subject, m.hdr, m.data], ["raw.\ufffd\ufffd", hdr, "\x80\x81"]);
});

// --- many --------------------------------------------------------------------------------------------------------------

check("five thousand requests at once", async (c) => {
  let answers = 0;
  const inbox = `flood.${c.id}`;
  c.nc.subscribe(inbox, { callback: () => answers++ });
  for (let i = 0; i < 5000; i++) c.nc.publish(`$JS.API.STREAM.${["INFO", "MSG.GET", "PURGE", "CREATE"][i % 4]}.${c.id}`, "{", { reply: inbox });
  // nats-server drops what it cannot keep up with; Mayfly reads no faster than it answers.
  if (isMayfly) await until("all answers", () => answers === 5000);
  await until("an answer", async () => {
    await c.nc.flush();
    return answers > 0;
  });
  await unharmed(c);
});
