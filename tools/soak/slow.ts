/** Measures what many slow clients, and many slow upstreams, make the gateway hold: `--slow-readers 200`. */
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { groups } from '../../src/operations.ts'
import { peakKiB, resetPeak } from '../bench/memory.ts'
import { differences, takeCensus } from './census.ts'
import type { Watched } from './child.ts'
import { type SoakedGateway, startGateway } from './gateway.ts'
import { settled } from './settled.ts'
import { fastWriter, slowReader, slowWriter } from './slow-clients.ts'
import { openSlowUpstream } from './slow-upstream.ts'
import type { Verdict } from './verdict.ts'

/** The most resident memory of the gateway, whatever its clients and upstreams do. */
const atMostMiB = 300

const bytes = 64 * 1024 * 1024

/** Long enough for every buffer on the way to be as full as it gets: the peak comes in the first second. */
const heldMs = 15_000

export interface Slow {
  readonly what: string
  readonly connections: number
  /** Connections that the gateway had closed by the end. */
  readonly closed: number
  readonly beforeMiB: number
  readonly peakMiB: number
  /** What it still held when the connections had been cut: named as in `differences`. */
  readonly left: readonly string[]
}

type Client = (port: number) => Socket

const get = (query: string): string => `GET /market/insights?${query} HTTP/1.1\r\nHost: gateway\r\n\r\n`
const post = (query: string, length: number): string =>
  `POST /risk/asset-valuation?${query} HTTP/1.1\r\nHost: gateway\r\nContent-Length: ${length}\r\n\r\n`

const ways: readonly (readonly [what: string, client: Client])[] = [
  ['clients that read slowly', (port) => slowReader(port, get(`response=${bytes}`))],
  ['clients that upload slowly', (port) => slowWriter(port, post('', bytes))],
  ['clients whose small upload is slow', (port) => slowWriter(port, post('', 65_536))],
  ['upstreams that take an upload slowly', (port) => fastWriter(port, post('takes=slowly', bytes), bytes)],
  ['upstreams that respond slowly', (port) => slowReader(port, get(`response=${bytes}&gives=slowly`))],
]

/** Opens so many of each at once, one kind after the other, and cuts them. */
export const measureSlow = async (count: number): Promise<readonly Slow[]> => {
  const upstream = await openSlowUpstream()
  const gateway = await startGateway(configuration(upstream.port))
  try {
    const [watched] = await gateway.watched()
    if (watched === undefined) throw new Error('the gateway has no inspector')
    // What is made once, at first use, is no leak.
    for (const [, client] of ways) await hold(gateway, client, 2, 500)
    await settled(async () => (await takeCensus(watched.pid, watched.inspector)).resources, keepsNothing)
    const measured: Slow[] = []
    for (const [what, client] of ways) measured.push(await measure(gateway, watched, what, client, count))
    return measured
  } finally {
    await gateway.stop()
    await upstream.close()
  }
}

/** Judges what was measured. */
export const judgeSlow = (measured: readonly Slow[]): readonly Verdict[] =>
  measured.flatMap(({ what, connections, closed, peakMiB, left }) => [
    {
      what: `peak of resident memory with ${connections} ${what}`,
      found: `${peakMiB.toFixed(0)} MiB`,
      atMost: `${atMostMiB} MiB`,
      held: peakMiB < atMostMiB,
    },
    { what: '… closed by the gateway', found: String(closed), atMost: '0', held: closed === 0 },
    {
      what: '… left after they were cut',
      found: left.join(', ') || 'nothing',
      atMost: 'nothing',
      held: left.length === 0,
    },
  ])

// The time limits are out of the way: the question is what is held while no client is cut. How soon one is cut, tests
// show.
const configuration = (port: number): string => `version: 1
listen:
  port: 0
  timeouts: { body: 10m }
admin: { port: 0 }
defaults:
  deadline: none
  timeouts: { headers: 20s, body: 10m }
upstreams:
${groups.map((group) => `  ${group}: http://127.0.0.1:${port}`).join('\n')}
`

const measure = async (
  gateway: SoakedGateway,
  { pid, inspector }: Watched,
  what: string,
  client: Client,
  count: number,
): Promise<Slow> => {
  const before = await takeCensus(pid, inspector)
  resetPeak(pid)
  const closed = await hold(gateway, client, count, heldMs)
  const peakMiB = peakKiB(pid) / 1024
  const left = await settled(
    async () => {
      const { descriptors, resources } = await takeCensus(pid, inspector)
      return [...differences(before.descriptors, descriptors), ...differences(before.resources, resources)]
    },
    (found) => found.length === 0,
  )
  return { what, connections: count, closed, beforeMiB: before.residentKiB / 1024, peakMiB, left }
}

/** Returns how many were closed by the gateway. */
const hold = async ({ port }: SoakedGateway, client: Client, count: number, ms: number): Promise<number> => {
  const sockets = Array.from({ length: count }, () => client(port))
  await pause(ms)
  const closed = sockets.filter(({ destroyed }) => destroyed).length
  for (const socket of sockets) socket.destroy()
  return closed
}

const keepsNothing = (resources: Readonly<Record<string, number>>): boolean => resources.TCPSocketWrap === undefined
