// edges.mjs: the very nanosecond in which something ends.  The wall clock of the server stands still at a time of our choice:
// its own time follows a step forward at once, and is exactly that when it is asked for the first time after it.
//
// At the end of the window of a message id the id may be used again, and not before; at its deadline a message is gone.
import { nanoseconds } from "../../interop/lib/stamp.mjs";
import { wrong } from "./trial.mjs";

const WINDOW = 200_000_000n; // ns
const TTL = 1_000_000_000n;
const TURNS = 12;
const EDGE = { name: "EDGE", subjects: ["edge.>"], allow_direct: true, allow_msg_ttl: true, duplicate_window: Number(WINDOW) };

// wire: to a server that does nothing else.  How often it was asked.
export async function edges(wire, shim, find) {
  let ids = 0;
  const put = async (header) => {
    const m = await wire.request("edge.x", "x", header);
    const a = m === null || m.status ? null : JSON.parse(m.text());
    if (!a || a.error) throw wrong("refused", `edge.x: ${JSON.stringify(a?.error ?? "no answer")}`);
    return a;
  };
  const timeOf = async (seq) => nanoseconds((await wire.api("STREAM.MSG.GET.EDGE", { seq })).message.time);
  const made = await wire.api("STREAM.CREATE.EDGE", EDGE);
  if (!made || made.error) throw wrong("refused", `EDGE: ${JSON.stringify(made?.error ?? "no answer")}`);

  for (let i = 0; i < TURNS; i++) {
    const id = [`Nats-Msg-Id: edge${++ids}`];
    const first = await put(id);
    const at = await timeOf(first.seq);
    const early = i % 2 ? 1n : 0n; // a nanosecond before the end, or at it
    shim.stopClock(at + WINDOW - early);
    const second = await put(id);
    if (!second.duplicate) {
      const passed = (await timeOf(second.seq)) - at;
      if (passed < WINDOW) find("edge", `an id was taken for new ${passed} ns after it, its window is ${WINDOW}`);
    } else if (early === 0n) find("edge", `an id was taken for known at the end of its window, ${WINDOW} ns after it`);
    shim.stopClock(0n);
  }
  for (let i = 0; i < TURNS; i++) {
    const { seq } = await put([`Nats-TTL: ${TTL / 1_000_000_000n}s`]);
    shim.stopClock((await timeOf(seq)) + TTL);
    const m = await wire.request("$JS.API.DIRECT.GET.EDGE", JSON.stringify({ seq }));
    if (m === null || m.status !== 404) find("edge", `a message is read at its deadline: ${m?.status || m?.text() || "no answer"}`);
    shim.stopClock(0n);
  }
  return 2 * TURNS;
}
