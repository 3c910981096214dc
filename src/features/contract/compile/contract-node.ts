import {
  type ConfigIssue,
  type ConfigProblem,
  fileProblem,
  formatKeyPath,
  type KeyPath,
  quote,
} from '../../../core/config/problem.ts'
import { escapeSegment, type PlainObject } from '../../../core/lib/plain-object.ts'
import type { ContractFile } from './contract-file.ts'

export type Tree = PlainObject

export interface ContractNode {
  readonly file: ContractFile
  readonly path: KeyPath
  readonly value: unknown
}

export type NodeIssue = Pick<ConfigIssue, 'message' | 'expected' | 'found' | 'hint' | 'atKey'>

export const asItems = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const memberAt = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Tree)[key] : undefined

export const childOf = ({ file, path, value }: ContractNode, key: string | number): ContractNode => ({
  file,
  path: [...path, key],
  value: memberAt(value, key),
})

const problemAt = ({ file, path }: NodePlace, { atKey, hint, ...issue }: NodeIssue): ConfigProblem => {
  const problem = { file: file.file, ...file.locate(path, atKey), path: formatKeyPath(path), ...issue }
  return hint === undefined ? problem : { ...problem, hint }
}

export type NodePlace = Pick<ContractNode, 'file' | 'path'>

export const nodeKey = ({ file, path }: NodePlace): string =>
  `${file.file}#${path.map((key) => escapeSegment(String(key))).join('/')}`

// A file in a foreign format would give thousands.
const maxFindings = 100

export type ContractFindings = ReturnType<typeof createFindings>

export const createFindings = (main: string) => {
  const [problems, warnings] = [createFirstFindings(), createFirstFindings()]
  /** Problems of components and other files, until it is known which of them are used. */
  const open: (readonly [node: NodePlace, problem: ConfigProblem])[] = []
  const add = ({ file, path }: NodePlace, problem: ConfigProblem): void => {
    const isComponent = path[0] === 'components' && path.length >= 3
    if (isComponent || file.file !== main) open.push([{ file, path }, problem])
    else problems.add(problem)
  }
  return {
    ...{ problems, warnings, add },
    error: (node: NodePlace, issue: NodeIssue) => add(node, problemAt(node, issue)),
    warn: (node: NodePlace, issue: NodeIssue) => warnings.add(problemAt(node, issue)),
    /** A problem that none of the nine refers to is a warning. */
    settle(isUsed: (node: NodePlace) => boolean): void {
      for (const [node, problem] of open.splice(0))
        if (isUsed(node)) problems.add(problem)
        else
          warnings.add({ ...problem, message: `${problem.message} (no operation refers to this part of the document)` })
    },
  }
}

const createFirstFindings = () => {
  const known = new Map<string, ConfigProblem | null>()
  return {
    count: () => known.size,
    add(finding: ConfigProblem): void {
      const key = JSON.stringify([finding.file, finding.line, finding.column, finding.path, finding.message])
      if (!known.has(key)) known.set(key, known.size < maxFindings ? finding : null)
    },
    inOrder(first: string, kind: 'problems' | 'warnings'): readonly ConfigProblem[] {
      const kept = [...known.values()]
        .filter((finding) => finding !== null)
        .sort(
          (a, b) =>
            Number(a.file !== first) - Number(b.file !== first) ||
            a.file.localeCompare(b.file) ||
            a.line - b.line ||
            a.column - b.column,
        )
      const last = kept.at(-1)
      if (last === undefined || known.size === kept.length) return kept
      const message = `${known.size - kept.length} more ${kind} are not shown`
      const rest = fileProblem(last.file, message, `at most ${maxFindings}`, `${known.size}`)
      return [...kept, { ...rest, line: last.line, column: last.column }]
    },
  }
}

export const wrongValue = (message: string, expected: string, value: unknown, hint?: string): NodeIssue => ({
  message,
  expected,
  found: describeValue(value),
  hint,
})

export const wrongKey = (message: string, expected: string, key: string, hint?: string): NodeIssue => ({
  message,
  expected,
  found: quote(key),
  hint,
  atKey: true,
})

/** Values are never quoted. */
const describeValue = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (value === null || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`
}

export const describeText = (value: unknown): string =>
  typeof value === 'string' ? quote(value) : describeValue(value)
