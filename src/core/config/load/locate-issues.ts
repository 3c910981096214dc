import { isUtf8 } from 'node:buffer'
import { type ConfigProblem, fileProblem, formatKeyPath, type LocatableIssue, type PositionLookup } from '../problem.ts'
import { redactKey } from '../schema/schema-keys.ts'

/** Problems beyond this many are only counted: locating one takes a walk through the file. */
const maxProblems = 1000

export function locateIssues(
  issues: readonly LocatableIssue[],
  { at, locate }: PositionLookup,
  file: string,
): readonly ConfigProblem[] {
  const problems = issues
    .slice(0, maxProblems)
    .map(({ path, atKey, offset, hint, keyFault: _, ...details }): ConfigProblem => {
      const position = offset === undefined ? locate(path, atKey) : at(offset)
      const problem = { file, ...position, path: formatKeyPath(path, redactKey), ...details }
      return hint === undefined ? problem : { ...problem, hint }
    })
  problems.sort((a, b) => a.line - b.line || a.column - b.column)
  const [last] = problems.slice(-1)
  const more = issues.length - problems.length
  if (last === undefined || more === 0) return problems
  const rest = fileProblem(file, `${more} more problems are not shown`, `at most ${maxProblems}`, `${issues.length}`)
  return [...problems, { ...rest, line: last.line, column: last.column }]
}

/** Makes the problem of a file that is not UTF-8, at the first line that is not. */
export function notUtf8Problem(bytes: Uint8Array, file: string): ConfigProblem {
  let line = 1
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1 && isUtf8(bytes.subarray(start, end)); end = bytes.indexOf(10, start)) {
    start = end + 1
    line++
  }
  return {
    ...fileProblem(file, 'the file is not UTF-8', 'text in UTF-8', 'other bytes'),
    line,
    hint: 'save it as UTF-8',
  }
}
