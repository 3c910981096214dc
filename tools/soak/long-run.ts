/** Runs everything together for minutes, and judges what is left of it. */
import { setTimeout as pause } from 'node:timers/promises'
import { Account } from './account.ts'
import { differences } from './census.ts'
import type { Line } from './child.ts'
import { Disturbances } from './disturbances.ts'
import { goWrong } from './faults.ts'
import { type SoakedGateway, startGateway } from './gateway.ts'
import { leaving, slow } from './leavers.ts'
import { editing, killing, operatorCommands } from './operators.ts'
import { type Sample, sampleAll, sampling } from './series.ts'
import { settled } from './settled.ts'
import { openSite, type Site } from './site.ts'
import { watchStandstill } from './standstill.ts'
import { churn, keepAlive, type Ongoing } from './traffic.ts'

export interface LongRun extends StoppedGateway {
  readonly minutes: number
  readonly workers: number
  readonly requests: number
  readonly unexplained: number
  readonly shown: readonly string[]
  readonly explained: Readonly<Record<string, number>>
  readonly disturbances: Readonly<Record<string, number>>
  readonly samples: readonly Sample[]
  readonly loadMs: number
}

export interface StoppedGateway {
  /** What the processes held more or less than before, when all was over. */
  readonly left: readonly string[]
  /** Log lines of level error, and what was written on stderr. */
  readonly complaints: Readonly<Record<string, number>>
  readonly exitCode: number | null
}

const warmUpMs = 10_000

/** Soaks a gateway. */
export const soak = async (minutes: number, workers: number): Promise<LongRun> => {
  const site = await openSite(workers)
  const gateway = await startGateway(site.configuration(0))
  const complaints = countComplaints(gateway)
  const disturbances = new Disturbances()
  const account = new Account(site.ledger, disturbances)
  try {
    await load(gateway, site, account, disturbances, workers, () => pause(warmUpMs))
    const before = await settled(() => sampleAll(gateway, 0), isQuiet(workers))
    const samples: Sample[] = []
    const from = performance.now()
    await load(gateway, site, account, disturbances, workers, async () => {
      const taking = sampling(gateway, samples, from)
      await pause(minutes * 60_000)
      await taking.stop()
    })
    const loadMs = performance.now() - from
    return {
      ...{ minutes, workers, requests: account.requests, unexplained: account.unexplained, shown: account.shown },
      explained: Object.fromEntries(account.explained),
      disturbances: Object.fromEntries(disturbances.counts),
      ...{ samples, loadMs, ...(await stopGateway(gateway, before, complaints)) },
    }
  } finally {
    await gateway.stop()
  }
}

/** Keeps everything going on while `meanwhile` does something. */
const load = async (
  gateway: SoakedGateway,
  site: Site,
  account: Account,
  disturbances: Disturbances,
  workers: number,
  meanwhile: () => Promise<void>,
): Promise<void> => {
  const { port } = gateway
  const going: readonly Ongoing[] = [
    ...[keepAlive(port, account), churn(port, account), leaving(port), slow(port)],
    ...[
      goWrong(site.faulty, disturbances),
      editing(gateway, site, disturbances),
      operatorCommands(gateway, disturbances),
    ],
    ...(workers > 1 ? [killing(gateway, disturbances)] : []),
    watchStandstill(disturbances),
  ]
  await meanwhile()
  await Promise.all(going.map((each) => each.stop()))
}

/** No client is connected, and every process is there. */
export const isQuiet =
  (workers: number) =>
  (samples: readonly Sample[]): boolean =>
    samples.length === (workers > 1 ? workers + 1 : 1) &&
    samples.every(({ resources }) => (resources.TCPSocketWrap ?? 0) === 0 && (resources.Timeout ?? 0) <= 4)

/** Stops a gateway whose load has ended. */
export const stopGateway = async (
  gateway: SoakedGateway,
  before: readonly Sample[],
  complaints: Map<string, number>,
): Promise<StoppedGateway> => {
  const left = await settled(
    async () => compareSamples(before, await sampleAll(gateway, 0)),
    (found) => found.length === 0,
  )
  const exitCode = await gateway.stop()
  for (const text of gateway.complaints) complaints.set(text, (complaints.get(text) ?? 0) + 1)
  return { left, complaints: Object.fromEntries(complaints), exitCode }
}

/** Says what every process holds that one of its kind did not before. */
const compareSamples = (before: readonly Sample[], after: readonly Sample[]): readonly string[] => {
  if (before.length !== after.length) return [`processes ${before.length} → ${after.length}`]
  return after.flatMap(({ who, descriptors, resources }) => {
    const then = before.find((each) => each.who === who)
    if (then === undefined) return [`a ${who} that was not there`]
    const found = [...differences(then.descriptors, descriptors), ...differences(then.resources, resources)]
    return found.map((what) => `${who}: ${what}`)
  })
}

/** Counts the lines that an operator would be woken for. */
export const countComplaints = (gateway: SoakedGateway): Map<string, number> => {
  const counts = new Map<string, number>()
  gateway.onLine = ({ level = 0, msg = '', failure = '' }: Line) => {
    if (level < 50) return
    const key = `${msg} ${failure}`.trim()
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}
