import type { TokensReport } from '../snapshot/tokens-report.ts'
import { time } from './time.ts'

type Reported = NonNullable<TokensReport['introspection']>

/** Tells how it stands with what tokens are checked by. */
export const tokensStatus = ({ jwt, introspection, proofs }: TokensReport) => ({
  jwt: jwt && { source: jwt.source, keys: jwt.keys, ...standing(jwt) },
  introspection: introspection && standing(introspection),
  proofs,
})

const standing = ({ error, since, lastSuccess, where }: Reported) => ({
  error,
  since: time(since),
  lastSuccess: lastSuccess === null ? null : time(lastSuccess),
  where,
})
