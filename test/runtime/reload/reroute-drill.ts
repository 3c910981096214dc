/** The drill that every way of editing goes through: a hundred edits that reroute, and after each one that is refused. */
import { describe, expect, test } from 'vitest'
import { groups } from '../../../src/operations.ts'
import type { EditableFile, OnTestEnd } from '../../helpers/editable-file.ts'
import { bootEditedGateway, type EditedGateway, type Heap, type Status } from '../../helpers/edited-gateway.ts'
import { fetchAdmin } from '../../helpers/live-gateway.ts'
import { openServer, type SteadyLoadResult, steadyLoad } from '../../helpers/steady-load.ts'

/** Says how the gateway hears of an edit: by itself, or told by SIGHUP or by POST /reload. */
export type Trigger = 'watch' | 'signal' | 'request'

/** Is what a drill found out. */
export interface Drilled extends SteadyLoadResult {
  /** Edits that reroute, from the write to /status showing it, in ms. */
  readonly appliedMs: readonly number[]
  /** The same of edits that are refused. */
  readonly refusedMs: readonly number[]
  /** From POST /reload to its answer, in ms; empty where nobody asked. */
  readonly answeredMs: readonly number[]
  /** What a refused edit changed all the same. */
  readonly changed: readonly string[]
  readonly heaps: readonly Heap[]
}

/** Is a mistake that people make, and how the gateway tells them. */
interface Mistake {
  make(text: string): string
  readonly line: number
  readonly says: string
}

const rounds = 100
const roundsPerHeap = 3

/** Writes a configuration in which everything goes to one server; the lines are those that mistakes are looked for in. */
export const routedTo = (url: string, reload: string): string =>
  [
    'listen: { host: 127.0.0.1, port: 0 }',
    'admin: { port: 0 }',
    `reload: ${reload}`,
    'shutdown: { wait: 5s }',
    'upstreams:',
    ...groups.map((group) => `  ${group}: ${url}`),
    '',
  ].join('\n')

const lineOf = (group: (typeof groups)[number]): number => 6 + groups.indexOf(group)

const replaced = (found: RegExp, by: string) => (text: string) => text.replace(found, by)

const mistakes: readonly Mistake[] = [
  { make: replaced(/risk:/, 'risc:'), line: lineOf('risk'), says: 'did you mean "risk"?' },
  { make: replaced(/^ {2}risk:/m, '\trisk:'), line: lineOf('risk'), says: 'a tab in the indentation' },
  { make: replaced(/wait: 5s/, 'wait: 5'), line: 4, says: 'a unit is missing' },
  { make: replaced(/leads: /, 'leads: "'), line: lineOf('leads'), says: 'a quote that is not closed' },
  { make: replaced(/market: .*/, 'market:'), line: lineOf('market'), says: 'no value' },
  {
    make: replaced(/market: (.*)/, 'market: { endpoints: [$1], request: { set: { X-Api-Key: file:missing } } }'),
    line: lineOf('market'),
    says: 'no such file',
  },
  { make: replaced(/host: 127.0.0.1, port: 0/, 'host: 127.0.0.1, port: 1'), line: 1, says: 'restart' },
  { make: () => '', line: 1, says: 'the file is empty' },
]

/** Reroutes a gateway under load again and again, with a mistake after each time. */
const drill = async (way: EditableFile, trigger: Trigger, reload: string, onEnd: OnTestEnd): Promise<Drilled> => {
  const servers = [await openServer(0, onEnd), await openServer(1, onEnd)] as const
  const textOf = (edit: number): string => routedTo(servers[edit % 2 === 0 ? 0 : 1], reload)
  way.write(textOf(0))
  const gateway = await bootEditedGateway(way, onEnd)
  const load = steadyLoad(gateway.port, onEnd)
  const appliedMs: number[] = []
  const refusedMs: number[] = []
  const answeredMs: number[] = []
  const changed: string[] = []
  const heaps: Heap[] = []
  const edit = async (text: string, shown: (status: Status) => boolean): Promise<readonly [Status, number]> => {
    const before = performance.now()
    way.write(text)
    if (trigger === 'signal') gateway.signal('SIGHUP')
    if (trigger === 'request') answeredMs.push(await askedToReload(gateway))
    const status = await gateway.shows(shown)
    return [status, performance.now() - before]
  }
  await load.editShown()

  for (let round = 1; round <= rounds; round++) {
    load.editWritten()
    const [applied, tookMs] = await edit(textOf(round), showsRouteTo(servers[round % 2 === 0 ? 0 : 1]))
    await load.editShown()
    appliedMs.push(tookMs)

    const mistake = mistakes[round % mistakes.length] as Mistake
    const [refused, refusedAfterMs] = await edit(mistake.make(textOf(round + 1)), isRefusedFor(mistake))
    refusedMs.push(refusedAfterMs)
    if (!isUnchanged(applied, refused)) changed.push(`${mistake.says}: ${JSON.stringify(refused)}`)

    if (round % roundsPerHeap === 0) heaps.push(await load.uncounted(() => gateway.heap()))
  }

  return { ...(await load.stop()), appliedMs, refusedMs, answeredMs, changed, heaps }
}

