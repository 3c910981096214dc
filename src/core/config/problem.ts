import { escapeControls } from '../lib/text/escape-controls.ts'

/** The keys and list indexes that lead from the top of the file to one value. */
export type KeyPath = readonly (string | number)[]

/**
 * One thing that is wrong with a configuration file, for an operator and for a program alike. It never quotes a secret.
 */
export interface ConfigProblem {
  readonly file: string
  /** Counted from 1; 1:1 for a problem with the file as a whole. */
  readonly line: number
  readonly column: number
  /** The key path, such as `upstreams.risk.endpoints[1].weight`; empty for the file as a whole. */
  readonly path: string
  readonly expected: string
  readonly found: string
  readonly message: string
  readonly hint?: string
}

/** A problem that is not located yet: it has a key path, but no line. */
export interface ConfigIssue {
  readonly path: KeyPath
  /** Whether the key itself is wrong, rather than its value. */
  readonly atKey?: boolean
  readonly expected: string
  readonly found: string
  readonly message: string
  readonly hint?: string | undefined
  /** What wrong indentation may have done to the key: unknown here, missing where it belongs, or without its value. */
  readonly keyFault?: 'unknown' | 'missing' | 'empty'
}

/** A tag of a section: a key that says nothing without another one beside it, and the issue where that is missing. */
export interface KeyNeed extends Pick<ConfigIssue, 'message' | 'found' | 'hint'> {
  readonly key: string
  readonly needs: string
}

/** An issue that may have an offset in the text, which then locates it instead of its key path. */
export type LocatableIssue = ConfigIssue & { readonly offset?: number }

/** A place in a file; line and column count from 1. */
export interface FilePosition {
  readonly line: number
  readonly column: number
}

export interface PositionLookup {
  readonly at: (offset: number) => FilePosition
  readonly locate: (path: KeyPath, atKey?: boolean) => FilePosition
}

/** Locates a key by the positions of what a file states: 1:1 where it does not state that key. */
export const locateKey = (path: string, positions: ReadonlyMap<string, FilePosition>, file: string) => {
  const { line, column } = positions.get(path) ?? { line: 1, column: 1 }
  // A built-in value has the position 0:0.
  return { file, line: Math.max(1, line), column: Math.max(1, column), path }
}

export const fileProblem = (file: string, message: string, expected: string, found: string): ConfigProblem => ({
  file,
  line: 1,
  column: 1,
  path: '',
  expected,
  found,
  message,
})

/** Formats a problem: `file:line:column path: message`, then, indented, what was expected and found, and a hint. */
export function formatProblem(problem: ConfigProblem): string {
  const { expected, found, message, hint } = problem
  const lines = [`${formatPlace(problem)}: ${message}`, `    expected ${expected}`, `    found    ${found}`]
  if (hint !== undefined) lines.push(`    hint     ${hint}`)
  // Contracts and certificates are written by others, and terminals print what is quoted of them.
  return lines.map(escapeControls).join('\n')
}

/** Formats where a problem stands: `file:line:column path`. */
export const formatPlace = ({ file, line, column, path }: ConfigProblem): string =>
  escapeControls(`${file}:${line}:${column}${path === '' ? '' : ` ${path}`}`)

export const formatProblems = (problems: readonly ConfigProblem[]): string =>
  `${[...problems.map(formatProblem), formatProblemCount(problems.length)].join('\n')}\n`

export const formatProblemCount = (count: number): string => (count === 1 ? '1 problem' : `${count} problems`)

/** Formats a key path as `upstreams.risk.endpoints[1].weight`. A key that is not a plain word is quoted. */
export function formatKeyPath(path: KeyPath, format: (key: string, parent: KeyPath) => string = formatKey): string {
  let text = ''
  for (const [depth, key] of path.entries()) {
    if (typeof key === 'number') text += `[${key}]`
    else text += `${text === '' ? '' : '.'}${format(key, path.slice(0, depth))}`
  }
  return text
}

/** Formats a key, in quotes when it is not a plain word. */
export const formatKey = (key: string): string => (/^[\w.-]{1,64}$/.test(key) ? key : quote(key))

/** Quotes text from the file, cut to a length that fits a line. */
export const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text)
