/**
 * Measures what becomes of an upstream's capacity when three times as much is asked of it, with a limit of what is in
 * flight and without.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/helpers/free-port.ts'
import { program } from '../../test/helpers/program.ts'
import { readStolen, stolenBetween } from './cpu.ts'
import { type Logged, type Part, requestsAt } from './h2load.ts'
import type { Watch } from './load.ts'
import { behindEach, gatewayFile } from './peers/gateway.ts'
import { projectRoot, serveTree } from './peers/gateway-tree.ts'
import { machine } from './report.ts'
import { startSideServer } from './side-server.ts'
import type { Stage } from './stage.ts'
import { median, quantile } from './stats.ts'
import { table } from './table.ts'
import { get } from './workload.ts'

/** The upstream: 1,000 requests a second. */
const places = 50
const serviceMs = 50

/** Limits of `concurrency` that are tried; null: none. The second is what docs/upstreams.md recommends. */
const limits = [places, places * 1.2, places * 2, null] as const

/** Requests a second that are offered: the first ones are to find the peak, the last one is too much. */
const offers = [900, 1_000, 3_000] as const
const tooMuch = 3_000

/** So many that none of them waits for a response of its own, which would make it offer less. */
const connections = 500

/** What the project holds itself to. */
const goodputAtLeast = 0.9
const rejectedWithinMs = 50
const adminWithinMs = 100

export interface CapacityReport {
  readonly date: string
  readonly machine: string
  readonly levels: readonly Level[]
}

/** One limit, and what came of each offer, one turn a round. */
interface Level {
  readonly concurrency: number | null
  readonly turns: ReadonlyMap<number, readonly Turn[]>
}

interface Turn {
  /** Requests a second that went out, were served, and were rejected. */
  readonly offered: number
  readonly served: number
  readonly rejected: number
  /** Responses with a status that is neither 200 nor 503, and broken connections. */
  readonly wrong: number
  readonly servedP50Ms: number
  readonly servedP99Ms: number
  readonly rejectedP50Ms: number
  readonly rejectedMaxMs: number
  readonly adminMaxMs: number
  /** The share of the processors' time that the host gave to others meanwhile. */
  readonly stolen: number
}

/** Measures each limit in each round, at each offer. */
export const capacity = async (stage: Stage): Promise<CapacityReport> => {
  const h2load = await program('h2load')
  if (h2load.missing !== null) throw new Error(h2load.missing)
  const upstream = await startSideServer('capacity-upstream.ts', String(places), String(serviceMs))
  stage.atEnd(upstream.stop)
  const levels: Awaited<ReturnType<typeof startLevel>>[] = []
  for (const concurrency of limits) levels.push(await startLevel(stage, concurrency, upstream.port))
  for (let round = 0; round <= stage.options.rounds; round++) {
    for (const { running, adminPort, concurrency, turns } of levels) {
      for (const offer of offers) {
        const admin = watchAdmin(adminPort)
        const { requests, part } = await requestsAt(h2load.path, stage.directory, offer, {
          to: running,
          workload: get,
          seconds: stage.options.seconds,
          connections,
          watch: admin,
        })
        const turn = { ...turnOf(requests, part), ...(await admin.seen()) }
        console.error(
          `round ${round}, concurrency ${concurrency ?? 'none'}, ${offer}/s: ${turn.served.toFixed(0)} served a second`,
        )
        if (round > 0) turns.set(offer, [...(turns.get(offer) ?? []), turn])
        await sleep(2 * serviceMs) // what waits in a queue still has to go
      }
    }
  }
  return { date: new Date().toISOString(), machine: machine(), levels }
}

const startLevel = async (stage: Stage, concurrency: number | null, upstreamPort: number) => {
  const directory = join(stage.directory, `capacity-${concurrency ?? 'none'}`)
  await mkdir(directory)
  const adminPort = await freePort()
  const running = await serveTree(
    projectRoot,
    { ...stage, directory },
    (port) =>
      `${gatewayFile(port, { adminPort })}defaults: { concurrency: ${concurrency ?? 'none'} }\n${behindEach(['127.0.0.1'], upstreamPort)}`,
  )
  stage.atEnd(running.stop)
  return { running, adminPort, concurrency, turns: new Map<number, readonly Turn[]>() }
}