/** Asks for a reload, and tells how long the answer took, whatever it says. */
const askedToReload = async ({ admin }: EditedGateway): Promise<number> => {
  const before = performance.now()
  await fetchAdmin(`${admin}/reload`, 'POST')
  return performance.now() - before
}

/** Makes the question whether a status shows that everything goes to a server. */
export const showsRouteTo =
  (url: string) =>
  ({ upstreams }: Status): boolean =>
    upstreams.market.endpoints[0]?.url === url

const isRefusedFor =
  ({ line, says }: Mistake) =>
  ({ config: { lastRefusal } }: Status): boolean =>
    lastRefusal?.problems.some((problem) => problem.line === line && problem.message.includes(says)) === true

const isUnchanged = (before: Status, after: Status): boolean =>
  after.config.hash === before.config.hash &&
  after.config.fileDiffers &&
  JSON.stringify(after.upstreams.market.endpoints.map(({ url }) => url)) ===
    JSON.stringify(before.upstreams.market.endpoints.map(({ url }) => url))

const median = (numbers: readonly number[]): number => percentile(numbers, 50)

/** Tells how much more the heap holds in the last third of a drill than in the middle one, by their medians. */
const heapGrowth = ({ heaps }: Drilled): number => {
  const third = Math.floor(heaps.length / 3)
  const used = heaps.map(({ usedBytes }) => usedBytes)
  return median(used.slice(-third)) / median(used.slice(-2 * third, -third))
}

/** Sums up a drill in a line. */
const figures = (way: EditableFile, drilled: Drilled): string => {
  const { requests, judged, appliedMs, refusedMs, answeredMs, latenciesMs, heaps } = drilled
  const spread = (numbers: readonly number[]): string =>
    [0, 50, 99, 100].map((share) => percentile(numbers, share).toFixed(1)).join('/')
  const megabytes = (bytes: number | undefined): string => ((bytes ?? 0) / 1e6).toFixed(1)
  return [
    `${way.name}: ${requests} requests, ${judged} judged`,
    `min/median/p99/max ms: applied ${spread(appliedMs)}, refused ${spread(refusedMs)}, POST /reload ${spread(answeredMs)}`,
    `latency ${spread(latenciesMs)}`,
    `heap ×${heapGrowth(drilled).toFixed(4)}, ${heaps.map(({ usedBytes }) => megabytes(usedBytes)).join(' ')} MB`,
    `resident ${megabytes(heaps[0]?.residentBytes)} → ${megabytes(heaps.at(-1)?.residentBytes)} MB`,
  ].join('; ')
}

const percentile = (numbers: readonly number[], share: number): number => {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * share) / 100))] ?? 0
}

/** A way of editing: its name, how it is made, how the gateway hears of it, and what the file says of reloads. */
type Case = readonly [name: string, make: (onEnd: OnTestEnd) => EditableFile, trigger: Trigger, reload: string]

/** Drills each of some ways at the same time: no request fails or goes wrong, no refused edit changes anything, and the heap does not grow. */
export const nobodyNotices = (cases: readonly Case[]): void => {
  describe('nobody notices a hundred reroutes and a hundred refused edits', {
    concurrent: true,
    timeout: 600_000,
  }, () => {
    test.for(cases)('%s', async ([, make, trigger, reload], { annotate, onTestFinished }) => {
      const way = make(onTestFinished)

      const drilled = await drill(way, trigger, reload, onTestFinished)

      await annotate(figures(way, drilled))
      expect(drilled).toMatchObject({ failed: [], misrouted: [], changed: [] })
      // The best of a hundred: the others tell how busy the machine was.
      expect(Math.min(...drilled.appliedMs)).toBeLessThan(1000)
      expect(heapGrowth(drilled)).toBeLessThanOrEqual(1.03)
    })
  })
}
