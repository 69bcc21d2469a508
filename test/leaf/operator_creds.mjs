// operator_creds.mjs: the file that a leaf shows to a hub in operator mode: its forms, and what is wrong with it.
import assert from "node:assert/strict";
import fs from "node:fs";
import { leafz, logged, scenario } from "./lib/setup.mjs";
import { credsLeaf, operatorHub } from "./operator.mjs";

const FORMS = {
  "as tools write it": (u) => u.creds(),
  "CRLF": (u) => u.creds().replaceAll("\n", "\r\n"),
  "without the text between the blocks, and no last line end": (u) =>
    `-----BEGIN NATS USER JWT-----\n${u.jwt}\n------END NATS USER JWT------\n-----BEGIN USER NKEY SEED-----\n${u.key.seed}\n------END USER NKEY SEED------`,
  "other words between the dashes, three of them": (u) => `---x---\n${u.jwt}\n---y---\n---z---\n${u.key.seed}\n---z---\n`,
};
for (const [what, make] of Object.entries(FORMS))
  scenario(`a file ${what}`, { quick: what === "CRLF" }, async (t) => {
    const w = await operatorHub(t);
    await credsLeaf(t, w.s, make(w.a.user()));
    assert.equal((await leafz(w.s)).leafs[0].account, w.a.public);
  });

scenario("no file at the start: the link comes with it", { quick: true }, async (t) => {
  const w = await operatorHub(t);
  const leaf = await credsLeaf(t, w.s, undefined);
  await logged(leaf, /no such file or directory/i);
  fs.writeFileSync(leaf.creds, w.a.user().creds());
  await leafz(w.s);
});

scenario("a file that is none: named in the log without its contents, and the link comes with a good one", { quick: true }, async (t) => {
  const w = await operatorHub(t);
  const secret = w.a.user().key.seed;
  const leaf = await credsLeaf(t, w.s, `${w.a.user().jwt}\n${secret}\n`);
  await logged(leaf, /Credentials file .*malformed|expected a block with a user JWT/);
  assert.ok(!leaf.log().includes(secret) && !leaf.log().includes("eyJ"));
  fs.writeFileSync(leaf.creds, w.a.user().creds());
  await leafz(w.s);
});

scenario("rotation: the next connection shows the new file", { quick: true }, async (t) => {
  const w = await operatorHub(t);
  const [one, two] = [w.a.user("one"), w.a.user("two")];
  const leaf = await credsLeaf(t, w.s, one.creds());
  await leafz(w.s);
  fs.writeFileSync(leaf.creds, two.creds());
  await w.change({ revocations: { [one.public]: Math.floor(Date.now() / 1000) + 1 } });
  await logged(leaf, /Leafnode Error 'User Authentication Revoked'/);
  await leafz(w.s);
  assert.doesNotMatch(leaf.log(), /Authorization Violation/, "the first user is not shown again");
});
