// steps.mjs: the clock steps forward and nothing else happens: what a reader is told then is final.
//
// No timer fires early by such a step; the first who needs the time finds it.  What has expired by it is swept at once,
// and stays gone when the server is killed and the clock is set back, as soon as anything of the stream is on disk.
import { awake } from "./awake.mjs";
import { pause } from "./server.mjs";
import { wrong } from "./trial.mjs";
import { Wire } from "./wire.mjs";

const HOUR = 3600_000;
const KILLS = 2, TURNS = 4;
const SOON_MS = 500; // half of the time between two looks at the clock
const STEP = { name: "STEP", subjects: ["step.>"], allow_direct: true, allow_msg_ttl: true, subject_delete_marker_ttl: 3600e9, max_msgs_per_subject: 1 };
const TOLD = { name: "TOLD", subjects: ["told.>"], allow_direct: true, allow_msg_ttl: true };

async function put(wire, subject, header) {
  const m = await wire.request(subject, "x", header);
  const a = m === null || m.status ? null : JSON.parse(m.text());
  if (!a || a.error) throw wrong("refused", `${subject}: ${JSON.stringify(a?.error ?? "no answer")}`);
  return a.seq;
}
async function get(wire, stream, subject) {
  const m = await wire.request(`$JS.API.DIRECT.GET.${stream}.${subject}`);
  if (m === null) throw wrong("no-answer", `a get of ${subject}`);
  return m.status || m.header("Nats-Marker-Reason") || m.text();
}

const clockOf = async (wire) => JSON.parse((await wire.request("$MAYFLY.TTL.STATS.STEP")).text()).clock;

// How long its marker takes, in ms, for a message that a step has ended.
async function markerAfter(wire, shim, offset) {
  await put(wire, "step.x", ["Nats-TTL: 3600s"]);
  shim.setClock(offset);
  const from = awake();
  while ((await get(wire, "STEP", "step.x")) !== "MaxAge") {
    if (awake() - from > 20000) throw wrong("marker", "none after a step of the clock");
    await pause(2);
  }
  return awake() - from;
}

// server: it runs, and does nothing else; it is killed and started.  How often it was asked.
export async function steps(server, shim, find) {
  let offset = 0;
  let wire = await Wire.open(server.port, "steps");
  for (const s of [STEP, TOLD]) {
    const made = await wire.api(`STREAM.CREATE.${s.name}`, s);
    if (!made || made.error) throw wrong("refused", `${s.name}: ${JSON.stringify(made?.error ?? "no answer")}`);
  }

  // The first one may be just before a look at the clock, the others are just behind one.
  const took = [], counted = (await clockOf(wire)).steps;
  for (let i = 0; i < TURNS; i++) took.push(await markerAfter(wire, shim, (offset += 2 * HOUR)));
  if (Math.min(...took.slice(1)) > SOON_MS) find("step", `the markers after ${TURNS} steps of the clock took ${took.map(Math.round)} ms`);

  // The server may have looked just before the last step.
  for (const from = awake(); ; await pause(20)) {
    const clock = await clockOf(wire);
    if (clock.steps === counted + TURNS && /^(2h0m0(\.0\d*)?s|1h59m59\.9\d*s)$/.test(clock.last_step)) break;
    if (awake() - from > 20000) throw wrong("clock", `${TURNS} steps of 2 h, after ${counted} others, and STATS has ${JSON.stringify(clock)}`);
  }

  for (let i = 0; i < KILLS; i++) {
    const other = await put(wire, "told.other", null);
    await put(wire, "told.x", ["Nats-TTL: 3600s"]);
    shim.setClock(offset + 2 * HOUR);
    const told = await get(wire, "TOLD", "told.x");
    const r = await wire.api("STREAM.MSG.DELETE.TOLD", { seq: other });
    await server.kill();
    wire.close();
    shim.setClock(offset);
    await server.start();
    wire = await Wire.open(server.port, `steps${i}`);
    const now = await get(wire, "TOLD", "told.x");
    if (told !== 404 || !r?.success || now !== 404) find("step", `a get after the deadline: ${told}; a delete: ${JSON.stringify(r)}; after a kill and a step back: ${now}`);
    offset += 2 * HOUR;
    shim.setClock(offset);
  }
  wire.close();
  shim.setClock(0);
  return TURNS + KILLS;
}
