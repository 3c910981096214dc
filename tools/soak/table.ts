/** Writes what was measured as tables of Markdown. */
import { table as padded } from '../bench/table.ts'
import type { Churn } from './cache/churn.ts'
import type { Http2Run } from './http2/soak-http2.ts'
import type { Idle } from './idle.ts'
import type { LongRun } from './long-run.ts'
import type { Sample } from './series.ts'
import type { Slow } from './slow.ts'
import type { Verdict } from './verdict.ts'

const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  padded(
    head,
    rows.map((cells) => cells.map(String)),
    1,
  )

const mib = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)

export const renderVerdicts = (verdicts: readonly Verdict[]): string =>
  table(
    ['what', 'found', 'at most', ''],
    verdicts.map(({ what, found, atMost, held }) => [what, found, atMost, held ? 'held' : '**not held**']),
  )

export const renderIdle = (measured: readonly Idle[]): string =>
  table(
    ['idle connections', 'KiB each', 'before a collection', 'of it heap', 'closed'],
    measured.map((each) => [
      `${each.connections} to ${each.who}`,
      each.residentKiBEach.toFixed(1),
      each.uncollectedKiBEach.toFixed(1),
      each.heapKiBEach.toFixed(1),
      each.closed,
    ]),
  )

export const renderSlow = (measured: readonly Slow[]): string =>
  table(
    ['', 'MiB before', 'MiB at most', 'closed', 'left'],
    measured.map(({ connections, what, beforeMiB, peakMiB, closed, left }) => [
      `${connections} ${what}`,
      beforeMiB.toFixed(0),
      peakMiB.toFixed(0),
      closed,
      left.join(', '),
    ]),
  )

/** As many rows as can be read. */
const maxRows = 20

export const renderRun = (run: LongRun): string =>
  [
    `${run.minutes} minutes, workers ${run.workers}, ${run.requests} requests that should go well`,
    counts('done', run.disturbances),
    counts('explained', run.explained),
    counts('log lines of level error', run.complaints),
    ...(['gateway', 'worker'] as const).map((who) => samples(run.samples.filter((each) => each.who === who))),
  ]
    .filter((part) => part !== '')
    .join('\n\n')

export const renderChurn = ({ minutes, tally, samples, said }: Churn): string => {
  const { requests, left, brokenOff, invalidated } = tally
  const every = Math.ceil(samples.length / maxRows)
  const rows = samples
    .filter((_, nth) => nth % every === 0)
    .map((each) => [
      Math.round(each.atMs / 1000),
      mib(each.heapBytes),
      mib(each.externalBytes),
      mib(each.residentKiB * 1024),
      mib(each.uncollectedKiB * 1024),
      mib(each.bytes),
      each.entries,
      each.evictions,
    ])
  return [
    `${minutes} minutes after a warm-up`,
    counts('clients', { requests, left, 'broken off upstream': brokenOff, invalidated }),
    counts('cache', said.outcomes),
    table(
      ['s', 'heap MiB', 'external MiB', 'resident MiB', 'before a collection', 'stored MiB', 'responses', 'evictions'],
      rows,
    ),
  ].join('\n\n')
}

export const renderHttp2 = (run: Http2Run): string =>
  [
    `${run.minutes} minutes, ${run.edits} edits; the gateway took ${run.gatewayCores.toFixed(2)} cores of the ${run.allCores.toFixed(2)} that all took`,
    table(
      ['client', 'requests', 'right', 'MiB'],
      run.clients.map(({ name, sent, right, bytes }) => [name, sent, right, mib(bytes)]),
    ),
    table(
      ['flood', 'times', 'right'],
      Object.entries(run.floods).map(([name, { times, right }]) => [name, times, right]),
    ),
    [...run.clients, ...Object.values(run.floods)].flatMap(({ wrong }) => wrong || []).join('\n'),
    counts('rejections', run.rejections),
    counts('log lines of level error', run.complaints),
    samples(run.samples),
  ]
    .filter((part) => part !== '')
    .join('\n\n')

const counts = (what: string, of: Readonly<Record<string, number>>): string =>
  Object.keys(of).length === 0 ? '' : table([what, 'times'], Object.entries(of).toSorted())

const samples = (taken: readonly Sample[]): string => {
  if (taken.length === 0) return ''
  const every = Math.ceil(taken.length / maxRows)
  return table(
    ['s', 'process', 'heap MiB', 'external MiB', 'resident MiB', 'anonymous MiB', 'sockets', 'timers'],
    taken
      .filter((_, nth) => nth % every === 0)
      .map((each) => [
        Math.round(each.atMs / 1000),
        `${each.who} ${each.pid}`,
        mib(each.heapBytes),
        mib(each.externalBytes),
        mib(each.residentKiB * 1024),
        mib(each.anonymousKiB * 1024),
        each.descriptors.socket ?? 0,
        each.resources.Timeout ?? 0,
      ]),
  )
}
