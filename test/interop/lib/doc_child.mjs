// doc_child.mjs: loaded before a section of a guide (doc_run.mjs): what it prints, and its steps, go to the parent.
import { format } from "node:util";
import "./patience.mjs";

console.log = (...a) => process.send({ printed: format(...a), value: a.length === 1 && typeof a[0] === "object" ? a[0] : undefined });

globalThis.$doc = (step) =>
  new Promise((ok) => {
    process.once("message", ok);
    process.send({ step });
  });
