// awake.mjs: time without the moments in which everything stood still: a laptop that slept, a virtual machine or a group of
// processes that was paused.  Deadlines of trials go by it: who could not answer is not late.
import { performance } from "node:perf_hooks";

// For what never comes.  A machine may stall for many seconds, so it is far beyond what anything takes.
export const LIMIT_MS = 60000;

const GAP_MS = 3000; // nothing here is busy for so long that no timer runs
let last = performance.now(), lost = 0;

function tick() {
  const now = performance.now();
  if (now - last > GAP_MS) lost += now - last;
  last = now;
}
setInterval(tick, 200).unref();

// Milliseconds, for differences.
export function awake() {
  tick();
  return last - lost;
}

// fn() when `ms` have passed awake; what is returned ends it before.
export function after(ms, fn) {
  const end = awake() + ms;
  let timer;
  const look = () => {
    const left = end - awake();
    if (left <= 0) fn();
    else timer = setTimeout(look, left);
  };
  timer = setTimeout(look, ms);
  return () => clearTimeout(timer);
}
