/** Measures what an idle keep-alive connection takes of the gateway's memory: `--idle 10000`. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { groups } from '../../src/operations.ts'
import { memoryKiB, takeCensus } from './census.ts'
import { type Child, portsOf, startChild } from './child.ts'
import { startGateway } from './gateway.ts'
import type { Verdict } from './verdict.ts'

/** The most resident memory that an idle connection may take. */
const atMostKiB = 25

/** As many connect at once as any listening queue holds. */
const batch = 100

export interface Idle {
  readonly who: string
  readonly connections: number
  /** Connections that were closed before they were counted. */
  readonly closed: number
  /** After two collections, before and after. */
  readonly residentKiBEach: number
  /** As it stands when they are open, with what V8 has not collected yet. */
  readonly uncollectedKiBEach: number
  readonly heapKiBEach: number
}

/**
 * Opens connections that each make one request and then stay, to the gateway and to a bare server of Node's beside it.
 */
export const measureIdle = async (count: number, snapshot: string | null): Promise<readonly Idle[]> => {
  const upstream = createServer((_, response) => response.end('{"id":1}')).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  const gateway = await startGateway(configuration(port, count))
  const bare = startChild([join(import.meta.dirname, 'bare-server.ts')])
  const bareOpen = portsOf(bare, 'listening')
  try {
    const [barePort = 0] = await bareOpen
    return [
      await measure('gateway', gateway, gateway.port, count, snapshot),
      await measure('node:http', bare, barePort, count, null),
    ]
  } finally {
    await Promise.all([gateway.stop(), bare.stop()])
    upstream.close()
    upstream.closeAllConnections()
  }
}

/** Judges what was measured. */
export const judgeIdle = (measured: readonly Idle[]): readonly Verdict[] =>
  measured
    .filter(({ who }) => who === 'gateway')
    .flatMap(({ connections, closed, residentKiBEach }) => [
      {
        what: `resident memory for each of ${connections} idle connections`,
        found: `${residentKiBEach.toFixed(1)} KiB`,
        atMost: `${atMostKiB} KiB`,
        held: residentKiBEach <= atMostKiB,
      },
      { what: 'idle connections that were closed', found: String(closed), atMost: '0', held: closed === 0 },
    ])

const configuration = (port: number, count: number): string => `version: 1
listen:
  port: 0
  maxConnections: ${count + 100}
  timeouts: { keepAlive: 10m }
admin: { port: 0 }
upstreams:
${groups.map((group) => `  ${group}: http://127.0.0.1:${port}`).join('\n')}
`

const measure = async (
  who: string,
  child: Child,
  port: number,
  count: number,
  snapshot: string | null,
): Promise<Idle> => {
  const [watched] = await child.watched()
  if (watched === undefined) throw new Error(`${who} has no inspector`)
  const { pid, inspector } = watched
  // What is made once, and compiled once, is none of a connection's.
  await release(await open(port, 500))
  const before = await takeCensus(pid, inspector)
  const sockets = await open(port, count)
  const uncollectedKiB = memoryKiB(pid, 'VmRSS')
  const after = await takeCensus(pid, inspector)
  if (snapshot !== null) await inspector.snapshot(snapshot)
  const closed = sockets.filter(({ destroyed }) => destroyed).length
  await release(sockets)
  return {
    who,
    connections: count,
    closed,
    residentKiBEach: (after.residentKiB - before.residentKiB) / count,
    uncollectedKiBEach: (uncollectedKiB - before.residentKiB) / count,
    heapKiBEach: (after.heapBytes - before.heapBytes) / 1024 / count,
  }
}

const open = async (port: number, count: number): Promise<readonly Socket[]> => {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const more = Array.from({ length: Math.min(batch, count - sockets.length) }, () => openOne(port))
    sockets.push(...(await Promise.all(more)))
  }
  return sockets
}

const request =
  'GET /market/insights?region=north HTTP/1.1\r\nHost: gateway.example\r\nUser-Agent: lender-core/4.2\r\n' +
  'Accept: application/json\r\nAccept-Encoding: gzip, deflate\r\n\r\n'

const openOne = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  socket.write(request)
  await Promise.race([once(socket, 'data'), once(socket, 'close')])
  return socket.resume()
}

const release = async (sockets: readonly Socket[]): Promise<void> => {
  await Promise.all(
    sockets.map((socket) => {
      const closed = socket.destroyed ? null : once(socket, 'close')
      socket.destroy()
      return closed
    }),
  )
}
