// wait.mjs: waiting for something to become true, with a deadline; never for time to pass.

// until(WHAT, TEST): polls TEST until it returns something true, and returns that.
export async function until(what, test, ms = 10000) {
  const end = Date.now() + ms;
  for (;;) {
    const got = await test();
    if (got) return got;
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await new Promise((r) => setTimeout(r, 5));
  }
}

// within(WHAT, PROMISE): the promise, or an error when it takes too long.
export function within(what, promise, ms = 10000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms in vain for ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
