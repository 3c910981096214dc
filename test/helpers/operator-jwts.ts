/** Tokens that an issuer makes for operators, and the part of the file that takes them. */
import type { OperatorScope } from '../../src/core/lib/operators.ts'
import { claims, issuer, jwks, signingKey, signToken } from './tokens.ts'

/** The audience of the admin listener: that of no client. */
export const adminAudience = 'https://gateway.example/admin'

export const operatorKey = signingKey('ES256', 'of-operators')

/** Values of `groups`, by what they open. */
export const groupOf: Readonly<Record<OperatorScope, string>> = {
  metrics: 'prometheus',
  read: 'gateway auditors',
  operate: '/ops/gateway-oncall',
}

/** Writes `admin.jwt`; `more` differs from what it usually has. */
export const adminJwt = (more: object = {}) => ({
  ...{ issuer, audience: [adminAudience], jwks: jwks(operatorKey), nameClaim: 'email', scopeClaim: 'groups' },
  scopes: Object.fromEntries(Object.entries(groupOf).map(([scope, group]) => [group, scope])),
  ...more,
})

/** Says what a good token of an operator says, now; `other` differs, and what is undefined is left out. */
const operatorClaims = (other: Readonly<Record<string, unknown>> = {}) =>
  claims({
    ...{ aud: adminAudience, client_id: undefined, email: 'anna@lender.example', groups: [groupOf.operate] },
    ...other,
  })

/** Signs a token of an operator. */
export const operatorJwt = (
  other: Readonly<Record<string, unknown>> = {},
  key = operatorKey,
  header: Readonly<Record<string, unknown>> = {},
): string => signToken(key, operatorClaims(other), header)

/** Signs a token of each scope. */
export const jwtOf = (scope: OperatorScope): string =>
  operatorJwt({ email: `${scope}@lender.example`, groups: ['others', groupOf[scope]] })
