import { availableParallelism } from 'node:os'
import { groups } from '../../../operations.ts'
import { expiryWarningDays, expiryWarningMs } from '../../lib/certificate-expiry.ts'
import { epochMs } from '../../lib/clock.ts'
import { clientAuthorities, listenerCertificates } from '../certificates.ts'
import type { Config, ParsedConfig } from '../config.ts'
import { configParts, operatorKeys } from '../config-part.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import { applyRules, type WarningRule } from '../rules/rule.ts'
import { resolvedSides, upstreamWarnings } from './upstream-warnings.ts'

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
  message: 'this token opens nothing: metrics are off',
  expected: 'metrics: true, or no token for metrics',
  found: 'metrics: none',
  hint: 'remove metrics: none, or the token',
})

const noOperators: WarningRule = ({ config: { admin } }) =>
  hasTokens(admin) &&
  admin.token === null &&
  [...admin.tokens, ...(admin.tls?.clientCertificate?.operators ?? [])].every(({ scope }) => scope !== 'operate') &&
  scopesOfFeatures(admin).every(({ scope }) => scope !== 'operate') && {
    path: ['admin', 'tokens'],
    message: 'no operator may send a command: no token has the scope operate',
    expected: 'a token of the scope operate, or admin.token',
    found: 'only the scopes metrics and read',
    hint: 'make a token with: lender-gateway hash-key --operator NAME --scope operate',
  }

const hasTokens = (admin: Config['admin']): boolean =>
  admin.tokens.length > 0 ||
  admin.metricsToken !== null ||
  scopesOfFeatures(admin).length > 0 ||
  (admin.tls?.clientCertificate ?? null) !== null

const scopesOfFeatures = (admin: Config['admin']) => operatorKeys().flatMap(({ scopes }) => scopes(admin))

export const collectWarnings = (
  parsed: ParsedConfig,
  config: Config,
  cores: number = availableParallelism(),
): readonly ConfigIssue[] => {
  const processes = configParts.reduce((count, part) => part.countProcesses?.(config, cores) ?? count, 1)
  const rules = [...warningRules, ...configParts.flatMap((part) => part.warnings ?? [])]
  return applyRules(rules, { parsed, config, cores, processes })
}

/**
 * `from: client-cert` is left out: there the proxy in front verifies, and RFC 5280 §6.1.1 gives a trust anchor no time.
 */
const expiringAuthorities: WarningRule = ({ config }) =>
  clientAuthorities(config).map(
    ({ path, names, notAfter }) =>
      expiresSoon(notAfter) && {
        path,
        message:
          notAfter < epochMs()
            ? 'AN AUTHORITY OF CLIENT CERTIFICATES HAS EXPIRED: connections with its certificates are rejected'
            : `an authority of client certificates expires within ${expiryWarningDays} days`,
        expected: `authorities that are valid for more than ${expiryWarningDays} days`,
        found: `${names.join()} until ${new Date(notAfter).toISOString()}`,
        hint: 'add its successor to the file, and remove this authority when no client needs it',
      },
  )

/** Not an error: a gateway that must restart still serves the clients that do not verify. */
const expiringCertificates: WarningRule = ({ config }) =>
  listenerCertificates(config).map(
    ({ path, notAfter }) =>
      expiresSoon(notAfter) && {
        path: [...path, 'certificate'],
        message:
          notAfter < epochMs()
            ? 'THIS CERTIFICATE HAS EXPIRED: clients that verify it do not connect'
            : `this certificate expires within ${expiryWarningDays} days`,
        expected: `a certificate that is valid for more than ${expiryWarningDays} days`,
        found: `a certificate valid until ${new Date(notAfter).toISOString()}`,
        hint: 'replace the certificate file and its key file; the gateway reads both without a restart',
      },
  )

const expiresSoon = (notAfter: number): boolean => notAfter - epochMs() <= expiryWarningMs

const unusedForwarded: WarningRule = ({ config: { listen } }) =>
  listen.forwarded !== 'x-forwarded' &&
  listen.trustedProxies.length === 0 && {
    path: ['listen', 'forwarded'],
    message: 'listen.trustedProxies is empty, so Forwarded is ignored',
    expected: 'the addresses of the proxies in listen.trustedProxies',
    found: 'no trustedProxies',
    hint: 'add trustedProxies under listen, or remove forwarded',
  }

const redundantPreflight: WarningRule = ({ config: { reload, upstreams } }) =>
  reload.preflight === 'health' &&
  groups.every((group) => resolvedSides(upstreams[group]).every(({ healthCheck }) => healthCheck === null)) && {
    path: ['reload', 'preflight'],
    message: 'this is the same as connect: no group has a health check',
    expected: 'healthCheck under defaults or a group, or connect',
    found: 'health',
    hint: 'add healthCheck: { path: … } under defaults, or write connect',
  }

const unusedColor: WarningRule = ({ config: { instance } }) =>
  instance.color !== 'gray' &&
  instance.name === null &&
  instance.environment === null && {
    path: ['instance', 'color'],
    message: 'this does nothing: the page shows a color only with a name or an environment',
    expected: 'instance.name or instance.environment beside it',
    found: 'neither',
    hint: 'set instance.environment, or remove this line',
  }

const warningRules: readonly WarningRule[] = [
  ...upstreamWarnings,
  expiringCertificates,
  expiringAuthorities,
  unusedForwarded,
  redundantPreflight,
  unusedScrapers,
  noOperators,
  unusedColor,
]
