// certs.mjs: a fresh certificate authority and certificates for one run, made with openssl.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

let made;

// { dir, ca, server, server2, client, mapped, strangerCa, stranger }: paths without .pem/.key.
export function certs() {
  if (made) return made;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-certs-"));
  process.on("exit", () => fs.rmSync(dir, { recursive: true, force: true }));
  const at = (name) => path.join(dir, name);
  const local = "subjectAltName=DNS:localhost,IP:127.0.0.1";
  authority(at("ca"), "Test CA");
  authority(at("strangerCa"), "Another CA");
  leaf(at("server"), at("ca"), "/CN=server one", `${local}\nextendedKeyUsage=serverAuth`);
  leaf(at("server2"), at("ca"), "/CN=server two", `${local}\nextendedKeyUsage=serverAuth`);
  leaf(at("client"), at("ca"), "/CN=client", "extendedKeyUsage=clientAuth");
  leaf(at("mapped"), at("ca"), "/CN=mapped", "subjectAltName=email:derek@example.test\nextendedKeyUsage=clientAuth");
  leaf(at("stranger"), at("strangerCa"), "/CN=stranger", "extendedKeyUsage=clientAuth");
  made = { dir };
  for (const n of ["ca", "strangerCa", "server", "server2", "client", "mapped", "stranger"]) made[n] = at(n);
  made.read = (name) => fs.readFileSync(at(name), "utf8");
  // Options of Node's TLS sockets: whom to trust, and who we are.
  made.trust = (as) => ({
    ca: made.read("ca.pem"),
    ...(as && { cert: made.read(`${as}.pem`), key: made.read(`${as}.key`) }),
  });
  return made;
}

// The tls block of a configuration; timeout: seconds a handshake may take.
export function tlsBlock(more = "", timeout = 60) {
  const c = certs();
  return `tls { cert_file: "${c.server}.pem", key_file: "${c.server}.key", ca_file: "${c.ca}.pem", timeout: ${timeout}\n${more}\n}`;
}

function openssl(...args) {
  return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "pipe"] });
}

function newKey(base) {
  openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${base}.key`);
}

function authority(base, name) {
  newKey(base);
  openssl("req", "-x509", "-new", "-key", `${base}.key`, "-subj", `/CN=${name}`, "-days", "2", "-out", `${base}.pem`);
}

function leaf(base, ca, subject, extensions) {
  newKey(base);
  openssl("req", "-new", "-key", `${base}.key`, "-subj", subject, "-out", `${base}.csr`);
  fs.writeFileSync(`${base}.ext`, extensions + "\n");
  openssl("x509", "-req", "-in", `${base}.csr`, "-CA", `${ca}.pem`, "-CAkey", `${ca}.key`, "-CAcreateserial",
    "-days", "2", "-extfile", `${base}.ext`, "-out", `${base}.pem`);
}
