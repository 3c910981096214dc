import type { ConfigProblem } from '../../config/problem.ts'
import type { Group } from '../../operations.ts'
import {
  asList,
  asMap,
  asNullable,
  asNumber,
  asObject,
  asText,
  asUnknown,
  asWord,
  type Decoded,
  type Decoder,
} from '../../shared/decode.ts'

const parseProblem = asObject({
  file: asText,
  line: asNumber,
  column: asNumber,
  path: asText,
  expected: asText,
  found: asText,
  message: asText,
  hint: asNullable(asText),
})

/** Reads what is wrong with a configuration file. */
export const problemShape: Decoder<ConfigProblem> = (value, path) => {
  const { hint, ...problem } = parseProblem(value, path)
  return hint === null ? problem : { ...problem, hint }
}

/** Reads one value that differs between two configurations. */
export const changeShape = asObject({
  part: asText,
  group: asNullable(asWord<Group>()),
  path: asText,
  from: asUnknown,
  to: asUnknown,
})

/** Reads what `POST /reload` and `POST /rollback` answer when they are not refused. */
export const reloadResponseShape = asObject({
  result: asText,
  from: asText,
  to: asText,
  changes: asList(changeShape),
  warnings: asList(problemShape),
})

/** What came of a reload or a rollback that was not refused. */
export type ReloadResponse = Decoded<typeof reloadResponseShape>

/** Reads what they answer when they are: the hash of what runs on, and when it is tried again; null: it is not. */
export const reloadRejectionShape = asObject({
  hash: asText,
  problems: asList(problemShape),
  nextTry: asNullable(asText),
})

/** Reads what `GET /config` answers, left as it is to be compared: the configuration with its secrets masked, and the digest of each. */
export const configShape = asObject({ hash: asText, config: asMap(asUnknown), digests: asMap(asText) })
