/**
 * What every fault is shown on: one endpoint that has it, beside none, one and two sound ones, and with retries, for
 * GET and POST.
 */
import type { TlsOptions } from 'node:tls'
import type { Group } from '../../src/operations.ts'
import { inDrills } from '../../test/helpers/speed.ts'
import { pseudoRandomBytes, sha256 } from '../../test/helpers/wire.ts'
import { type LabEndpoint, openEndpoint } from './endpoint.ts'
import * as does from './endpoint-behavior.ts'
import { firstOperationOf, type LabOutcome, newId, sendToGroup, waitUntil } from './lab.ts'
import { Ledger } from './ledger.ts'

/** What clients get when an endpoint goes wrong in one way. */
export interface Fault {
  /** How it goes on: "an endpoint that …". */
  readonly fault: string
  /** What is said of a GET that it had; null: nothing was sent to it, so that another one responds if there is one. */
  readonly get: string | null
  readonly post: string | null
  /** What is said when there is no other; as far as it is not the same. */
  readonly alone?: readonly string[]
  /** Whether a connection is sound until it is used again. */
  readonly reused?: true
}

/** A group of the laboratory: how many endpoints it has, of which the first goes wrong. */
interface Setting {
  readonly group: Group
  readonly count: number
  readonly retry?: object
}

// Enough attempts and budget for every GET that fails to find a sound one.
const retry = { attempts: 10, backoff: { base: '1ms', max: '10ms' }, budget: { share: '100%', floor: 1000 } }

const settings: readonly Setting[] = [
  { group: 'market', count: 1 },
  { group: 'risk', count: 1 },
  { group: 'leads', count: 2 },
  { group: 'financing', count: 2 },
  { group: 'analysis', count: 3 },
  { group: 'inventory', count: 3 },
  { group: 'compliance', count: 3, retry },
  { group: 'valuation', count: 3, retry },
]

const maxConnections = 2
const maxPending = 2

/** A setting with its servers. */
export interface FaultSetup extends Setting {
  readonly faulty: LabEndpoint
  readonly sound: readonly LabEndpoint[]
  readonly ledger: Ledger
}

/** Opens the servers of every setting, all of them sound; `npm test` leaves out those of two endpoints. */
export const openFaultSetups = (tls?: TlsOptions): Promise<readonly FaultSetup[]> =>
  Promise.all(
    settings
      .filter(({ count }) => inDrills || count !== 2)
      .map(async (setting) => {
        const ledger = new Ledger()
        const open = (name: string) => openEndpoint({ name, ledger, ...(tls !== undefined && { tls }) })
        const sound = Array.from({ length: setting.count - 1 }, (_, n) => open(`sound ${n}`))
        return { ...setting, ledger, faulty: await open('faulty'), sound: await Promise.all(sound) }
      }),
  )

/** Writes the upstreams of all benches; `more` is for each. */
export const toUpstreams = (
  benches: readonly FaultSetup[],
  more: object = {},
  urlOf = ({ url }: LabEndpoint): string => url,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    benches.map(({ group, faulty, sound, retry }) => [
      group,
      {
        endpoints: [faulty, ...sound].map(urlOf),
        maxConnections,
        maxPending,
        // In turn, and whatever was seen before: the fault is met as often as any other endpoint.
        balance: 'round-robin',
        outlier: 'none',
        ...(retry !== undefined && { retry }),
        ...more,
      },
    ]),
  )

/** Bodies that the gateway reads first, and one that streams through it. */
const bodies = [pseudoRandomBytes(3000), pseudoRandomBytes(100_000)]
const hashes: ReadonlySet<string | null | undefined> = new Set([...bodies, Buffer.alloc(0)].map(sha256))

const waves = inDrills ? 3 : 1

/**
 * Sends as many requests at once as a bench has connections, again and again, and returns what is wrong with what
 * became of them.
 */
export const checkFault = async (port: number, fault: Fault, bench: FaultSetup): Promise<readonly string[]> => {
  const { group, count } = bench
  const posts = firstOperationOf(group).method === 'POST'
  const outcomes: LabOutcome[] = []
  for (let n = 0; n < waves; n++)
    outcomes.push(
      ...(await Promise.all(
        Array.from({ length: count * maxConnections }, (_, nth) => {
          const body = bodies[(nth >> 1) % bodies.length] as Buffer
          return sendToGroup(port, group, newId(), posts ? { body, ...(nth % 4 > 1 && { chunkBytes: 10_000 }) } : {})
        }),
      )),
    )
  return outcomes.flatMap((outcome) => {
    const wrong = findFlaw(fault, bench, outcome)
    if (wrong === null) return []
    const seen = bench.ledger.entriesOf(outcome.id).map(({ endpoint }) => endpoint)
    return `${posts ? 'POST' : 'GET'} to ${count}${bench.retry === undefined ? '' : ' with retry'}: ${outcome.said}, seen by [${seen}], ${wrong}`
  })
}

/** Says what is wrong with the outcome of a request, given where it was seen; null: nothing. */
const findFlaw = (fault: Fault, bench: FaultSetup, { id, said, body }: LabOutcome): string | null => {
  const isGet = firstOperationOf(bench.group).method === 'GET'
  const seen = bench.ledger.entriesOf(id)
  const sound = seen.find(({ endpoint }) => endpoint !== 'faulty')
  if (seen.length > 1 && !(isGet && (bench.retry !== undefined || fault.reused))) return 'more than once'
  if (body.includes(does.extraResponseMark)) return 'which nobody asked for'
  if (sound !== undefined) return said === '200' && hashes.has(sound.sha256) ? null : 'though one is sound'
  if (bench.count === 1 && fault.alone !== undefined) return fault.alone.includes(said) ? null : `not ${fault.alone}`
  const wanted = isGet ? fault.get : fault.post
  if (isGet && bench.retry !== undefined && isRetried(wanted)) return 'and not tried again'
  if (fault.reused && said === '200') return null
  return said === wanted ? null : `not ${wanted}`
}

/** Returns whether `retry` as it comes tries again what ended so. */
const isRetried = (said: string | null): boolean => said !== null && /reset-before-headers|bad-response/.test(said)

/**
 * Makes endpoints that are sound again hold as many requests as they may have connections, and respond to all: no
 * connection and no place in line was lost. Returns what is wrong.
 */
export const checkRecovery = async (
  port: number,
  bench: FaultSetup,
  endpoints: readonly LabEndpoint[],
): Promise<readonly string[]> => {
  const held = endpoints.map((endpoint) => {
    const behavior = does.holdRequests()
    endpoint.behave(behavior)
    return behavior
  })
  // As many as there is room for: a full endpoint gets no more, so that it does not matter whose turn it is.
  const room = endpoints.length * (maxConnections + maxPending)
  const asked = Promise.all(Array.from({ length: room }, () => sendToGroup(port, bench.group, newId())))
  await waitUntil(() => held.every(({ waiting }) => waiting() === maxConnections))
  for (const { release } of held) release()
  const outcomes = await asked
  const wrong = outcomes.filter(({ id, said }) => said !== '200' || bench.ledger.entriesOf(id).length !== 1)
  return wrong.map(({ said }) => `${bench.group} of ${bench.count}: afterwards ${said}`)
}
