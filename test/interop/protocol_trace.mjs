// protocol_trace.mjs: what -V writes of a dialog, line by line; clients' own tests look for these.
import assert from "node:assert/strict";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const H = "NATS/1.0\r\nA: b\r\n\r\n";

// The trace lines of one connection, from its CONNECT to the marker, without time and place.
async function traced(t, lines, { config = "", connect = {}, end = "PUB end 0" } = {}) {
  const s = await t.server({ config, args: ["-DV"] });
  const r = await t.raw(s);
  r.pings = true;
  r.send(`CONNECT ${JSON.stringify({ verbose: false, protocol: 1, headers: true, ...connect })}`, ...lines, end, "");
  await s.logged(new RegExp(`<<- \\[${end}\\]`));
  const found = s.log().split("\n").map((l) => l.match(/(\[(?:TRC|DBG)\]) 127\.0\.0\.1:\d+ - cid:\d+ - (.*)/)).filter((m) => m);
  const all = found.map((m) => (m[1] === "[TRC]" ? m[2] : `${m[1]} ${m[2]}`)).filter((l) => !/Client connect|\[P[IO]NG\]/.test(l));
  return all.slice(1, all.indexOf(`<<- [${end}]`));
}

scenario("commands are shown as they came, messages with their headers", async (t) => {
  const got = await traced(t, ["SUB  foo   1", "SUB foo q  22", "PUB foo 5", "hello", "PUB   foo   reply  5", "he\tlo", "PUB foo 0", "",
    `HPUB foo ${H.length} ${H.length + 2}`, `${H}hi`, `HPUB foo rep.y ${H.length} ${H.length}`, H]);
  const both = (line, payload) => ["1", "22"].flatMap((sid) => [`->> [${line.replace("SID", sid)}]`, ...(payload === undefined ? [] : [`->> MSG_PAYLOAD: [${payload}]`])]);
  assert.deepEqual(got, ["<<- [SUB foo   1]", "<<- [SUB foo q  22]",
    "<<- [PUB foo 5]", '<<- MSG_PAYLOAD: ["hello"]', ...both("MSG foo SID 5", '"hello"'),
    "<<- [PUB foo   reply  5]", '<<- MSG_PAYLOAD: ["he\\tlo"]', ...both("MSG foo SID reply 5", '"he\\tlo"'),
    "<<- [PUB foo 0]", ...both("MSG foo SID 0"),
    "<<- [HPUB foo 18 20]", '<<- MSG_PAYLOAD: ["NATS/1.0\\r\\nA: b\\r\\n\\r\\nhi"]', ...both("HMSG foo SID 18 20", '"NATS/1.0\\r\\nA: b\\r\\n\\r\\nhi"'),
    "<<- [HPUB foo rep.y 18 18]", '<<- MSG_PAYLOAD: ["NATS/1.0\\r\\nA: b\\r\\n\\r\\n"]', ...both("HMSG foo SID rep.y 18 18", '"NATS/1.0\\r\\nA: b\\r\\n\\r\\n"')]);
});

scenario("a subscription that ends is shown, whoever ended it", async (t) => {
  const got = await traced(t, ["SUB a 1", "SUB a 2", "UNSUB 1", "UNSUB 2 1", "PUB a 1", "x", "UNSUB 77", "SUB b 3", "UNSUB 3 0"]);
  assert.deepEqual(got, ["<<- [SUB a 1]", "<<- [SUB a 2]", "<<- [UNSUB 1]", "<-> [DELSUB 1]", "<<- [UNSUB 2 1]",
    "<<- [PUB a 1]", '<<- MSG_PAYLOAD: ["x"]', "[DBG] Auto-unsubscribe limit of 1 reached for sid '2'", "->> [MSG a 2 1]", '->> MSG_PAYLOAD: ["x"]', "<-> [DELSUB 2]",
    "<<- [UNSUB 77]", "<<- [SUB b 3]", "<<- [UNSUB 3 0]", "<-> [DELSUB 3]"]);
});

