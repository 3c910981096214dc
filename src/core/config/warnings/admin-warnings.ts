import type { Config } from '../config.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import type { WarningRule } from '../rules/rule.ts'

const unusedScrapers: WarningRule = ({ config: { admin, metrics } }) => {
  if (metrics !== null) return null
  return [
    admin.metricsToken !== null && unusedScraper(['admin', 'metricsToken']),
    ...admin.tokens.map(
      ({ scope }, index) => scope === 'metrics' && unusedScraper(['admin', 'tokens', index, 'scope']),
    ),
    ...Object.entries(admin.jwt?.scopes ?? {}).map(
      ([value, scope]) => scope === 'metrics' && unusedScraper(['admin', 'jwt', 'scopes', value]),
    ),
  ]
}

const unusedScraper = (path: KeyPath): ConfigIssue => ({
  path,
  message: 'this token opens nothing: nothing is counted',
  expected: 'metrics that are on, or no token for them',
  found: 'metrics: none',
  hint: 'remove metrics: none, or the token',
})

const noOrders: WarningRule = ({ config: { admin } }) =>
  hasTokens(admin) &&
  admin.token === null &&
  [...admin.tokens, ...(admin.tls?.clientCertificate?.operators ?? [])].every(({ scope }) => scope !== 'operate') &&
  Object.values(admin.jwt?.scopes ?? {}).every((scope) => scope !== 'operate') && {
    path: ['admin', 'tokens'],
    message: 'no operator may give an order: no token has the scope operate',
    expected: 'one of the scope operate, or admin.token',
    found: 'metrics and read alone',
    hint: 'make one with: lender-gateway hash-key --operator NAME --scope operate',
  }

const hasTokens = ({ tokens, metricsToken, jwt, tls }: Config['admin']): boolean =>
  tokens.length > 0 || metricsToken !== null || jwt !== null || (tls?.clientCertificate ?? null) !== null

export const adminWarnings: readonly WarningRule[] = [unusedScrapers, noOrders]
