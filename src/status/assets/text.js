// text.js: numbers, sizes and times as people read them.

const whole = new Intl.NumberFormat("en-GB");

// From a million on three digits: 9.66 M, 12 bn.  (A small m would be minutes.)
export function count(n) {
  if (n < 1e6) return whole.format(n);
  const [unit, name] = n < 999.5e6 ? [1e6, "M"] : [1e9, "bn"];
  return `${whole.format(Number((n / unit).toPrecision(3)))} ${name}`;
}

// Operator mode: accounts are keys, and have names beside them.
export function account(x) {
  return x.account_tag ?? x.account ?? "";
}

export function plural(n, word) {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}

// As the tool counts them: a KB is 1024 B.
export function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let i = 0;
  for (; n >= 1023.95 && i < units.length - 1; i++) n /= 1024;
  return `${i === 0 || n >= 99.5 ? Math.round(n) : n.toPrecision(2)} ${units[i]}`;
}

export function rate(perSecond) {
  if (perSecond === undefined) return "…";
  if (perSecond === 0) return "0 /s";
  return `${perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond))} /s`;
}

// The two greatest units: 3 d 4 h, 12 min 5 s.
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  let left = Math.round(ms / 1000);
  const first = units.findIndex(([, s]) => left >= s);
  const parts = [];
  for (const [name, s] of units.slice(first, first + 2)) {
    const n = Math.floor(left / s);
    left -= n * s;
    if (n > 0) parts.push(`${n} ${name}`);
  }
  return parts.join(" ");
}

// Go's durations, as pages have them: 720h0m0s is 30 d.
export function goDuration(text) {
  if (!/^(\d+h)?(\d+m)?(\d+(\.\d+)?s)?$/.test(text) || text === "") return text;
  const [, h = 0, m = 0, s = 0] = text.match(/^(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?$/);
  return duration(((Number(h) * 60 + Number(m)) * 60 + Number(s)) * 1000);
}

export function clock(time, within = 0) {
  const date = new Date(time);
  const hours = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (within <= 86400e3 * 2) return hours;
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${hours}`;
}

// A clock of one moment: with seconds if it is near.
export function moment(time, leftMs) {
  return leftMs < 3600e3 ? new Date(time).toLocaleTimeString("en-GB") : clock(time, leftMs);
}

export function milliseconds(text) {
  return Date.parse(text);
}
