/** Leads from the top of the file to one value: keys and list indexes. */
export type KeyPath = readonly (string | number)[]

/** Describes one thing that is wrong with a configuration file, for a person and for a program alike. It never quotes a secret. */
export interface ConfigProblem {
  readonly file: string
  /** Counts from 1. 1:1 when the problem is with the file as a whole. */
  readonly line: number
  readonly column: number
  /** The key path, such as `upstreams.risk.endpoints[1].weight`; empty for the file as a whole. */
  readonly path: string
  readonly expected: string
  readonly found: string
  readonly message: string
  /** What to write instead, where that can be told. */
  readonly hint?: string
}

/** Describes a problem before it has a place: where to point, at a key or at its value. */
export interface ConfigIssue {
  readonly path: KeyPath
  /** Whether the key itself is wrong, rather than its value. */
  readonly atKey?: boolean
  readonly expected: string
  readonly found: string
  readonly message: string
  readonly hint?: string | undefined
  /** What a line that is indented wrongly may have made of a key: unknown here, missing where it belongs, or without its value. */
  readonly keyFault?: 'unknown' | 'missing' | 'empty'
}

/** Places a finding that has no key path by its offset in the text. */
export type LocatableIssue = ConfigIssue & { readonly offset?: number }

/** Points into a file; both count from 1. */
export interface FilePosition {
  readonly line: number
  readonly column: number
}

/** Makes a problem with a file as a whole. */
export const fileProblem = (file: string, message: string, expected: string, found: string): ConfigProblem => ({
  file,
  line: 1,
  column: 1,
  path: '',
  expected,
  found,
  message,
})

/** Writes a problem in one line (`file:line:column path: message`), then, indented, what was expected, found and what helps. */
export function formatProblem({ file, line, column, path, expected, found, message, hint }: ConfigProblem): string {
  const where = `${file}:${line}:${column}${path === '' ? '' : ` ${path}`}`
  const lines = [`${where}: ${message}`, `    expected ${expected}`, `    found    ${found}`]
  if (hint !== undefined) lines.push(`    hint     ${hint}`)
  return lines.join('\n')
}

/** Writes all problems and a count, ending in a line feed. */
export function formatProblems(problems: readonly ConfigProblem[]): string {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  return `${[...problems.map(formatProblem), count].join('\n')}\n`
}

/** Writes a key path as people do: `upstreams.risk.endpoints[1].weight`. A key that is no plain word is quoted. */
export function formatKeyPath(path: KeyPath, format: (key: string, parent: KeyPath) => string = formatKey): string {
  let written = ''
  for (const [depth, key] of path.entries()) {
    if (typeof key === 'number') written += `[${key}]`
    else written += `${written === '' ? '' : '.'}${format(key, path.slice(0, depth))}`
  }
  return written
}

/** Writes a key: quoted, when it is no plain word. */
export const formatKey = (key: string): string => (/^[\w.-]{1,64}$/.test(key) ? key : quote(key))

/** Quotes text from the file, cut to a length that fits a line. */
export const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text)
