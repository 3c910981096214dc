import { authSchema } from '../schema/auth.ts'
import { asksForCertificates, type Check, childAt, type Found, isOnAt, methodLists } from './rule.ts'

/** What tokens have to be bound to can be shown, and what is said of proofs is needed for some. */
export const boundChecks: Check = (tree) => {
  const { data } = authSchema.safeParse(childAt(tree, ['auth']) ?? 'none')
  if (!data) return null
  const { dpop } = data
  const takesTokens = methodLists(tree).some(({ names }) => names.includes('jwt') || names.includes('introspection'))
  const isRequired = data.bound === 'required'
  const hasCertificates = data.mtls.from === 'client-cert' || asksForCertificates(tree)
  return [
    isRequired && !takesTokens && tokenless('bound'),
    dpop !== null && !takesTokens && tokenless('dpop'),
    isRequired &&
      takesTokens &&
      dpop === null &&
      !hasCertificates && {
        path: ['auth', 'bound'],
        message: 'nobody can show what a token is bound to: neither a certificate nor a proof is taken',
        expected: 'auth.dpop, or listen.tls.clientCertificates: optional or required',
        found: 'required, and neither',
        hint: 'add dpop: { maxAge: 60s } under auth, or have clients asked for certificates',
      },
    dpop !== null &&
      childAt(tree, ['listen', 'publicUrl']) === undefined && {
        path: ['auth', 'dpop'],
        message: 'nothing says what URL proofs are made for',
        expected: 'listen.publicUrl: {base_url} as clients write it',
        found: 'no listen.publicUrl',
        hint: 'add publicUrl: https://… under listen',
      },
    dpop !== null &&
      childAt(tree, ['auth', 'dpop', 'withoutRedis']) !== undefined &&
      !isOnAt(tree, ['limits', 'redis']) && {
        path: ['auth', 'dpop', 'withoutRedis'],
        message: 'there is no Redis to be without',
        expected: 'limits.redis',
        found: `${dpop.withoutRedis}, and no limits.redis`,
        hint: 'add redis: { url: … } under limits, or remove this line',
      },
  ]
}

const tokenless = (key: 'bound' | 'dpop'): Found => ({
  path: ['auth', key],
  message: 'only tokens can be bound, and no method takes them',
  expected: 'jwt or introspection among the methods',
  found: 'neither',
  hint: `add jwt to auth.methods, or remove ${key}`,
})
