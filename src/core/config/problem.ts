import { escapeControls } from '../lib/text/escape-controls.ts'

/** Keys and list indexes from the top of the file. */
export type KeyPath = readonly (string | number)[]

/** Never quotes a secret. At 1:1 for the file as a whole. */
export interface ConfigProblem extends FilePosition {
  readonly file: string
  /** Such as `upstreams.risk.endpoints[1].weight`; empty for the file as a whole. */
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
  /** A possible effect of wrong indentation. `missing`: the key is missing where it belongs. */
  readonly keyFault?: 'unknown' | 'missing' | 'empty'
}

/** A key that says nothing without another key, and the issue where that key is missing. */
export interface KeyNeed extends Pick<ConfigIssue, 'message' | 'found' | 'hint'> {
  readonly key: string
  readonly needs: string
}

/** An offset in the text locates the issue instead of its key path. */
export type LocatableIssue = ConfigIssue & { readonly offset?: number }

/** Both count from 1. */
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
  // Others write contracts and certificates, and terminals print the quoted parts.
  return lines.map(escapeControls).join('\n')
}

export const formatPlace = ({ file, line, column, path }: ConfigProblem): string =>
  escapeControls(`${file}:${line}:${column}${path === '' ? '' : ` ${path}`}`)

export const formatProblems = (problems: readonly ConfigProblem[]): string =>
  `${[...problems.map(formatProblem), formatProblemCount(problems.length)].join('\n')}\n`

export const formatProblemCount = (count: number): string => (count === 1 ? '1 problem' : `${count} problems`)

/** Formats `upstreams.risk.endpoints[1].weight`. A key that is not a plain word is quoted. */
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
