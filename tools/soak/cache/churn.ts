/** Makes clients ask for many times what may be stored, and watches the memory meanwhile: `--cache`. */
import { setTimeout as pause } from 'node:timers/promises'
import { groups } from '../../../src/operations.ts'
import { residentKiB } from '../../bench/memory.ts'
import { differences } from '../census.ts'
import type { Line } from '../child.ts'
import { type SoakedGateway, startGateway } from '../gateway.ts'
import { type Sample, sampleAll } from '../series.ts'
import { settled } from '../settled.ts'
import { ongoing } from '../traffic.ts'
import { asking, Tally } from './clients.ts'
import { clear, found, type Held, readStatusCount, type StatusCount } from './count.ts'
import { openUpstream } from './upstream.ts'

export interface CacheSample extends Sample, StatusCount {
  /** Resident memory before the collections of the census. */
  readonly uncollectedKiB: number
}

export interface Churn {
  readonly minutes: number
  readonly tally: Tally
  readonly samples: readonly CacheSample[]
  readonly loadMs: number
  /** What the gateway held more or less than before, when all was over. */
  readonly left: readonly string[]
  /** When all was over: what the gateway said, and what was found. */
  readonly said: StatusCount
  readonly found: Held
  /** What it said when everything had been cleared, and how much that was. */
  readonly cleared: number
  readonly saidCleared: StatusCount
  readonly complaints: readonly string[]
  readonly exitCode: number | null
}

export const maxBytes = 64 * 1024 * 1024

/** Enough for everything that is there to have come after something else had to go. */
const warmUpEvictions = 3000
const sampleEveryMs = 4000

/** Soaks the cache of a gateway. */
export const churnCache = async (minutes: number): Promise<Churn> => {
  const upstream = await openUpstream()
  const gateway = await startGateway(configuration(upstream.port))
  const complaints: string[] = []
  gateway.onLine = ({ level = 0, msg = '', failure = '' }: Line) => {
    if (level >= 50) complaints.push(`${msg} ${failure}`)
  }
  const tally = new Tally()
  try {
    // What is made once, at first use, is no leak.
    await warmUp(gateway, tally)
    const before = await settled(() => censusOf(gateway), isQuiet)
    const samples: CacheSample[] = []
    const from = performance.now()
    const load = asking(gateway.port, tally)
    const taking = ongoing(1, sampleEveryMs, async () => {
      const uncollectedKiB = residentKiB(gateway.pid)
      const sample = { ...(await censusOf(gateway)), ...(await readStatusCount(gateway.admin)) }
      samples.push({ ...sample, uncollectedKiB, atMs: performance.now() - from })
    })
    await pause(minutes * 60_000)
    await taking.stop()
    const loadMs = performance.now() - from
    await load.stop()

    upstream.close()
    const left = await settled(
      async () => compare(before, await censusOf(gateway)),
      (differing) => differing.length === 0,
    )
    const kept = await found(gateway.port)
    const said = await readStatusCount(gateway.admin)
    const cleared = await clear(gateway.admin)
    const saidCleared = await readStatusCount(gateway.admin)
    const exitCode = await gateway.stop()
    return {
      ...{ minutes, tally, samples, loadMs, left, said, found: kept, cleared, saidCleared },
      ...{ complaints: [...complaints, ...gateway.complaints], exitCode },
    }
  } finally {
    await gateway.stop()
    upstream.close()
  }
}

const warmUp = async (gateway: SoakedGateway, tally: Tally): Promise<void> => {
  const load = asking(gateway.port, tally)
  await settled(
    () => readStatusCount(gateway.admin),
    ({ evictions }) => evictions >= warmUpEvictions,
  )
  await load.stop()
}

const censusOf = async (gateway: SoakedGateway): Promise<Sample> => {
  const [sample] = await sampleAll(gateway, 0)
  if (sample === undefined) throw new Error('the gateway has no inspector')
  return sample
}

const compare = (before: Sample, after: Sample): readonly string[] => [
  ...differences(before.descriptors, after.descriptors),
  ...differences(before.resources, after.resources),
]

/** No client is connected. */
const isQuiet = ({ resources }: Sample): boolean =>
  (resources.TCPSocketWrap ?? 0) === 0 && (resources.Timeout ?? 0) <= 4

const configuration = (port: number): string => `version: 1
listen: { port: 0 }
admin: { port: 0 }
cache: { maxBytes: ${maxBytes / 1024 / 1024}MiB }
operations:
  market.insights: { cache: { maxEntry: 2MiB } }
upstreams:
${groups.map((group) => `  ${group}: http://127.0.0.1:${port}`).join('\n')}
`
