// wait.mjs: waiting for something to become true, with a deadline; never for time to pass.

// For what never comes.  A machine may stall for many seconds, so it is far beyond what anything takes.
export const LIMIT_MS = 60000;

// until(WHAT, TEST): polls TEST until it returns something true, and returns that.
export async function until(what, test, ms = LIMIT_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const got = await test();
    if (got) return got;
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await new Promise((r) => setTimeout(r, 5));
  }
}

// within(WHAT, PROMISE): the promise, or an error when it takes too long.
export function within(what, promise, ms = LIMIT_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms in vain for ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// steadily(FN): for what has to be quick.  A failure says nothing while this machine was the slow one:
// when a timer of ours came late by more than `late` ms meanwhile, FN runs again, up to ten times.
export async function steadily(fn, late = 50) {
  for (let left = 10; ; left--) {
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
      if (worst <= late || left === 0) throw e;
    } finally {
      clearInterval(timer);
    }
  }
}
