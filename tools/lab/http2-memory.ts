/**
 * Measures what clients of HTTP/2 have a gateway hold: connections that have made a request and rest, and connections
 * with 100 requests each that wait for their turn upstream. Two checkouts by turns, where another is named. Linux only.
 *
 * usage: node tools/lab/http2-memory.ts [--before CHECKOUT] [--rounds 3] [--resting 10000] [--busy 100]
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { parseArgs } from 'node:util'
import { createFrame, flags, frameTypes } from '../../src/core/downstream/http2/frame.ts'
import { settingsAck } from '../../src/core/downstream/http2/settings.ts'
import { noBytes } from '../../src/core/lib/buffers.ts'
import { residentKiB } from '../bench/memory.ts'
import { readOptions } from '../bench/options.ts'
import { writeCertificate } from '../bench/peers/certificate.ts'
import { behindEach, gatewayFile } from '../bench/peers/gateway.ts'
import { projectRoot, serveTree } from '../bench/peers/gateway-tree.ts'
import { withStage } from '../bench/stage.ts'
import { median } from '../bench/stats.ts'
import { table } from '../bench/table.ts'

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    resting: { type: 'string', default: '10000' },
    busy: { type: 'string', default: '100' },
  },
})
const [rounds = 0, resting = 0, busy = 0] = [values.rounds, values.resting, values.busy].map(Number)
const trees = [projectRoot, ...(values.before === undefined ? [] : [resolve(values.before)])]

const streamsEach = 100
/** Connections that do their handshake at once. */
const atOnce = 50
// Long enough for what came and went to be collected, and less than `listen.timeouts.keepAlive`.
const settleMs = 20_000

const literal = (...texts: readonly string[]): Buffer =>
  Buffer.concat([Buffer.of(0), ...texts.flatMap((text) => [Buffer.of(text.length), Buffer.from(text)])])

/** GET: `:method` and `:scheme` are 2 and 7 of the static table. */
const request = (stream: number, path: string): Buffer =>
  createFrame(
    frameTypes.headers,
    flags.endStream | flags.endHeaders,
    stream,
    Buffer.concat([
      Buffer.of(0x82, 0x87),
      literal(':path', path),
      literal(':authority', 'localhost'),
      literal('accept', '*/*'),
    ]),
  )

const [restingPath, waitingPath] = ['/market/insights', '/leads/pipeline']

const greeting = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  createFrame(frameTypes.settings, 0, 0, noBytes),
  settingsAck,
])

/** Resolves when the first bytes of a response have come. */
const dial = async (port: number, sends: Buffer): Promise<TLSSocket> => {
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  socket.write(Buffer.concat([greeting, sends]))
  await once(socket, 'data')
  return socket
}

const dialMany = async (count: number, port: number, sends: Buffer): Promise<readonly TLSSocket[]> => {
  const sockets: TLSSocket[] = []
  while (sockets.length < count) {
    const next = Math.min(atOnce, count - sockets.length)
    sockets.push(...(await Promise.all(Array.from({ length: next }, () => dial(port, sends)))))
  }
  return sockets
}

const openUpstream = async (): Promise<Server> => {
  const server = createServer((asked, response) => {
    if (asked.url !== waitingPath) response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Returns the resident memory that came with the connections, in MiB. */
const measure = (tree: string, count: number, sends: Buffer): Promise<number> =>
  withStage(readOptions([]), async ({ directory, options }) => {
    const files = await writeCertificate(directory)
    if ('missing' in files) throw new Error(files.missing)
    const upstream = await openUpstream()
    const { port: upstreamPort } = upstream.address() as AddressInfo
    const pair = `{ certificate: "file:${files.certificate}", key: "file:${files.key}" }`
    const tls = `  http2: true\n  tls:\n    certificates: [${pair}]\n`
    const limits = `defaults: { maxConnections: 2, maxPending: 100000, deadline: none }\n`
    const running = await serveTree(
      tree,
      { directory: join(directory), upstreamPort, options },
      (port) =>
        gatewayFile(port, { maxConnections: count + 1000, tls }) + limits + behindEach(['127.0.0.1'], upstreamPort),
      'h2',
    )
    const warm = await dialMany(200, running.port, request(1, restingPath))
    for (const socket of warm) socket.destroy()
    await sleep(settleMs)
    const before = residentKiB(running.pid)
    const sockets = await dialMany(count, running.port, sends)
    await sleep(settleMs)
    const taken = (residentKiB(running.pid) - before) / 1024
    const gone = sockets.filter(({ destroyed }) => destroyed).length
    if (gone > 0) throw new Error(`${gone} connections were closed`)
    for (const socket of sockets) socket.destroy()
    upstream.close().closeAllConnections()
    await running.stop()
    return taken
  })

const streams = Buffer.concat(Array.from({ length: streamsEach }, (_, i) => request(2 * i + 1, waitingPath)))
const cases = [
  [`${resting} connections that rest`, resting, request(1, restingPath)],
  [`${busy} connections with ${streamsEach} requests each`, busy, streams],
] as const

const rows: string[][] = []
for (const [what, count, sends] of cases.filter(([, count]) => count > 0)) {
  const taken = trees.map((): number[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [i, tree] of trees.entries()) {
      const mib = await measure(tree, count, sends)
      console.error(`${what}, ${tree}: ${mib.toFixed(1)} MiB`)
      taken[i]?.push(mib)
    }
  const shown = taken.map(
    (all) => `${median(all).toFixed(1)} (${Math.min(...all).toFixed(1)}–${Math.max(...all).toFixed(1)})`,
  )
  rows.push([what, ...shown])
}
console.log(table(['MiB that came with', 'this checkout', ...(trees.length > 1 ? ['before'] : [])], rows, 1))
