// dice.mjs: random numbers by seed, so that a run can be repeated.

// roll(n) is 0..n-1.
export function dice(seed) {
  let x = seed >>> 0;
  return (n) => {
    x = (x + 0x6d2b79f5) >>> 0;
    let y = Math.imul(x ^ (x >>> 15), 1 | x);
    y ^= y + Math.imul(y ^ (y >>> 7), 61 | y);
    return ((y ^ (y >>> 14)) >>> 0) % n;
  };
}