/** Asks for `/status` all the time of the part that counts, and keeps the longest wait. */
const watchAdmin = (port: number): Watch & { readonly seen: () => Promise<Pick<Turn, 'adminMaxMs' | 'stolen'>> } => {
  let watching = false
  let watched = Promise.resolve()
  let adminMaxMs = 0
  let before = readStolen()
  let stolen = 0
  const watch = async (): Promise<void> => {
    while (watching) {
      const startedAt = performance.now()
      const response = await fetch(`http://127.0.0.1:${port}/status`)
      await response.arrayBuffer()
      adminMaxMs = Math.max(adminMaxMs, performance.now() - startedAt)
      await sleep(50)
    }
  }
  return {
    begin: () => {
      watching = true
      before = readStolen()
      watched = watch()
    },
    end: () => {
      watching = false
      stolen = stolenBetween(before, readStolen())
    },
    seen: async () => {
      await watched
      return { adminMaxMs, stolen }
    },
  }
}

const turnOf = (requests: readonly Logged[], { fromUs, toUs }: Part): Omit<Turn, 'adminMaxMs' | 'stolen'> => {
  const perSecond = (count: number): number => (count * 1e6) / (toUs - fromUs)
  const begun = requests.filter(({ startUs }) => startUs >= fromUs && startUs < toUs)
  const millis = (status: number): Float64Array =>
    Float64Array.from(begun.filter((request) => request.status === status).map(({ us }) => us / 1_000)).sort()
  const [served, rejected] = [millis(200), millis(503)]
  const endedWell = requests.filter(
    ({ startUs, status, us }) => status === 200 && startUs + us >= fromUs && startUs + us < toUs,
  )
  return {
    offered: perSecond(begun.length),
    served: perSecond(endedWell.length),
    rejected: perSecond(rejected.length),
    wrong: requests.filter(({ status }) => status !== 200 && status !== 503).length,
    servedP50Ms: quantile(served, 0.5),
    servedP99Ms: quantile(served, 0.99),
    rejectedP50Ms: rejected.length === 0 ? 0 : quantile(rejected, 0.5),
    rejectedMaxMs: rejected.at(-1) ?? 0,
  }
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

/**
 * Writes the result: a row for each limit and offer, and in how many turns what the project holds itself to is kept.
 */
export const renderCapacity = ({ date, machine: where, levels }: CapacityReport): string => {
  // The upstream's, whatever limit found it: one that is too low never shows what it keeps away.
  const peak = Math.max(
    ...levels.flatMap(({ turns }) =>
      [...turns].filter(([offer]) => offer < tooMuch).map(([, low]) => median(low.map(({ served }) => served))),
    ),
  )
  const rows = levels.flatMap(({ concurrency, turns }) =>
    [...turns].map(([offer, taken]) => {
      const middle = (figure: (turn: Turn) => number): number => median(taken.map(figure))
      const most = (figure: (turn: Turn) => number): number => Math.max(...taken.map(figure))
      const both = (figure: (turn: Turn) => number): string =>
        `${middle(figure).toFixed(1)} / ${most(figure).toFixed(1)}`
      const held = taken.filter(
        ({ served, rejectedMaxMs, adminMaxMs }) =>
          served >= goodputAtLeast * peak && rejectedMaxMs < rejectedWithinMs && adminMaxMs <= adminWithinMs,
      )
      return [
        String(concurrency ?? 'none'),
        `${offer} (${middle(({ offered }) => offered).toFixed(0)})`,
        middle(({ served }) => served).toFixed(0),
        percent(middle(({ served }) => served) / peak),
        `${middle((turn) => turn.servedP50Ms).toFixed(0)} / ${middle((turn) => turn.servedP99Ms).toFixed(0)}`,
        middle(({ rejected }) => rejected).toFixed(0),
        middle((turn) => turn.rejectedP50Ms).toFixed(1),
        both((turn) => turn.rejectedMaxMs),
        both((turn) => turn.adminMaxMs),
        String(most(({ wrong }) => wrong)),
        percent(middle(({ stolen }) => stolen)),
        offer === tooMuch ? `${held.length} of ${taken.length}` : '',
      ]
    }),
  )
  const head = [
    'concurrency',
    'offered/s (sent)',
    'served/s',
    'of the peak',
    'served p50 / p99 ms',
    'rejected/s',
    'rejected p50 ms',
    'longest rejection, ms, median / worst turn',
    'longest /status, ms, median / worst turn',
    'wrong',
    'stolen',
    `turns with ≥ ${goodputAtLeast * 100} %, < ${rejectedWithinMs} ms, ≤ ${adminWithinMs} ms`,
  ]
  return [
    `${date}; ${where}`,
    `an upstream that serves ${places} at once, ${serviceMs} ms each; h2load, ${connections} connections`,
    table(head, rows, 1),
  ].join('\n\n')
}
