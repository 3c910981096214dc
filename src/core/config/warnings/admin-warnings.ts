import type { Config } from '../config.ts'
import { operatorKeys } from '../config-part.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import type { WarningRule } from '../rules/rule.ts'

const unusedScrapers: WarningRule = ({ config: { admin, metrics } }) => {
  if (metrics !== null) return null
  return [
    admin.metricsToken !== null && unusedScraper(['admin', 'metricsToken']),
    ...admin.tokens.map(
      ({ scope }, index) => scope === 'metrics' && unusedScraper(['admin', 'tokens', index, 'scope']),
    ),
    scopesOfFeatures(admin).map(({ path, scope }) => scope === 'metrics' && unusedScraper(path)),
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
  scopesOfFeatures(admin).every(({ scope }) => scope !== 'operate') && {
    path: ['admin', 'tokens'],
    message: 'no operator may give an order: no token has the scope operate',
    expected: 'one of the scope operate, or admin.token',
    found: 'metrics and read alone',
    hint: 'make one with: lender-gateway hash-key --operator NAME --scope operate',
  }

const hasTokens = (admin: Config['admin']): boolean =>
  admin.tokens.length > 0 ||
  admin.metricsToken !== null ||
  scopesOfFeatures(admin).length > 0 ||
  (admin.tls?.clientCertificate ?? null) !== null

const scopesOfFeatures = (admin: Config['admin']) => operatorKeys().flatMap(({ scopes }) => scopes(admin))

export const adminWarnings: readonly WarningRule[] = [unusedScrapers, noOrders]
