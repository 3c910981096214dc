import { type Group, groups } from '../../../operations.ts'
import { isLoopbackHost } from '../../lib/net/addresses.ts'
import type { ParsedConfig, ParsedUpstream, UpstreamConfig } from '../config.ts'
import { nestedUpstreamKeys } from '../config-part.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import type { RuleResult, WarningRule } from '../rules/rule.ts'
import type { PartialLevel } from '../schema/inheritance.ts'

type Endpoints = Pick<UpstreamConfig, 'endpoints'>

const exposedSandbox: WarningRule = ({ parsed: { allowSandbox, listen, upstreams } }) => {
  const sandboxed = groups.filter((group) =>
    ofBothSides(upstreams[group]).endpoints.some(({ origin }) => origin === 'sandbox'),
  )
  return (
    allowSandbox &&
    !isLoopbackHost(listen.host) &&
    sandboxed.length > 0 && {
      path: ['allowSandbox'],
      message: 'THE SANDBOX SERVES OTHER MACHINES: it echoes requests, and is no real service',
      expected: 'real endpoints behind every group',
      found: `the sandbox behind ${sandboxed.join(', ')}`,
      hint: 'write the URLs of the services under upstreams, and remove allowSandbox',
    }
  )
}

const nestedIn = (upstream: ParsedUpstream): readonly ParsedUpstream[] =>
  nestedUpstreamKeys().flatMap((key) => (upstream as object as Record<string, ParsedUpstream | null>)[key] ?? [])

export const statedSides = (
  group: Group,
  primary: ParsedUpstream,
): readonly { readonly path: KeyPath; readonly stated: PartialLevel<ParsedUpstream> }[] => [
  { path: ['upstreams', group], stated: primary },
  ...nestedUpstreamKeys().flatMap((key) => {
    const stated = (primary as object as Record<string, PartialLevel<ParsedUpstream> | null>)[key]
    return stated == null ? [] : [{ path: ['upstreams', group, key], stated }]
  }),
]

const ofBothSides = (upstream: ParsedUpstream): Endpoints => ({
  endpoints: [upstream, ...nestedIn(upstream)].flatMap(({ endpoints }) => endpoints),
})

const ofInheritingSides = (upstream: ParsedUpstream): Endpoints =>
  nestedIn(upstream).some(({ tls }) => tls?.verify !== undefined) ? upstream : ofBothSides(upstream)

export const findDuplicates = (path: KeyPath, { endpoints }: Endpoints): RuleResult => {
  const urls = endpoints.map(({ origin, pathPrefix }) => `${origin}${pathPrefix}`)
  return urls.map(
    (url, index) =>
      urls.indexOf(url) < index && {
        path: [...path, 'endpoints', index],
        message: 'this endpoint is listed twice',
        expected: 'each once',
        found: 'a duplicate',
        hint: 'keep one, and give it the weight of both',
      },
  )
}

const statingLevels = (
  parsed: ParsedConfig,
  key: 'verify' | 'insecure',
  affected: readonly Group[],
): readonly { readonly path: KeyPath; readonly holdsFor: readonly Group[] }[] => {
  const stating = affected.filter((group) => parsed.upstreams[group].tls?.[key] !== undefined)
  const inheriting = affected.filter((group) => !stating.includes(group))
  return [
    ...(inheriting.length === 0 ? [] : [{ path: ['defaults', 'tls', key], holdsFor: inheriting }]),
    ...stating.map((group) => ({ path: ['upstreams', group, 'tls', key], holdsFor: [group] })),
  ]
}

const unverifiedTls: WarningRule = ({ parsed, config: { upstreams } }) => {
  const unverifiedGroups = groups.filter((group) => !upstreams[group].tls.verify)
  const overTls = (names: readonly Group[]): string =>
    names.filter((group) => hasTls(ofInheritingSides(parsed.upstreams[group]))).join(', ')
  return statingLevels(parsed, 'verify', unverifiedGroups).map(({ path, holdsFor }) =>
    warnOfUnverifiedTls(path, overTls(holdsFor)),
  )
}

export const warnOfUnverifiedTls = (path: KeyPath, where: string): ConfigIssue => ({
  path,
  message: 'ANY SERVER IS TRUSTED: no certificate is verified, and requests can be read and changed on the way',
  expected: 'true',
  found: where === '' ? 'false' : `false for ${where}`,
  hint: 'trust a certificate of your own with ca: file:PATH, another name with serverName; then remove verify and insecure',
})

const unusedInsecure: WarningRule = ({ parsed, config: { upstreams } }) => {
  const insecureGroups = groups.filter((group) => parsed.upstreams[group].tls?.insecure ?? parsed.defaults.tls.insecure)
  return statingLevels(parsed, 'insecure', insecureGroups).map(
    ({ path, holdsFor }) =>
      // A candidate inherits `insecure`.
      holdsFor.every((group) => resolvedSides(upstreams[group]).every(({ tls }) => tls.verify)) && {
        path,
        message: 'this does nothing without verify: false: certificates are verified',
        expected: 'false, or verify: false beside it',
        found: 'true',
        hint: 'remove this line',
      },
  )
}

export const resolvedSides = (upstream: UpstreamConfig): readonly UpstreamConfig[] => {
  const nested = upstream as object as Record<string, { readonly upstream: UpstreamConfig } | null>
  return [upstream, ...nestedUpstreamKeys().flatMap((key) => nested[key]?.upstream ?? [])]
}

const unusedTls: WarningRule = ({ parsed }) =>
  groups.map(
    (group) =>
      parsed.upstreams[group].tls !== undefined &&
      findUnusedTls(['upstreams', group, 'tls'], 'group', ofBothSides(parsed.upstreams[group])),
  )

export const findUnusedTls = (path: KeyPath, owner: string, upstream: Endpoints): RuleResult =>
  !hasTls(upstream) && {
    path,
    message: `this does nothing: no endpoint of the ${owner} uses TLS`,
    expected: 'an endpoint with https://',
    found: 'none',
    hint: 'write https:// in front of the endpoints, or remove tls',
  }

const hasTls = ({ endpoints }: Endpoints): boolean => endpoints.some(({ origin }) => origin.startsWith('https:'))

export const upstreamWarnings: readonly WarningRule[] = [
  exposedSandbox,
  ({ parsed: { upstreams } }) => groups.map((group) => findDuplicates(['upstreams', group], upstreams[group])),
  unverifiedTls,
  unusedInsecure,
  unusedTls,
]
