import { ago } from './span.ts'
import type { Row } from './table.ts'
import type { TokenServerStatus, TokensStatus } from './tokens-answer.ts'

/** Writes how it stands with the servers that tokens are checked by; what needs somebody is in capitals. */
export const tokenRows = ({ jwt, introspection }: TokensStatus, at: number): readonly Row[] => [
  ['tokens', 'now'],
  ...(jwt === null ? [] : [['jwt', keysText(jwt, at)]]),
  ...(introspection === null ? [] : [['introspection', failing(introspection, at) ?? 'can be asked']]),
]

const keysText = (jwt: NonNullable<TokensStatus['jwt']>, at: number): string => {
  const keys = `${jwt.keys === 0 ? 'NO KEYS' : jwt.keys === 1 ? '1 key' : `${jwt.keys} keys`}`
  if (jwt.source === 'file') return `${keys}, of a file`
  const had = jwt.lastSuccess === null ? 'never had' : `had ${ago(jwt.lastSuccess, at)}`
  const wrong = failing(jwt, at)
  return wrong === null ? `${keys}, ${had}` : `${keys}, ${had}; ${wrong}`
}

const failing = ({ error, since, where }: TokenServerStatus, at: number): string | null =>
  error === null ? null : `CANNOT BE ASKED${where === null ? '' : ` ${where}`} since ${ago(since, at)}: ${error}`
