import type { ContractStatus } from '../../../features/contract/status.ts'
import type { LearningStatus } from '../../../features/contract-learning/status.ts'
import type { Status } from '../../admin/api/status.ts'
import { isMutatingCommand } from '../../admin/commands/command-groups.ts'
import { sinceStart } from '../../admin/commands/phrases.ts'
import { formatRoundedSize, formatShare } from '../../lib/text/units.ts'
import { formatAgo, formatTimeLeft, humanizeSeconds } from './format-time.ts'
import { formatTable, renderCounts, type TableRow } from './table.ts'

/** Renders the findings, the worst first, each with a command that shows more, or a line that there are none. */
export const renderFindings = (findings: Status['findings'], at: number): string =>
  findings.length === 0 ? 'nothing is wrong' : findings.map((finding) => renderFinding(finding, at)).join('\n')

const renderFinding = (
  { severity, about, cause, details, since, command }: Status['findings'][number],
  at: number,
): string => {
  const more = [
    ...(since === null ? [] : [`since ${formatAgo(since, at)}`]),
    ...(command === null ? [] : [`${isMutatingCommand(command) ? 'to do' : 'more'}: ${command}`]),
  ]
  const first = `${(severity === 'critical' ? 'CRITICAL' : severity).padEnd(severityWidth)}  ${about}: ${cause}`
  const below = [...(more.length === 0 ? [] : [more.join('; ')]), ...details.map((detail) => `- ${detail}`)]
  return [first, ...below.map((text) => `${' '.repeat(severityWidth)}  ${text}`)].join('\n')
}

const severityWidth = 'CRITICAL'.length

/** `hash` is that of the configuration that all of them should run. */
export const workerRows = (workers: Status['workers'], hash: string, at: number): readonly TableRow[] => [
  ['worker', 'process', 'up', 'in flight', `restarts ${sinceStart}`, 'state'],
  ...workers.map(
    (worker): TableRow => [
      `${worker.worker}`,
      worker.pid === null ? 'none' : `${worker.pid}`,
      worker.startedAt === null ? '' : renderUptime(worker.startedAt, at),
      worker.inFlight === null ? '?' : `${worker.inFlight}`,
      `${worker.restarts}`,
      describeWorker(worker, hash),
    ],
  ),
]

const renderUptime = (startedAt: string, at: number): string => {
  const ms = Date.parse(startedAt)
  return Number.isNaN(ms) ? startedAt : humanizeSeconds((at - ms) / 1000)
}

/** Describes the state of a worker; what needs an operator is in capitals. */
const describeWorker = ({ state, pid, config }: Status['workers'][number], hash: string): string => {
  if (state === 'not answering') return `NOT ANSWERING: if it stays so, kill -9 ${pid} has it replaced`
  if (state === 'waiting') return 'ENDED AGAIN AND AGAIN: the next start waits, the log says why'
  return config === null || config === hash ? state : `${state}, RUNS ANOTHER CONFIGURATION: ${config}`
}

export const limitRows = ({ rate, concurrency, eventLoop }: Status['limits'], at: number): readonly TableRow[] => [
  ['limit', 'now'],
  ...(rate === null ? [] : [rateRow(rate, at)]),
  ...concurrency.map(({ key, inFlight, limit }): TableRow => {
    const full = inFlight >= limit ? ': FULL, what comes is refused' : ''
    return [key, `${inFlight} of ${limit} in flight${full}`]
  }),
  ...(eventLoop === null ? [] : [eventLoopRow(eventLoop, at)]),
]

const rateRow = (
  { store, server, state, since, where, evictions }: NonNullable<Status['limits']['rate']>,
  at: number,
): TableRow => {
  const here = where === null ? '' : ` ${where}`
  const redisText =
    state === 'shared'
      ? `by redis (${server}), with other gateways`
      : `REDIS (${server}) IS OF NO USE${here} since ${formatAgo(since, at)}: counted here`
  const forgotten = evictions === 0 ? '' : `; ${evictions} keys forgotten for want of room ${sinceStart}`
  return ['counts', `${store === 'redis' ? redisText : 'counted in memory'}${forgotten}`]
}

const eventLoopRow = (
  { delayMs, limitMs, sheds, since, where }: NonNullable<Status['limits']['eventLoop']>,
  at: number,
): TableRow => {
  const late = `${delayMs} of ${limitMs} ms late`
  const shed = sheds ? `: SHEDS LOAD${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}` : ''
  return ['limits.eventLoopDelay', `${late}${shed}`]
}

