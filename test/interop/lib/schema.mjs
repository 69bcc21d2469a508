// schema.mjs: checks answers against the published JSON schemas, where they are at hand: the part of
// draft-07 that those schemas use.
import fs from "node:fs";
import path from "node:path";

const shared = process.env.MAYFLY_SHARED ?? "";
const folder = path.join(shared, "data/schemas");

// The schemas are not part of the project; without them only their own scenarios have less to say.
export const haveSchemas = shared !== "" && fs.existsSync(folder);
export const withoutSchemas = `not compared with the JSON schemas: no folder MAYFLY_SHARED=${shared}`;

// The published table of errors, or undefined.
export function errorTable() {
  const file = path.join(shared, "data/jetstream-errors.json");
  return shared !== "" && fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
}

const loaded = new Map();

// "io.nats.jetstream.api.v1.stream_info_response" is api/v1/stream_info_response.json.
export function schemaOf(type) {
  if (!loaded.has(type)) {
    const [, kind, version, name] = /^io\.nats\.jetstream\.(\w+)\.(v\d+)\.(\w+)$/.exec(type) ?? [];
    const file = path.join(folder, `${kind}/${version}/${name}.json`);
    loaded.set(type, fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : null);
  }
  return loaded.get(type);
}

// What is wrong with VALUE, one line each; an empty list: nothing.
export function faults(value, schema, at = "") {
  const out = [];
  for (const [word, rule] of Object.entries(schema)) {
    const test = words[word];
    if (test === undefined) throw new Error(`${at}: unknown word "${word}" in a schema`);
    const said = test?.(value, rule, at, schema) ?? [];
    out.push(...(typeof said === "string" ? [`${at || "/"}: ${said}`] : said));
  }
  return out;
}

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
const types = {
  object: isObject,
  array: Array.isArray,
  string: (v) => typeof v === "string",
  boolean: (v) => typeof v === "boolean",
  number: (v) => typeof v === "number",
  integer: Number.isInteger,
  null: (v) => v === null,
};
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

// null: says nothing about the value.
const words = {
  $schema: null, $id: null, $comment: null, title: null, description: null, default: null, deprecationMessage: null, missing: null,
  type: (v, rule) => ([rule].flat().some((t) => types[t](v)) ? [] : `is not of type ${rule}: ${JSON.stringify(v)}`),
  const: (v, rule) => (v === rule ? [] : `is ${JSON.stringify(v)}, not ${JSON.stringify(rule)}`),
  enum: (v, rule) => (rule.includes(v) ? [] : `is ${JSON.stringify(v)}, none of ${JSON.stringify(rule)}`),
  minimum: (v, rule) => (typeof v !== "number" || v >= rule ? [] : `is ${v}, below ${rule}`),
  maximum: (v, rule) => (typeof v !== "number" || v <= rule ? [] : `is ${v}, above ${rule}`),
  minLength: (v, rule) => (typeof v !== "string" || v.length >= rule ? [] : `is shorter than ${rule}`),
  maxLength: (v, rule) => (typeof v !== "string" || v.length <= rule ? [] : `is longer than ${rule}`),
  pattern: (v, rule) => (typeof v !== "string" || new RegExp(rule).test(v) ? [] : `does not match ${rule}: ${v}`),
  format: (v, rule) => (rule !== "date-time" || typeof v !== "string" || DATE_TIME.test(v) ? [] : `is no time: ${v}`),
  required: (v, rule) => (isObject(v) ? rule.filter((k) => !(k in v)).map((k) => `lacks "${k}"`).join(", ") || [] : []),
  items: (v, rule, at) => (Array.isArray(v) ? v.flatMap((x, i) => faults(x, rule, `${at}/${i}`)) : []),
  properties: (v, rule, at) =>
    isObject(v) ? Object.entries(rule).flatMap(([k, s]) => (k in v ? faults(v[k], s, `${at}/${k}`) : [])) : [],
  patternProperties: (v, rule, at) =>
    isObject(v)
      ? Object.entries(rule).flatMap(([p, s]) => Object.keys(v).filter((k) => new RegExp(p).test(k)).flatMap((k) => faults(v[k], s, `${at}/${k}`)))
      : [],
  additionalProperties: (v, rule, at, schema) => {
    if (!isObject(v)) return [];
    const patterns = Object.keys(schema.patternProperties ?? {}).map((p) => new RegExp(p));
    const more = Object.keys(v).filter((k) => !(k in (schema.properties ?? {})) && !patterns.some((p) => p.test(k)));
    if (rule === false) return more.map((k) => `${at}/${k}: has no place here`);
    return rule === true ? [] : more.flatMap((k) => faults(v[k], rule, `${at}/${k}`));
  },
  allOf: (v, rule, at) => rule.flatMap((s) => faults(v, s, at)),
  oneOf: (v, rule, at) => {
    const each = rule.map((s) => faults(v, s, at));
    const fit = each.filter((f) => f.length === 0).length;
    if (fit === 1) return [];
    return fit > 1 ? `fits ${fit} of ${rule.length} forms` : [...each].sort((a, b) => a.length - b.length)[0];
  },
};
