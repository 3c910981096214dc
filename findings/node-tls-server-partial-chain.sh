#!/bin/sh
# What: Node 24.21.0 (OpenSSL 3.5.8) takes `allowPartialTrustChain` in tls.createServer without an error, and does not
# pass it on: `Server.setSecureContext` lists the options of a context one by one, and this one is not among them. A
# client context gets it. So a server whose `ca` is an issuing CA without its root rejects every client.
# Also: with `crl`, a context that has it rejects clients whose whole chain and lists are there.
#
# Seen with node 24.21.0:
#   server, option:                UNABLE_TO_GET_ISSUER_CERT
#   server, context of its own:    secure
#   context, whole chain, lists:   CRL_SIGNATURE_FAILURE
#   no option, whole chain, lists: secure
# Exits with another code than 0 when that has changed. Needs npm and openssl.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent node@24.21.0 >/dev/null
node=$(ls "$folder"/node_modules/node/bin/node 2>/dev/null || echo "$folder/node_modules/.bin/node")

ec() { openssl ecparam -genkey -name prime256v1 -noout -out "$1.key"; openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"; }
printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign,cRLSign\n' > ca.ext
printf 'subjectAltName=DNS:localhost\n' > leaf.ext
{
  ec root; openssl x509 -req -in root.csr -signkey root.key -days 2 -extfile ca.ext -out root.pem
  ec issuing; openssl x509 -req -in issuing.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile ca.ext -out issuing.pem
  ec leaf; openssl x509 -req -in leaf.csr -CA issuing.pem -CAkey issuing.key -CAcreateserial -days 2 -extfile leaf.ext -out leaf.pem
  : > index
  printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index\ndefault_md=sha256\ndefault_crl_days=2\n' > ca.cnf
  for each in root issuing; do openssl ca -config ca.cnf -gencrl -keyfile $each.key -cert $each.pem -out $each.crl; done
} 2>/dev/null

cat > run.cjs <<'JS'
const tls = require('node:tls')
const read = (name) => require('node:fs').readFileSync(name, 'utf8')
const shown = { key: read('leaf.key'), cert: read('leaf.pem') }
const outcome = async (options, ownContext) => {
  const server = tls.createServer({ ...shown, requestCert: true, rejectUnauthorized: true, ...options })
  // The member that createServer fills; documented ways lead to the same context.
  if (ownContext) server._sharedCreds = tls.createSecureContext({ ...shown, ...options })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const result = await new Promise((resolve) => {
    server.on('secureConnection', () => resolve('secure'))
    server.on('tlsClientError', (_, socket) => resolve(String(socket.authorizationError)))
    tls.connect({ port: server.address().port, host: '127.0.0.1', rejectUnauthorized: false, ...shown }).on('error', () => {})
  })
  server.close()
  return result
}
;(async () => {
  const issuing = { ca: read('issuing.pem') }
  const whole = { ca: [read('issuing.pem'), read('root.pem')], crl: [read('issuing.crl'), read('root.crl')] }
  const partial = { allowPartialTrustChain: true }
  const seen = [
    await outcome({ ...issuing, ...partial }, false),
    await outcome({ ...issuing, ...partial }, true),
    await outcome({ ...whole, ...partial }, true),
    await outcome(whole, true),
  ]
  const names = ['server, option', 'server, context of its own', 'context, whole chain, lists', 'no option, whole chain, lists']
  seen.forEach((each, index) => console.log(`${names[index]}:`.padEnd(31) + each))
  const expected = ['UNABLE_TO_GET_ISSUER_CERT', 'secure', 'CRL_SIGNATURE_FAILURE', 'secure']
  process.exit(String(seen) === String(expected) ? 0 : 1)
})()
JS
"$node" run.cjs
