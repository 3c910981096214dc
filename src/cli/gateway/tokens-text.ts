import { ago } from './span.ts'
import type { Row } from './table.ts'
import type { ProofsStatus, TokenServerStatus, TokensStatus } from './tokens-answer.ts'

/** Writes how it stands with what tokens are checked by; what needs somebody is in capitals. */
export const tokenRows = ({ jwt, introspection, proofs }: TokensStatus, at: number): readonly Row[] => [
  ['tokens', 'now'],
  ...(jwt === null ? [] : [['jwt', keysText(jwt, at)]]),
  ...(introspection === null ? [] : [['introspection', failing(introspection, at) ?? 'can be asked']]),
  ...(proofs === null ? [] : [['proofs', roomText(proofs)]]),
]

// One client alone is refused beyond half of it.
const roomText = ({ remembered, room }: ProofsStatus): string =>
  `${remembered} remembered, ${2 * remembered < room ? 'room' : 'ROOM'} for ${room}`

const keysText = (jwt: NonNullable<TokensStatus['jwt']>, at: number): string => {
  const keys = `${jwt.keys === 0 ? 'NO KEYS' : jwt.keys === 1 ? '1 key' : `${jwt.keys} keys`}`
  if (jwt.source === 'file') return `${keys}, of a file`
  const had = jwt.lastSuccess === null ? 'never had' : `had ${ago(jwt.lastSuccess, at)}`
  const wrong = failing(jwt, at)
  return wrong === null ? `${keys}, ${had}` : `${keys}, ${had}; ${wrong}`
}

const failing = ({ error, since, where }: TokenServerStatus, at: number): string | null =>
  error === null ? null : `CANNOT BE ASKED${where === null ? '' : ` ${where}`} since ${ago(since, at)}: ${error}`
