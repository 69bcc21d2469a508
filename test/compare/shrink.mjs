// shrink.mjs: makes a failing history short: fewer operations, fewer fields, plainer values, as long as
// it fails in the same way.

export class Shrinker {
  // fails(HISTORY) resolves to true while the difference is still the same.
  constructor(fails, { tries = 400, ms = 60000 } = {}) {
    this.fails = fails;
    this.tries = tries;
    this.end = Date.now() + ms;
  }

  get spent() {
    return this.tries <= 0 || Date.now() > this.end;
  }

  async try(history) {
    if (this.spent) return false;
    this.tries--;
    return this.fails(history);
  }

  async shrink(history) {
    let best = history;
    for (let before = -1; before !== size(best) && !this.spent; ) {
      before = size(best);
      best = await this.#chunks(best);
      best = await this.#fields(best);
    }
    return best;
  }

  // Leaves out chunks of operations, half of all at first, single ones at last.
  async #chunks(history) {
    let best = history;
    for (let n = Math.ceil(best.ops.length / 2); n >= 1; n = n > 1 ? Math.ceil(n / 2) : 0) {
      for (let at = best.ops.length - n; at > -n && !this.spent; at -= n) {
        const from = Math.max(0, at);
        const ops = [...best.ops.slice(0, from), ...best.ops.slice(at + n)];
        if (ops.length && (await this.try({ ...best, ops }))) best = { ...best, ops };
      }
      if (n === 1) break;
    }
    return best;
  }

  // Leaves out keys of bodies and header lines, and makes data short.
  async #fields(history) {
    let best = history;
    for (let i = 0; i < best.ops.length && !this.spent; i++) {
      for (const change of changes(best.ops[i])) {
        const changed = change(best.ops[i]);
        if (changed === undefined || JSON.stringify(changed) === JSON.stringify(best.ops[i])) continue;
        const ops = best.ops.with?.(i, changed) ?? best.ops.map((o, j) => (j === i ? changed : o));
        if (await this.try({ ...best, ops })) best = { ...best, ops };
      }
    }
    return best;
  }
}

// Ways to make one operation plainer; each is applied to what the former left.
function changes(o) {
  const list = [];
  if (o.hdr) for (const line of o.hdr) list.push((x) => without(x, "hdr", x.hdr?.filter((l) => l !== line)));
  if (o.data) list.push((x) => without(x, "data", undefined), (x) => without(x, "data", x.data && "x"));
  if (o.body !== undefined) list.push((x) => without(x, "body", undefined));
  for (const path of paths(o.body)) list.push((x) => without(x, "body", drop(x.body, path)));
  for (const k of ["config"]) if (o.body?.[k]) for (const p of paths(o.body[k])) list.push((x) => x.body?.[k] && { ...x, body: { ...x.body, [k]: drop(x.body[k], p) } });
  return list;
}

function paths(body) {
  return body && typeof body === "object" && !Array.isArray(body) ? Object.keys(body) : [];
}
function drop(body, key) {
  if (!body || typeof body !== "object") return body;
  const { [key]: _, ...rest } = body;
  return rest;
}
function without(o, key, value) {
  const out = { ...o };
  if (value === undefined || (Array.isArray(value) && !value.length)) delete out[key];
  else out[key] = value;
  return out;
}
function size(history) {
  return JSON.stringify(history.ops).length;
}
