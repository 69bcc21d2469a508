// health.js: whether the server is well, in words, and the line of facts at the top.
import { addJob, readPage } from "./read.js";
import { byId, make, setText } from "./dom.js";
import { plural } from "./text.js";

let shown = "";

// A change is announced to screen readers, so nothing is written that did not change.
function showHealth(kind, title, problems = []) {
  const now = [kind, title, ...problems].join("\n");
  if (now === shown) return;
  shown = now;
  const box = byId("health");
  box.className = `health ${kind}`;
  box.replaceChildren(make("strong", {}, title));
  if (problems.length > 0) box.append(make("ul", {}, ...problems.map((p) => make("li", {}, p))));
}

function describeProblem(e) {
  const where = [e.account, e.stream, e.consumer].filter(Boolean).join(" › ");
  return where === "" || String(e.error).includes(e.stream ?? e.account) ? e.error : `${where}: ${e.error}`;
}

async function readHealth() {
  const { status, json } = await readPage("healthz?details=1");
  if (status === 200 && json?.status === "ok") {
    showHealth("good", "Healthy: all streams are served");
    return;
  }
  const problems = (json?.errors ?? []).map(describeProblem);
  if (problems.length === 0) problems.push(json?.error ?? `/healthz answers ${status}`);
  const more = problems.length - 5;
  const list = problems.slice(0, 5);
  if (more > 0) list.push(`and ${plural(more, "other problem")}: see /healthz?details=1`);
  showHealth("bad", problems.length === 1 ? "Unhealthy: one problem" : `Unhealthy: ${plural(problems.length, "problem")}`, list);
}

export function showAway(isAway) {
  document.body.classList.toggle("stale", isAway);
  if (isAway) showHealth("away", "The server does not answer. The figures below are the last ones; this page asks again each second.");
}

export function showServer(varz) {
  setText(byId("server-name"), varz.server_name);
  const parts = [`mayflyd ${varz.mayfly ?? ""}`.trim(), `NATS ${varz.version}`, `up ${varz.uptime}`];
  setText(byId("server-facts"), parts.join(" · "));
  const title = `${varz.server_name} · Mayfly`;
  if (document.title !== title) document.title = title;
}

export function addHealth() {
  addJob({ read: readHealth });
}
