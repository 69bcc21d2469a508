// clients.mjs: the stock clients, for scenarios of other folders: packages are installed in this one alone.
export { connect, headers } from "@nats-io/transport-node";
export { jetstream, jetstreamManager } from "@nats-io/jetstream";
export { Kvm } from "@nats-io/kv";
export { Objm } from "@nats-io/obj";
export { createAccount, createOperator, createUser, fromSeed } from "@nats-io/nkeys";