export const idempotencyRows = (status: NonNullable<Status['idempotency']>, at: number): readonly TableRow[] => {
  const { entries, maxEntries, bytes, maxBytes, inProgress, dropped, refused } = status
  const isFull = entries !== null && maxEntries !== null && entries >= maxEntries
  const rows: readonly TableRow[] = [
    ['store', renderKeyStore(status, at)],
    ['keys', `${renderOfMost(entries, maxEntries, String)}${isFull ? ': FULL, no new one is remembered' : ''}`],
    ['responses', renderOfMost(bytes, maxBytes, formatRoundedSize)],
    ['in progress', inProgress === null ? '' : `${inProgress}`],
    ['unknown', renderUnknownOutcomes(status, at)],
    ['given up', dropped === 0 ? '' : `${dropped} responses, for want of room, ${sinceStart}`],
    ['refused', refused === 0 ? '' : `${refused} keys, for want of room, ${sinceStart}`],
  ]
  return [['idempotency', 'now'], ...rows.filter(([, text]) => text !== '')]
}

const renderKeyStore = (
  { store, state, since, reason, where }: NonNullable<Status['idempotency']>,
  at: number,
): string => {
  if (state !== 'unavailable') return state === 'shared' ? `${store}, with other gateways` : `${store}, of this gateway`
  const here = where === null ? '' : ` ${where}`
  return `${store} OF NO USE${here} since ${formatAgo(since, at)}${reason === null ? '' : `: ${reason}`}`
}

const renderUnknownOutcomes = ({ unknown, oldestUnknown }: NonNullable<Status['idempotency']>, at: number): string => {
  if (unknown === null) return ''
  return oldestUnknown === null ? `${unknown}` : `${unknown} OUTCOMES, the oldest ${formatAgo(oldestUnknown, at)}`
}

const renderOfMost = (value: number | null, most: number | null, format: (value: number) => string): string =>
  value === null ? '' : most === null ? format(value) : `${format(value)} of ${format(most)}`

/** Lists the operations that are refused, or whose state an operator has changed for a while. */
export const operationRows = (operations: Status['operations'], at: number): readonly TableRow[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end, orderedBy, orderReason }]): TableRow => {
    const why = orderReason === null ? '' : `: ${orderReason}`
    const stateText = state === 'refuse' ? 'REFUSED' : state === 'serve' ? 'served' : state
    return [
      id,
      end === null
        ? `${stateText} by the file`
        : `${stateText} by ${orderedBy ?? 'an operator'} until ${formatTimeLeft(end, at)}${why}`,
    ]
  }),
]

export const renderLearning = ({ by, orderedBy, enums, until }: LearningStatus, at: number): string => {
  const what = `the contract is learnt${enums ? ', with enumerations' : ''}`
  const end = until === null ? '' : ` until ${formatTimeLeft(until, at)}`
  return `${what}, ${by === 'file' ? 'as the file says' : `by ${orderedBy ?? 'an operator'}${end}`}: contract draft prints it`
}

/**
 * Renders how many messages of each operation keep the contract, and since when they are counted; what needs an
 * operator is in capitals. Operations that the contract does not name are not in it: a warning says how many they are.
 * Null: every operation says off, or is not in the contract.
 */
export const renderContractCounts = (contract: ContractStatus, at: number): string | null => {
  const rows = contractRows(contract)
  if (rows.length === 1) return null
  const { countedSince } = contract
  return formatTable(rows) + (countedSince === null ? '' : `\ncounted since ${formatAgo(countedSince, at)}`)
}

const contractRows = ({ operations }: ContractStatus): readonly TableRow[] => [
  ['contract', 'messages', 'mode', 'checked', 'broken', 'rejected', 'unchecked'],
  ...Object.entries(operations).flatMap(([id, { line, request, response }]): TableRow[] => {
    const heldTo = [['requests', request] as const, ['responses', response] as const].filter(
      ([, { mode }]) => line !== null && mode !== 'off',
    )
    return heldTo.map(([messages, { mode, checked, broken, rejected, unchecked }]) => {
      const brokenText = broken === 0 ? '0' : `${broken} (${formatShare(broken, checked)})`
      return [id, messages, mode, `${checked}`, brokenText, `${rejected}`, renderCounts(unchecked)]
    })
  }),
]