scenario("subscriptions of a client that leaves are shown", async (t) => {
  const s = await t.server({ args: ["-DV"] });
  const r = await t.raw(s);
  r.send('CONNECT {"verbose":false}', "SUB a 1", "SUB b 2");
  await r.ping();
  r.close();
  for (const sid of ["1", "2"]) await s.logged(new RegExp(`<-> \\[DELSUB ${sid}\\]`));
});

scenario("verbose and pedantic answers are shown", async (t) => {
  const got = await traced(t, ["SUB a 1", "PUB a 1", "x", "PUB a.* 1", "y"], { connect: { verbose: true, pedantic: true } });
  assert.deepEqual(got, ["->> [OK]", "<<- [SUB a 1]", "->> [OK]", "<<- [PUB a 1]", '<<- MSG_PAYLOAD: ["x"]', "->> [OK]", "->> [MSG a 1 1]", '->> MSG_PAYLOAD: ["x"]',
    "<<- [PUB a.* 1]", "->> [-ERR Invalid Publish Subject]", '<<- MSG_PAYLOAD: ["y"]', "->> [OK]"]);
});

scenario("bytes are quoted as Go quotes them, and cut where the configuration says so", async (t) => {
  const bytes = '\x00\xffa\x1b"\\\xc3\xa9\xc2\xa0';
  const [, raw] = await traced(t, ["PUB a 10", bytes]);
  assert.equal(raw, '<<- MSG_PAYLOAD: ["\\x00\\xffa\\x1b\\"\\\\é\\u00a0"]');
  const [, cut] = await traced(t, ["PUB a 12", "hello\r\nworld"], { config: "max_traced_msg_len: 10" });
  assert.equal(cut, '<<- MSG_PAYLOAD: ["hello\\r\\nwor..."]');
  const heads = await traced(t, [`HPUB a ${H.length} ${H.length + 2}`, `${H}hi`, "PUB a 2", "no"], { config: "trace_headers: true" });
  assert.deepEqual(heads, ["<<- [HPUB a 18 20]", '<<- MSG_PAYLOAD: ["NATS/1.0\\r\\nA: b"]', "<<- [PUB a 2]"]);
});

scenario("CONNECT is shown without its secrets, and the label tells who it is", async (t) => {
  const s = await t.server({ args: ["-DV"], config: "accounts { A { users: [{user: a, password: hush}] } }\nno_auth_user: a" });
  const who = async (connect, label) => {
    const r = await t.raw(s);
    const text = JSON.stringify(connect);
    r.send(`CONNECT ${text}`, "SUB x 1");
    await r.ping();
    r.close();
    const cid = r.info.client_id;
    const at = (what) => new RegExp(`cid:${cid} - (.*?)(?: - )?<<- \\[${what} ?(.*)\\]`);
    const [, , shown] = await s.logged(at("CONNECT"));
    assert.equal(shown, text.replaceAll(/"(hush|shh)"/g, '"[REDACTED]"'));
    assert.equal((await s.logged(at("SUB")))[1], label);
  };
  await who({ verbose: false }, '"A/user:a"');
  await who({ verbose: false, name: "n" }, '"n" - "A/user:a"');
  await who({ verbose: false, user: "a", pass: "hush", name: "n", lang: "go", version: "1.2" }, '"v1.2:go:n" - "A/user:a"');
  await who({ verbose: false, user: "a", pass: "hush", auth_token: "shh", sig: "shh", lang: "go", name: 'q"' }, '"go:q\\"" - "A/user:a"');
  await who({ verbose: false, version: "1" }, '"v1" - "A/user:a"');
  assert.doesNotMatch(s.log(), /hush|shh/);
  if (!isMayfly) return;
  // JSON that clients do not write is not shown at all
  for (const text of ['{"verbose":false,"p\\u0061ss":"hush","user":"a"}', '{"verbose":false,"pass":"hu\\"sh","user":"a","jwt":"hush"}']) {
    const r = await t.raw(s);
    r.send(`CONNECT ${text}`);
    await until("its line", () => s.log().split(`cid:${r.info.client_id} - <<- [CONNECT`).length > 1);
  }
  assert.doesNotMatch(s.log(), /hush|hu\\"sh/);
});
