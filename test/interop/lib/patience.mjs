// patience.mjs: nats.js waits LIMIT_MS for answers where nobody said how long: its own 1 s (requests) and 5 s (JetStream) are less than
// a busy machine may stall.  A scenario that wants a timeout says so.  Also loaded into the programs of the documents, by --import.
import core from "@nats-io/nats-core/internal";
import { LIMIT_MS } from "./wait.mjs";

const LIBRARY_MS = 5000; // jetstream(), jetstreamManager(), Kvm and Objm pass their default as if it were the caller's
const client = core.NatsConnectionImpl.prototype;
const { request, subscribe } = client;

client.request = function (subject, data, options = {}) {
  const timeout = options.timeout && options.timeout !== LIBRARY_MS ? options.timeout : LIMIT_MS;
  return request.call(this, subject, data, { ...options, timeout });
};

client.subscribe = function (subject, options = {}) {
  return subscribe.call(this, subject, options.timeout === LIBRARY_MS ? { ...options, timeout: LIMIT_MS } : options);
};
