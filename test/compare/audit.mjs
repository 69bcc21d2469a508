// audit.mjs: what a server tells of requests to its API ($JS.EVENT.ADVISORY.API), where a history listens.
// The response told must be, byte for byte, what the one who asked got; then it stands for that answer, which is
// compared by itself.  Else it is compared as it came.
import { advisories } from "./normalise.mjs";

export const AUDIT = "$JS.EVENT.ADVISORY.API";
// Ends what the tester itself asks, as often as it takes: nothing to a server, and told nobody's business.
export const OWN = "\n";

// Requests hold whatever bytes were sent: what is no UTF-8 is told as U+FFFD, in whichever way that is written.
const text = (bytes) => Buffer.from(bytes, "latin1").toString();

const parse = (m) => {
  try {
    return JSON.parse(text(m.data));
  } catch {
    return undefined;
  }
};

// How many of these tell of the history's own requests.
export const told = (side) => side.audits.filter((m) => !parse(m)?.request?.endsWith(OWN)).length;

// Everything that was told since the last look; side.asked: [{subject, body, list of answers}].
export function audits(side) {
  const list = side.audits.splice(0).filter((m) => !parse(m)?.request?.endsWith(OWN));
  return advisories(
    list.map((m) => {
      const a = parse(m);
      if (!a) return m;
      const was = side.asked.find((x) => x.subject === a.subject && text(x.body) === (a.request ?? "") && x.list[0] && text(x.list[0].data) === a.response);
      if (was) a.response = "<as answered>";
      if (was?.own) a.request = "<as asked>"; // it holds moments of this server's
      a.subject = side.normaliser.reply(a.subject);
      if (a.request) a.request = side.normaliser.sentence(a.request);
      return { ...m, data: JSON.stringify(a) };
    }),
    side.normaliser,
  );
}
