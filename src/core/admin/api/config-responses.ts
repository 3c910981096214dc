import type { Group } from '../../../operations.ts'
import type { ConfigProblem } from '../../config/problem.ts'
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
} from '../../lib/text/decode.ts'

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

export const problemShape: Decoder<ConfigProblem> = (value, path) => {
  const { hint, ...problem } = parseProblem(value, path)
  return hint === null ? problem : { ...problem, hint }
}

export const changeShape = asObject({
  part: asText,
  group: asNullable(asWord<Group>()),
  path: asText,
  from: asUnknown,
  to: asUnknown,
})

export const reloadResponseShape = asObject({
  result: asText,
  from: asText,
  to: asText,
  changes: asList(changeShape),
  warnings: asList(problemShape),
  switchedOff: asNullable(asList(asText)),
  neverRan: asNullable(asText),
})

export type ReloadResponse = Decoded<typeof reloadResponseShape>

export const reloadRejectionShape = asObject({
  hash: asText,
  problems: asList(problemShape),
  nextTry: asNullable(asText),
})

/** The configuration with masked secrets, and a digest of each secret. */
export const configShape = asObject({ hash: asText, config: asMap(asUnknown), digests: asMap(asText) })
