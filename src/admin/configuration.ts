import type { Group } from '../catalog.ts'
import type { Problem } from '../config/problem.ts'
import { anything, list, map, nullable, number, type Read, type Shaped, shape, text, word } from '../shared/shape.ts'

const readProblem = shape({
  file: text,
  line: number,
  column: number,
  path: text,
  expected: text,
  found: text,
  message: text,
  hint: nullable(text),
})

/** Reads what is wrong with a configuration file. */
export const problemShape: Read<Problem> = (value, path) => {
  const { hint, ...problem } = readProblem(value, path)
  return hint === null ? problem : { ...problem, hint }
}

/** Reads one value that differs between two configurations. */
export const changeShape = shape({
  part: text,
  group: nullable(word<Group>()),
  path: text,
  from: anything,
  to: anything,
})

/** Reads what `POST /reload` and `POST /rollback` answer when they are not refused. */
export const outcomeShape = shape({
  result: text,
  from: text,
  to: text,
  changes: list(changeShape),
  warnings: list(problemShape),
})

/** What came of a reload or a rollback that was not refused. */
export type Outcome = Shaped<typeof outcomeShape>

/** Reads what they answer when they are: the hash of what runs on, and when it is tried again; null: it is not. */
export const refusedOutcomeShape = shape({ hash: text, problems: list(problemShape), nextTry: nullable(text) })

/** Reads what `GET /config` answers, left as it is to be compared: the configuration with its secrets masked, and the digest of each. */
export const configShape = shape({ hash: text, config: map(anything), digests: map(text) })
