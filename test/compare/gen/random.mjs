// random.mjs: numbers that a seed repeats.
export class Random {
  constructor(seed) {
    this.state = hash(String(seed));
  }
  // 32 bits (splitmix32).
  next() {
    this.state = (this.state + 0x9e3779b9) | 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }
  below(n) {
    return this.next() % n;
  }
  between(a, b) {
    return a + this.below(b - a + 1);
  }
  // p: per hundred.
  chance(p) {
    return this.below(10000) < p * 100;
  }
  pick(list) {
    return list[this.below(list.length)];
  }
  // weighted({name: weight}): a name.
  weighted(table) {
    let sum = 0;
    for (const k in table) sum += table[k];
    let at = this.below(sum);
    for (const k in table) if ((at -= table[k]) < 0) return k;
    return undefined;
  }
}

function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h | 0;
}
