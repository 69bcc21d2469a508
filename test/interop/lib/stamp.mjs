// stamp.mjs: timestamps of the API (RFC 3339) as numbers.

// Exact: Date.parse() knows milliseconds only, and as texts `.5Z` is behind `.55Z`, because zeros at the end are left out.
export const nanoseconds = (stamp) => {
  const [, second, part = ""] = stamp.match(/^([^.Z]*)\.?(\d*)Z$/);
  return BigInt(Date.parse(`${second}Z`)) * 1_000_000n + BigInt(part.padEnd(9, "0"));
};
