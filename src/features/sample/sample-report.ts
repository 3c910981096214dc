import type { Config } from '../../core/config/config.ts'
import { type ConfigProblem, type FilePosition, formatProblem } from '../../core/config/problem.ts'
import { escapeControls } from '../../core/lib/text/escape-controls.ts'
import { formatTable } from '../../core/lib/text/table.ts'
import type { OperationId } from '../../operations.ts'
import type { UncheckedReason } from '../contract/check/check-message.ts'
import { createValidators, formatViolationPlace } from '../contract/check/validators.ts'
import { type CheckedMessage, type CheckedSample, checkSample } from './check-sample.ts'
import { readSamples } from './read-samples.ts'

interface SampleRow extends CheckedSample, FilePosition {
  readonly file: string
  readonly operation: OperationId
}

type SampleReport = ReturnType<typeof toReport>

export const checkSampleFiles = async (files: readonly string[], config: Config, configFile: string) => {
  const { compiledContract, contract } = config
  if (compiledContract === null || contract === null)
    return toReport([{ file: configFile, line: 1, column: 1, path: 'contract', ...noContract }])
  // The samples are the operator's own: violations may quote their names.
  const validators = createValidators(compiledContract, null)
  const read = files.map((file) => {
    const { samples, problems, unreadable } = readSamples(file, config)
    const rows = samples.map((sample): SampleRow | ConfigProblem => {
      const { at, operation } = sample
      const own = compiledContract.operations[operation]
      if (own !== undefined) return { file, ...at, operation, ...checkSample(sample, own, validators, config) }
      return {
        file,
        ...at,
        path: 'operation',
        message: `the contract does not have ${operation}`,
        expected: `one of ${Object.keys(compiledContract.operations).join(', ')}`,
        found: operation,
        hint: `add it to ${contract.file}, or remove the sample`,
      }
    })
    return { inOrder: [...rows, ...problems].toSorted((a, b) => a.line - b.line || a.column - b.column), unreadable }
  })
  return toReport(
    read.flatMap(({ inOrder }) => inOrder),
    read.some(({ unreadable }) => unreadable),
  )
}

const toReport = (inOrder: readonly (SampleRow | ConfigProblem)[], unreadable = false) => {
  const problems = inOrder.filter((each) => 'path' in each)
  const samples = inOrder.filter((each) => 'request' in each)
  const isKeptByAll = samples.every((row) => messagesOf(row).every(({ message }) => isKept(message)))
  return { ok: problems.length === 0 && isKeptByAll, inOrder, samples, problems, unreadable }
}

const noContract = {
  message: 'there is no contract to check a sample against',
  expected: 'contract: { file: contract.yaml }',
  found: 'none',
}

const isKept = ({ violations }: CheckedMessage): boolean => violations.length === 0

const messagesOf = ({ request, response }: CheckedSample) => [
  ...(request === null ? [] : [{ direction: 'request', message: request }]),
  ...(response === null ? [] : [{ direction: 'response', message: response }]),
]

export const renderSamples = ({ inOrder }: SampleReport): string =>
  inOrder.map((each) => ('path' in each ? `${formatProblem(each)}\n` : renderSample(each))).join('')

const renderSample = (row: SampleRow): string =>
  messagesOf(row)
    .map(({ direction, message }) => {
      const { violations, unchecked } = message
      const where = `${row.file}:${row.line}:${row.column} ${row.operation}`
      const body = unchecked === null ? '' : `; its body is not checked: ${uncheckedTexts[unchecked]}`
      if (isKept(message)) return `${where}: the ${direction} keeps the contract${body}\n`
      const rows = violations.map((each) => [
        `    ${escapeControls(formatViolationPlace(each))}`,
        each.rule,
        each.detail,
      ])
      return `${where}: ${describeOutcome(message)}: the ${direction} breaks the contract${body}\n${formatTable(rows)}\n`
    })
    .join('')

const describeOutcome = ({ mode, rejected }: CheckedMessage): string => {
  if (rejected !== null) return `the client gets ${rejected.status} ${rejected.code}`
  return mode === 'report' ? 'it is forwarded, and counted' : 'it is forwarded, because the mode is off'
}

const uncheckedTexts: Readonly<Record<UncheckedReason, string>> = {
  'too-large': 'it is larger than contract.maxBody',
  coded: 'it is compressed, or coded in another way',
  'not-json': 'it is not JSON',
  partial: 'it is a part of a body (206)',
  'too-complex': 'checking it takes too long',
  busy: 'too many wait for their check',
}
