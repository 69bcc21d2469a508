// wait.mjs: waiting for something to become true, with a deadline; never for time to pass.
import fs from "node:fs";

// For what never comes.  A machine may stall for many seconds, so it is far beyond what anything takes.
export const LIMIT_MS = 60000;

// Milliseconds that this process was awake: deadlines do not run while it and the server are stopped together, as
// on a machine that sleeps.  After two minutes of that, a client that was away for a moment would look lost.
const STEP_MS = 50;
const LATE_MS = 1000; // so late is a busy machine's timer; what is more was sleep
let [awakeMs, asleepMs, stepped] = [0, 0, Date.now()];
function step() {
  const ms = Math.max(0, Date.now() - stepped);
  awakeMs += Math.min(ms, LATE_MS);
  asleepMs += Math.max(0, ms - LATE_MS);
  stepped = Date.now();
}
setInterval(step, STEP_MS).unref();
export function awake() {
  step();
  return awakeMs;
}

// patiently(FN): for requests with a client's own timer, which runs on while we sleep: then FN runs again.
export async function patiently(fn) {
  for (;;) {
    step();
    const before = asleepMs;
    try {
      return await fn();
    } catch (e) {
      step();
      if (e.name !== "TimeoutError" || asleepMs === before) throw e;
    }
  }
}

// until(WHAT, TEST): polls TEST until it returns something true, and returns that.
export async function until(what, test, ms = LIMIT_MS) {
  const end = awake() + ms;
  for (;;) {
    const got = await test();
    if (got) return got;
    if (awake() > end) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await new Promise((r) => setTimeout(r, 5));
  }
}

// within(WHAT, PROMISE): the promise, or an error when it takes too long.
export function within(what, promise, ms = LIMIT_MS) {
  const end = awake() + ms;
  let timer;
  const late = new Promise((_, reject) => {
    const look = () => awake() > end && reject(new Error(`waited ${ms} ms in vain for ${what}`));
    timer = setInterval(look, Math.min(ms, STEP_MS));
  });
  return Promise.race([promise, late]).finally(() => clearInterval(timer));
}

// Milliseconds in which something on this machine waited for a processor or the disk, since its start; 0 where the kernel does not tell.
// Our timers say nothing of a server that was kept waiting while we were served.
export function pressure() {
  const total = (file) => Number(/^some .*total=(\d+)/m.exec(fs.readFileSync(file, "utf8"))?.[1] ?? 0);
  try {
    return (total("/proc/pressure/cpu") + total("/proc/pressure/io")) / 1000;
  } catch {
    return 0;
  }
}

// steadily(FN): for what has to be quick.  A failure says nothing while this machine was the slow one: when a timer of ours came late
// by more than `late` ms meanwhile, or others waited for so long, FN runs again, up to ten times.
export async function steadily(fn, late = 50) {
  for (let left = 10; ; left--) {
    const before = pressure();
    let worst = 0;
    let last = Date.now();
    const look = () => {
      worst = Math.max(worst, Date.now() - last - 10);
      last = Date.now();
    };
    const timer = setInterval(look, 10);
    try {
      return await fn();
    } catch (e) {
      look();
      if (Math.max(worst, pressure() - before) <= late || left === 0) throw e;
    } finally {
      clearInterval(timer);
    }
  }
}
