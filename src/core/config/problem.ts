import { escapeControls } from '../lib/text/escape-controls.ts'

export type KeyPath = readonly (string | number)[]

/** A problem never quotes a secret. A problem of the whole file is at 1:1. */
export interface ConfigProblem extends FilePosition {
  readonly file: string
  /** Such as `upstreams.risk.endpoints[1].weight`; empty for the whole file. */
  readonly path: string
  readonly expected: string
  readonly found: string
  readonly message: string
  readonly hint?: string
}

export interface ConfigIssue {
  readonly path: KeyPath
  readonly atKey?: boolean
  readonly expected: string
  readonly found: string
  readonly message: string
  readonly hint?: string | undefined
  /** Set for issues that a wrongly indented line causes. `missing`: a required key is missing. */
  readonly keyFault?: 'unknown' | 'missing' | 'empty'
}

export interface KeyNeed extends Pick<ConfigIssue, 'message' | 'found' | 'hint'> {
  readonly key: string
  readonly needs: string
}

export type LocatableIssue = ConfigIssue & { readonly offset?: number }

export interface FilePosition {
  readonly line: number
  readonly column: number
}

export interface PositionLookup {
  readonly at: (offset: number) => FilePosition
  readonly locate: (path: KeyPath, atKey?: boolean) => FilePosition
}

export const locateKey = (path: string, positions: ReadonlyMap<string, FilePosition>, file: string) => {
  const { line, column } = positions.get(path) ?? { line: 1, column: 1 }
  // A built-in value has the position 0:0.
  return { file, line: Math.max(1, line), column: Math.max(1, column), path }
}

export const fileProblem = (file: string, message: string, expected: string, found: string): ConfigProblem => {
  return { file, line: 1, column: 1, path: '', expected, found, message }
}

export function formatProblem(problem: ConfigProblem): string {
  const { expected, found, message, hint } = problem
  const lines = [`${formatPlace(problem)}: ${message}`, `    expected ${expected}`, `    found    ${found}`]
  if (hint !== undefined) lines.push(`    hint     ${hint}`)
  // Contracts and certificates of third parties are quoted: no escapes for terminals.
  return lines.map(escapeControls).join('\n')
}

export const formatPlace = ({ file, line, column, path }: ConfigProblem): string =>
  escapeControls(`${file}:${line}:${column}${path === '' ? '' : ` ${path}`}`)

export const formatProblems = (problems: readonly ConfigProblem[]): string =>
  `${[...problems.map(formatProblem), formatProblemCount(problems.length)].join('\n')}\n`

export const formatProblemCount = (count: number): string => (count === 1 ? '1 problem' : `${count} problems`)

export function formatKeyPath(path: KeyPath, format: (key: string, parent: KeyPath) => string = formatKey): string {
  let text = ''
  for (const [depth, key] of path.entries()) {
    if (typeof key === 'number') text += `[${key}]`
    else text += `${text === '' ? '' : '.'}${format(key, path.slice(0, depth))}`
  }
  return text
}

export const formatKey = (key: string): string => (/^[\w.-]{1,64}$/.test(key) ? key : quote(key))

export const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text)
