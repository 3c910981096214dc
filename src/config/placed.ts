import { isUtf8 } from 'node:buffer'
import { formatPath, type Path, type Placed, type Position, type Problem, whole } from './problem.ts'
import { shownKey } from './schema/places.ts'

/** Problems beyond this many are only counted: to place each one takes a walk through the file. */
const maxProblems = 1000

/** Tells where things stand in a file. */
export interface Places {
  readonly at: (offset: number) => Position
  readonly locate: (path: Path, atKey?: boolean) => Position
}

/** Gives each finding its place in the file that it is of, in the order of the file. */
export function placed(findings: readonly Placed[], { at, locate }: Places, file: string): readonly Problem[] {
  const problems = findings.slice(0, maxProblems).map(({ path, atKey, offset, hint, slip: _, ...told }): Problem => {
    const position = offset === undefined ? locate(path, atKey) : at(offset)
    const problem = { file, ...position, path: formatPath(path, shownKey), ...told }
    return hint === undefined ? problem : { ...problem, hint }
  })
  problems.sort((a, b) => a.line - b.line || a.column - b.column)
  const [last] = problems.slice(-1)
  const more = findings.length - problems.length
  if (last === undefined || more === 0) return problems
  const rest = whole(file, `${more} more problems are not shown`, `at most ${maxProblems}`, `${findings.length}`)
  return [...problems, { ...rest, line: last.line, column: last.column }]
}

/** Makes the problem of a file that is not text, at the line where that begins. */
export function notUtf8(bytes: Uint8Array, file: string): Problem {
  let line = 1
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1 && isUtf8(bytes.subarray(start, end)); end = bytes.indexOf(10, start)) {
    start = end + 1
    line++
  }
  return { ...whole(file, 'the file is not UTF-8', 'text in UTF-8', 'other bytes'), line, hint: 'save it as UTF-8' }
}
