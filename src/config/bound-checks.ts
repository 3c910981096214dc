import { asksForCertificates, childAt, methodLists } from './auth-places.ts'
import type { Finding } from './problem.ts'
import { authSchema } from './schema/auth.ts'

/** Checks that what tokens have to be bound to can be shown, and that what is said of proofs is needed for some. */
export function boundFindings(tree: unknown): readonly Finding[] {
  const { data } = authSchema.safeParse(childAt(tree, ['auth']) ?? 'none')
  if (data === undefined || data === null) return []
  const takesTokens = methodLists(tree).some(({ names }) => names.includes('jwt') || names.includes('introspection'))
  const isRequired = data.bound === 'required'
  const hasCertificates = data.mtls.from === 'client-cert' || asksForCertificates(tree)
  return [
    ...(isRequired && !takesTokens ? [tokenless('bound')] : []),
    ...(data.dpop !== null && !takesTokens ? [tokenless('dpop')] : []),
    ...(isRequired && takesTokens && data.dpop === null && !hasCertificates ? [nothingToShow] : []),
    ...(data.dpop !== null && childAt(tree, ['listen', 'publicUrl']) === undefined ? [nameless] : []),
    ...(data.dpop !== null && childAt(tree, ['auth', 'dpop', 'withoutRedis']) !== undefined && !hasRedis(tree)
      ? [redisless(data.dpop.withoutRedis)]
      : []),
  ]
}

const hasRedis = (tree: unknown): boolean => {
  const redis = childAt(tree, ['limits', 'redis'])
  return redis !== undefined && redis !== 'none' && redis !== false
}

const tokenless = (key: 'bound' | 'dpop'): Finding => ({
  path: ['auth', key],
  message: 'only tokens can be bound, and no method takes them',
  expected: 'jwt or introspection among the methods',
  found: 'neither',
  hint: `add jwt to auth.methods, or remove ${key}`,
})

const nothingToShow: Finding = {
  path: ['auth', 'bound'],
  message: 'nobody can show what a token is bound to: neither a certificate nor a proof is taken',
  expected: 'auth.dpop, or listen.tls.clientCertificates: optional or required',
  found: 'required, and neither',
  hint: 'add dpop: { maxAge: 60s } under auth, or have clients asked for certificates',
}

const nameless: Finding = {
  path: ['auth', 'dpop'],
  message: 'nothing says what URL proofs are made for',
  expected: 'listen.publicUrl: {base_url} as clients write it',
  found: 'no listen.publicUrl',
  hint: 'add publicUrl: https://… under listen',
}

const redisless = (found: string): Finding => ({
  path: ['auth', 'dpop', 'withoutRedis'],
  message: 'there is no Redis to be without',
  expected: 'limits.redis',
  found: `${found}, and no limits.redis`,
  hint: 'add redis: { url: … } under limits, or remove this line',
})
