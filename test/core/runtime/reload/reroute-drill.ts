/** The drill of every way to edit the file: edits that reroute, and after each one that is rejected. */
import { describe, expect, test } from 'vitest'
import { groups } from '../../../../src/operations.ts'
import type { EditableFile, OnTestEnd } from '../../../helpers/editable-file.ts'
import { bootEditedGateway, type Heap, type Status } from '../../../helpers/edited-gateway.ts'
import { openServer, type SteadyLoadResult, steadyLoad } from '../../../helpers/steady-load.ts'

/** How the gateway notices an edit: by its watch, or by SIGHUP. */
export type Trigger = 'watch' | 'signal'

/** What a drill measured. */
export interface DrillResult extends SteadyLoadResult {
  /** Edits that reroute, from the write to /status showing it, in ms. */
  readonly appliedMs: readonly number[]
  /** What a rejected edit changed all the same. */
  readonly changed: readonly string[]
  readonly heaps: readonly Heap[]
}

/** A mistake that operators make, and how the gateway reports it. */
interface Mistake {
  make(text: string): string
  readonly line: number
  readonly message: string
}

// Each mistake three times, and four heaps in each third.
const rounds = 24
const roundsPerHeap = 2

/**
 * Writes a configuration in which everything goes to one server. {@link mistakes} relies on its lines. A request ends
 * at its deadline alone: while the heap is measured a gateway on a slow machine stands still for seconds.
 */
export const routedTo = (url: string, reload: string, deadline = '30s'): string =>
  [
    'listen: { host: 127.0.0.1, port: 0 }',
    'admin: { port: 0 }',
    `reload: ${reload}`,
    'shutdown: { wait: 5s }',
    'upstreams:',
    ...groups.map((group) => `  ${group}: ${url}`),
    `defaults: { timeouts: { connect: 1m, headers: 1m }, deadline: ${deadline} }`,
    '',
  ].join('\n')

const lineOf = (group: (typeof groups)[number]): number => 6 + groups.indexOf(group)

const replacing = (found: RegExp, by: string) => (text: string) => text.replace(found, by)

const mistakes: readonly Mistake[] = [
  { make: replacing(/risk:/, 'risc:'), line: lineOf('risk'), message: 'did you mean "risk"?' },
  { make: replacing(/^ {2}risk:/m, '\trisk:'), line: lineOf('risk'), message: 'a tab in the indentation' },
  { make: replacing(/wait: 5s/, 'wait: 5'), line: 4, message: 'a unit is missing' },
  { make: replacing(/leads: /, 'leads: "'), line: lineOf('leads'), message: 'a quote that is not closed' },
  { make: replacing(/market: .*/, 'market:'), line: lineOf('market'), message: 'no value' },
  {
    make: replacing(/market: (.*)/, 'market: { endpoints: [$1], request: { set: { X-Api-Key: file:missing } } }'),
    line: lineOf('market'),
    message: 'no such file',
  },
  { make: replacing(/host: 127.0.0.1, port: 0/, 'host: 127.0.0.1, port: 1'), line: 1, message: 'restart' },
  { make: () => '', line: 1, message: 'the file is empty' },
]

/** Reroutes a gateway under load again and again, with a mistake after each time. */
const drill = async (way: EditableFile, trigger: Trigger, reload: string, onEnd: OnTestEnd): Promise<DrillResult> => {
  const servers = [await openServer(0, onEnd), await openServer(1, onEnd)] as const
  const textOf = (edit: number): string => routedTo(servers[edit % 2 === 0 ? 0 : 1], reload)
  way.write(textOf(0))
  const gateway = await bootEditedGateway(way, onEnd)
  const load = steadyLoad(gateway.port, onEnd)
  const appliedMs: number[] = []
  const changed: string[] = []
  const heaps: Heap[] = []
  const edit = async (text: string, shown: (status: Status) => boolean): Promise<readonly [Status, number]> => {
    const before = performance.now()
    way.write(text)
    if (trigger === 'signal') gateway.signal('SIGHUP')
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
    const [rejected] = await edit(mistake.make(textOf(round + 1)), isRejectedFor(mistake))
    if (!isUnchanged(applied, rejected)) changed.push(`${mistake.message}: ${JSON.stringify(rejected)}`)

    if (round % roundsPerHeap === 0) heaps.push(await gateway.heap())
  }

  return { ...(await load.stop()), appliedMs, changed, heaps }
}

/** Returns a predicate: whether a status shows that everything goes to a server. */
export const showsRouteTo =
  (url: string) =>
  ({ upstreams }: Status): boolean =>
    upstreams.market.endpoints[0]?.url === url

const isRejectedFor =
  ({ line, message }: Mistake) =>
  ({ config: { lastRejection } }: Status): boolean =>
    lastRejection?.problems.some((problem) => problem.line === line && problem.message.includes(message)) === true

const isUnchanged = (before: Status, after: Status): boolean =>
  after.config.hash === before.config.hash &&
  after.config.fileDiffers &&
  JSON.stringify(after.upstreams.market.endpoints.map(({ url }) => url)) ===
    JSON.stringify(before.upstreams.market.endpoints.map(({ url }) => url))

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0

/** Compares the heap of the last third of a drill with that of the middle one, by their medians. */
const heapGrowth = ({ heaps }: DrillResult): number => {
  const third = Math.floor(heaps.length / 3)
  const used = heaps.map(({ usedBytes }) => usedBytes)
  return median(used.slice(-third)) / median(used.slice(-2 * third, -third))
}

/** A way to edit the file: its name, how it is made, how the gateway notices an edit, and the file's `reload`. */
type Case = readonly [name: string, make: (onEnd: OnTestEnd) => EditableFile, trigger: Trigger, reload: string]

/**
 * Drills each of some ways at the same time: no request fails or goes wrong, no rejected edit changes anything, and the
 * heap does not grow.
 */
export const drillReroutes = (cases: readonly Case[]): void => {
  describe('clients notice nothing of many reroutes and as many rejected edits', {
    concurrent: true,
    timeout: 600_000,
  }, () => {
    test.for(cases)('%s', async ([, make, trigger, reload], { onTestFinished }) => {
      const result = await drill(make(onTestFinished), trigger, reload, onTestFinished)

      expect(result).toMatchObject({ failed: [], misrouted: [], changed: [] })
      // The best of them: the others show how busy the machine was.
      expect(Math.min(...result.appliedMs)).toBeLessThan(1000)
      expect(heapGrowth(result)).toBeLessThanOrEqual(1.03)
    })
  })
}
