import type { PlainObject } from '../../plain-object.ts'
import { type ConfigIssue, type ConfigProblem, fileProblem, formatKeyPath, type KeyPath } from '../problem.ts'
import type { ContractFile } from './contract-file.ts'

/** A map of a document. */
export type Tree = PlainObject

/** A value in a file of the contract. */
export interface ContractNode {
  readonly file: ContractFile
  readonly path: KeyPath
  readonly value: unknown
}

/** What is wrong with a node, or with what it lacks. */
export type NodeIssue = Pick<ConfigIssue, 'message' | 'expected' | 'found' | 'hint' | 'atKey'>

/** Returns a list; an empty one for any other value. */
export const asItems = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns an entry of a node; its value is undefined where there is none. */
export const childOf = ({ file, path, value }: ContractNode, key: string | number): ContractNode => ({
  file,
  path: [...path, key],
  value: typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Tree)[key] : undefined,
})

/** Locates a problem. */
const problemAt = (
  { file, path }: Pick<ContractNode, 'file' | 'path'>,
  { atKey, hint, ...issue }: NodeIssue,
): ConfigProblem => {
  const problem = { file: file.file, ...file.locate(path, atKey), path: formatKeyPath(path), ...issue }
  return hint === undefined ? problem : { ...problem, hint }
}

// An operator mends the first ones first; a file in a foreign format would give thousands.
const maxFindings = 100

/** A place in a file of the contract. */
export type NodePlace = Pick<ContractNode, 'file' | 'path'>

/** Collects what is found wrong with a contract, and what was probably not meant. */
export class ContractFindings {
  readonly problems = new FirstFindings('problems')
  readonly warnings = new FirstFindings('warnings')
  /** What is wrong with components, as long as it is not known which of them are used. */
  #ofComponents: (readonly [node: NodePlace, issue: NodeIssue])[] = []

  get isBroken(): boolean {
    return this.problems.count > 0
  }

  error(node: NodePlace, issue: NodeIssue): void {
    if (node.path[0] === 'components' && node.path.length >= 3) this.#ofComponents.push([node, issue])
    else this.problems.add(problemAt(node, issue))
  }

  /** Makes a warning of what is wrong with components that none of the nine refers to. */
  settle(isUsed: (node: NodePlace) => boolean): void {
    for (const [node, issue] of this.#ofComponents)
      if (isUsed(node)) this.problems.add(problemAt(node, issue))
      else this.warn(node, { ...issue, message: `${issue.message} (none of the nine refers to this component)` })
    this.#ofComponents = []
  }

  warn(node: Pick<ContractNode, 'file' | 'path'>, issue: NodeIssue): void {
    this.warnings.add(problemAt(node, issue))
  }
}

/** The first findings of one kind, and how many more there were. */
class FirstFindings {
  readonly #kind: 'problems' | 'warnings'
  readonly #kept: ConfigProblem[] = []
  count = 0

  constructor(kind: 'problems' | 'warnings') {
    this.#kind = kind
  }

  add(finding: ConfigProblem): void {
    if (this.count++ < maxFindings) this.#kept.push(finding)
  }

  /** Lists them file by file, `first` first, and how many were left out. */
  inOrder(first: string): readonly ConfigProblem[] {
    const kept = this.#kept.toSorted(
      (a, b) =>
        Number(a.file !== first) - Number(b.file !== first) ||
        a.file.localeCompare(b.file) ||
        a.line - b.line ||
        a.column - b.column,
    )
    const last = kept.at(-1)
    if (last === undefined || this.count === kept.length) return kept
    const message = `${this.count - kept.length} more ${this.#kind} are not shown`
    const rest = fileProblem(last.file, message, `at most ${maxFindings}`, `${this.count}`)
    return [...kept, { ...rest, line: last.line, column: last.column }]
  }
}

/** Describes a value without quoting it. */
export const describeValue = (value: unknown): string =>
  value === undefined
    ? 'nothing'
    : value === null
      ? 'null'
      : Array.isArray(value)
        ? 'a list'
        : typeof value === 'object'
          ? 'a map'
          : typeof value === 'boolean'
            ? String(value)
            : `a ${typeof value}`
