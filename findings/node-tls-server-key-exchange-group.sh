#!/bin/sh
# What: Node 24.21.0 (OpenSSL 3.5.8) does not tell a TLS server in which group keys were exchanged:
# `getEphemeralKeyInfo()` is null there, and there is no other method. But `getSession()` of the server's socket is the
# session in DER, in which OpenSSL writes the group as [19] INTEGER, by its number in IANA's TLS Supported Groups. It is
# there before any ticket, and in a resumed session of TLS 1.3 it is the group of that connection, not of the first one.
#
# Seen with node 24.21.0:
#   default            client X25519MLKEM768  server null  session 4588
#   X25519             client X25519          server null  session 29
#   P-256              client prime256v1      server null  session 23
#   P-256, TLS 1.2     client prime256v1      server null  session 23
#   resumed in P-384   client secp384r1       server null  session 24
# Exits with another code than 0 when that has changed. Needs npm and openssl.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent node@24.21.0 >/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost 2>/dev/null
cat > run.cjs <<'JS'
const tls = require('node:tls')
const read = (name) => require('node:fs').readFileSync(name)
const groupOf = (der) => {
  let at = 1
  const length = () => {
    let value = der[at++]
    if (value < 128) return value
    let bytes = value & 127
    for (value = 0; bytes > 0; bytes--) value = value * 256 + der[at++]
    return value
  }
  const end = length() + at
  while (at < end) {
    const tag = der[at++]
    const size = length()
    if (tag === 0xb3) return der.readUIntBE(at + 2, size - 2)
    at += size
  }
  return null
}
;(async () => {
  let atServer
  const server = tls.createServer({ key: read('key.pem'), cert: read('cert.pem') }, (socket) => {
    atServer = [socket.getEphemeralKeyInfo(), groupOf(socket.getSession())]
    socket.end('.')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const connect = (options) =>
    new Promise((resolve, reject) => {
      const outcome = { session: null }
      const socket = tls.connect({ port: server.address().port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
      socket.on('secureConnect', () => (outcome.group = socket.getEphemeralKeyInfo().name))
      socket.on('session', (session) => (outcome.session = session))
      socket.on('error', reject).on('close', () => resolve(outcome)).resume()
    })
  const seen = []
  const show = async (name, options) => {
    const { group, session } = await connect(options)
    console.log(`${name.padEnd(18)} client ${group.padEnd(15)} server ${atServer[0]}  session ${atServer[1]}`)
    seen.push(group, atServer[0], atServer[1])
    return session
  }
  const session = await show('default', {})
  await show('X25519', { ecdhCurve: 'X25519' })
  await show('P-256', { ecdhCurve: 'P-256' })
  await show('P-256, TLS 1.2', { ecdhCurve: 'P-256', maxVersion: 'TLSv1.2' })
  await show('resumed in P-384', { ecdhCurve: 'P-384', session })
  server.close()
  const expected = ['X25519MLKEM768', null, 4588, 'X25519', null, 29, 'prime256v1', null, 23, 'prime256v1', null, 23, 'secp384r1', null, 24]
  process.exit(JSON.stringify(seen) === JSON.stringify(expected) ? 0 : 1)
})()
JS
"$folder/node_modules/.bin/node" run.cjs
