/**
 * Measures uploads over HTTP/2: what 10 MiB take at a round trip of 50 ms (or as many as said), and what a thousand
 * streams that are stalled have the gateway hold: `node tools/lab/http2-uploads.ts [ROUND_TRIP_MS]`. Wants Debian's
 * openssl.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { now, sleep } from '../../src/core/lib/clock.ts'
import { makeCertificates } from '../../test/helpers/certificates.ts'
import { configText } from '../../test/helpers/gateway.ts'
import { program } from '../../test/helpers/program.ts'
import { slowLink } from '../../test/helpers/slow-link.ts'
import { residentKiB } from '../bench/memory.ts'
import { startGateway } from '../soak/gateway.ts'

const MiB = 1024 * 1024
const roundTripMs = Number(process.argv[2] ?? 50)

const open = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const openssl = await program('openssl')
if (openssl.path === null) throw new Error(openssl.missing)
const { cert: certificate, key } = makeCertificates(openssl.path).right
const reading = createServer((request, response) => request.resume().on('end', () => response.end('ok')))
const stalled = createTcpServer((socket) => void socket.pause().on('error', () => {}))
const gateway = await startGateway(
  configText({
    listen: { http2: true, tls: { certificates: [{ certificate, key }] }, timeouts: { body: 'none' } },
    upstreams: { valuation: await open(reading), risk: { endpoints: [await open(stalled)], maxConnections: 1 } },
    defaults: { deadline: 'none' },
    operations: { 'valuation.score': { maxBody: '64MiB' }, 'risk.asset-valuation': { maxBody: '64MiB' } },
    log: { access: false },
  }),
)

const dial = (port: number): ClientHttp2Session =>
  connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false }).on('error', () => {})

const upload = async (session: ClientHttp2Session, bytes: number): Promise<void> => {
  const stream = session.request({ ':path': '/valuation/score', ':method': 'POST' }, { endStream: false })
  stream.end(Buffer.alloc(bytes))
  const [headers] = await once(stream, 'response')
  if (headers[':status'] !== 200) throw new Error(`the upload got ${headers[':status']}`)
  await once(stream.resume(), 'end')
}

const large = Buffer.alloc(4 * MiB)

const residentMiB = (): number => residentKiB(gateway.pid) / 1024

for (const [what, taken] of [
  ['that never moved', 0],
  ['of connections that were wide', MiB],
] as const) {
  const before = residentMiB()
  const sessions = Array.from({ length: 10 }, () => dial(gateway.port))
  await Promise.all(sessions.map((session) => (taken > 0 ? upload(session, taken) : once(session, 'remoteSettings'))))
  for (const session of sessions)
    for (let n = 0; n < 100; n++) {
      const stream = session.request({ ':path': '/risk/asset-valuation', ':method': 'POST' }, { endStream: false })
      stream.on('error', () => {}).write(large)
    }
  await sleep(8000)
  console.log(`1,000 stalled streams ${what}: from ${Math.round(before)} to ${Math.round(residentMiB())} MiB`)
  for (const session of sessions) session.destroy()
  await sleep(2000)
}

const link = await slowLink({ to: gateway.port, delayMs: roundTripMs / 2 })
const tookMs: number[] = []
for (let run = 0; run < 10; run++) {
  const startedAt = now()
  const session = dial(link.port)
  await upload(session, 10 * MiB)
  tookMs.push(Math.round(now() - startedAt))
  session.destroy()
}
console.log(`10 MiB at ${roundTripMs} ms a round trip, the connection included: ${tookMs.join(', ')} ms`)

await gateway.stop()
process.exit(0)
