/** Measures what an idle keep-alive connection takes of the gateway's memory: `--idle 10000`. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { groups } from '../../src/operations.ts'
import { openIdle } from '../bench/idle.ts'
import { residentKiB } from '../bench/memory.ts'
import { get } from '../bench/workload.ts'
import { takeCensus } from './census.ts'
import { type Child, portsOf, startChild } from './child.ts'
import { startGateway } from './gateway.ts'
import { settled } from './settled.ts'
import type { Verdict } from './verdict.ts'

/** The most resident memory that an idle connection may take. */
const atMostKiB = 25

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
export const measureIdle = async (count: number): Promise<readonly Idle[]> => {
  const upstream = createServer((_, response) => response.end('{"id":1}')).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  const gateway = await startGateway(configuration(port, count))
  const bare = startChild([join(import.meta.dirname, 'bare-server.ts')])
  const bareOpen = portsOf(bare, 'listening')
  try {
    const [barePort = 0] = await bareOpen
    return [await measure('gateway', gateway, gateway.port, count), await measure('node:http', bare, barePort, count)]
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

const measure = async (who: string, child: Child, port: number, count: number): Promise<Idle> => {
  const [watched] = await child.watched()
  if (watched === undefined) throw new Error(`${who} has no inspector`)
  const { pid, inspector } = watched
  // What is made once, and compiled once, is none of a connection's.
  await (await openIdle(port, get, 500)).close()
  await settled(
    async () => takeCensus(pid, inspector),
    ({ resources }) => (resources.TCPSocketWrap ?? 0) === 0,
  )
  const before = await takeCensus(pid, inspector)
  const idle = await openIdle(port, get, count)
  const uncollectedKiB = residentKiB(pid)
  const after = await takeCensus(pid, inspector)
  const closed = await idle.close()
  return {
    who,
    connections: count,
    closed,
    residentKiBEach: (after.residentKiB - before.residentKiB) / count,
    uncollectedKiBEach: (uncollectedKiB - before.residentKiB) / count,
    heapKiBEach: (after.heapBytes - before.heapBytes) / 1024 / count,
  }
}
