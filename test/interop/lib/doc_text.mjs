// doc_text.mjs: printed lines beside lines that a page shows.  What depends on the moment is compared in kind, the rest word by word.
//
//   ...         within a line: any words; alone on a line: any lines
//   times, sizes, shares, rates, numbers with a fraction   of the same kind
//   durations   equal to a twentieth and ten seconds: between two commands a busy machine may take that long
//   bars        are skipped; blanks between words count as one

// eslint-disable-next-line no-control-regex
const COLOUR = /\x1b\[[0-9;?]*[A-Za-z]/g;
const BARS = /[▁▂▃▄▅▆▇█▉▊▋▌▍▎▏░▒▓]+/g;
const KINDS = [
  ["time", /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?Z?/],
  ["clock", /^\d\d:\d\d(:\d\d(\.\d+)?)?Z?(?![\d:])/],
  ["share", /^\d+(\.\d+)? ?%/],
  ["rate", /^\d[\d,]*(\.\d+)? ?[KMGT]?i?B?\/s\b/],
  ["size", /^\d[\d,]*(\.\d+)? ?([KMGT]i?B|[KMGTB])(?![\w/])/],
  ["duration", /^(\d+(\.\d+)? ?(ns|us|µs|ms|s|m|h|d)(?![A-Za-z/]))+/],
  ["fraction", /^\d[\d,]*\.\d+(?![\w.])/],
  ["rest", /^\.\.\./],
  ["word", /^([A-Za-z_$][\w$-]*|\d+(,\d{3})*|[^\s])/],
];
const UNITS = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86400 };
const seconds = (text) => [...text.matchAll(/(\d+(?:\.\d+)?) ?(ns|us|µs|ms|s|m|h|d)/g)].reduce((n, [, v, u]) => n + v * UNITS[u], 0);

function words(line) {
  const out = [];
  let rest = line.replace(BARS, " ").trim();
  while (rest !== "") {
    for (const [kind, form] of KINDS) {
      const m = form.exec(rest);
      if (!m) continue;
      out.push({ kind, text: m[0] });
      rest = rest.slice(m[0].length).trimStart();
      break;
    }
  }
  return out;
}

function sameWord(want, real) {
  if (want.kind !== real.kind) return false;
  if (want.kind === "word") return want.text === real.text;
  if (want.kind !== "duration") return true;
  const [w, r] = [seconds(want.text), seconds(real.text)];
  return Math.abs(w - r) <= 10 + w / 20;
}

// A list matches another, where isRest(x) stands for any run.
function sameList(want, real, isRest, same, i = 0, k = 0) {
  for (; i < want.length; i++, k++) {
    if (isRest(want[i])) {
      for (let to = k; to <= real.length; to++) if (sameList(want, real, isRest, same, i + 1, to)) return true;
      return false;
    }
    if (k >= real.length || !same(want[i], real[k])) return false;
  }
  return k === real.length;
}

const isRestLine = (l) => l.length === 1 && l[0].kind === "rest";
const sameLine = (w, r) => sameList(w, r, (x) => x.kind === "rest", sameWord);
const lines = (text) => text.replace(COLOUR, "").split(/\r?\n/).map(words).filter((l) => l.length > 0);

export const sameLines = (want, real) => sameList(lines(want), lines(real), isRestLine, sameLine);
