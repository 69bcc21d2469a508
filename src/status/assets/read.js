// read.js: reads pages of this server, again and again, while somebody looks.
//
// A job reads what one part of the page shows.  It rests while the page is hidden or its part is out of sight.  When the
// server does not answer, all jobs stop and one of them knocks until it does.

const PATIENCE_MS = 15000;
const KNOCK_MS = 1000;
const jobs = [];
let away = false;
let tell = () => {};

export const TICK_MS = 1500;

// Pages about all streams cost the server a few microseconds for each: beyond 1,000 streams they are asked for less often.
// A part that is dear for its streams has a greater share; costMs, where a page says what it cost, counts a thousandfold.
let streams = 0;
export const REST_MS = 10000; // between looks for a page that this server does not have
export function noteStreams(n) {
  streams = n;
}
export function pace(share = 1, costMs = 0) {
  return Math.max(TICK_MS, 1.5 * share * streams, 1000 * costMs);
}

// { status, json }; json is undefined for an answer that is none.  Throws when there is no answer.
export async function readPage(path) {
  const answer = await fetch(new URL(path, document.baseURI), { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  const text = await answer.text();
  try {
    return { status: answer.status, json: JSON.parse(text) };
  } catch {
    return { status: answer.status, json: undefined, text };
  }
}

// query({a: 1, b: ""}) is "?a=1": what is empty is left out.
export function query(parts) {
  const given = Object.entries(parts).filter(([, v]) => v !== undefined && v !== "" && v !== false && v !== 0);
  const text = new URLSearchParams(given.map(([k, v]) => [k, v === true ? "1" : String(v)])).toString();
  return text === "" ? "" : `?${text}`;
}

// read() is called every `every()` ms while wanted(), and may be asked for at once with .now().
export function addJob({ read, every = () => pace(), wanted = () => true }) {
  const job = { read, every, wanted, timer: 0, busy: false, again: false };
  job.now = () => runJob(job);
  jobs.push(job);
  return job;
}

async function runJob(job) {
  clearTimeout(job.timer);
  if (job.busy) {
    job.again = true;
    return;
  }
  if (document.hidden || away || !job.wanted()) return;
  job.busy = true;
  try {
    await job.read();
  } catch (e) {
    leave(e);
  }
  job.busy = false;
  if (away) return;
  const pause = job.again ? 0 : job.every();
  job.again = false;
  job.timer = setTimeout(() => runJob(job), pause);
}

function runAll() {
  for (const job of jobs) runJob(job);
}

function leave(error) {
  if (!(error instanceof TypeError || error.name === "TimeoutError" || error.name === "AbortError")) throw error;
  if (away) return;
  away = true;
  tell(true);
  knock();
}

async function knock() {
  if (!document.hidden) {
    try {
      await readPage("healthz");
      away = false;
      tell(false);
      runAll();
      return;
    } catch {
      // still away
    }
  }
  setTimeout(knock, KNOCK_MS);
}

// told(true) when the server is gone, told(false) when it is back.
export function startReading(told) {
  tell = told;
  document.addEventListener("visibilitychange", () => {
    for (const job of jobs) clearTimeout(job.timer);
    if (!document.hidden) runAll();
  });
  runAll();
}
