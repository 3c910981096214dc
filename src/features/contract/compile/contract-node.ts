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

/** Of a map or a list; undefined: there is none. */
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

export class ContractFindings {
  readonly problems = new FirstFindings()
  readonly warnings = new FirstFindings()
  readonly #main: string
  /** Problems of components and other files, until it is known which of them are used. */
  #open: (readonly [node: NodePlace, problem: ConfigProblem])[] = []

  constructor(main: string) {
    this.#main = main
  }

  error(node: NodePlace, issue: NodeIssue): void {
    this.add(node, problemAt(node, issue))
  }

  add({ file, path }: NodePlace, problem: ConfigProblem): void {
    const isComponent = path[0] === 'components' && path.length >= 3
    if (isComponent || file.file !== this.#main) this.#open.push([{ file, path }, problem])
    else this.problems.add(problem)
  }

  /** A problem where none of the nine refers to is a warning. */
  settle(isUsed: (node: NodePlace) => boolean): void {
    for (const [node, problem] of this.#open)
      if (isUsed(node)) this.problems.add(problem)
      else this.warnings.add({ ...problem, message: `${problem.message} (none of the nine refers to this)` })
    this.#open = []
  }

  warn(node: NodePlace, issue: NodeIssue): void {
    this.warnings.add(problemAt(node, issue))
  }
}

class FirstFindings {
  /** Null: beyond the maximum, so it only counts. */
  readonly #known = new Map<string, ConfigProblem | null>()

  get count(): number {
    return this.#known.size
  }

  add(finding: ConfigProblem): void {
    const key = JSON.stringify([finding.file, finding.line, finding.column, finding.path, finding.message])
    if (!this.#known.has(key)) this.#known.set(key, this.#known.size < maxFindings ? finding : null)
  }

  inOrder(first: string, kind: 'problems' | 'warnings'): readonly ConfigProblem[] {
    const kept = [...this.#known.values()]
      .filter((finding) => finding !== null)
      .sort(
        (a, b) =>
          Number(a.file !== first) - Number(b.file !== first) ||
          a.file.localeCompare(b.file) ||
          a.line - b.line ||
          a.column - b.column,
      )
    const last = kept.at(-1)
    if (last === undefined || this.count === kept.length) return kept
    const message = `${this.count - kept.length} more ${kind} are not shown`
    const rest = fileProblem(last.file, message, `at most ${maxFindings}`, `${this.count}`)
    return [...kept, { ...rest, line: last.line, column: last.column }]
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

/** Never quotes the value. */
const describeValue = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (value === null || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`
}

export const describeText = (value: unknown): string =>
  typeof value === 'string' ? quote(value) : describeValue(value)
