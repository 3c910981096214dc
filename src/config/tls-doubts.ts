import { type Group, groups } from '../catalog.ts'
import type { Config } from './config.ts'
import type { Finding, Path } from './problem.ts'
import type { ParsedConfig } from './schema.ts'

/** Lists what is doubtful about how endpoints are spoken to over TLS; who is believed unverified is told on every load. */
export const tlsDoubts = (parsed: ParsedConfig, config: Config): readonly Finding[] => [
  ...unverified(parsed, config),
  ...idleConsent(parsed, config),
  ...groups.flatMap((group) => withoutTls(parsed, group)),
]

/** Says which level states a key with a value that was not meant for long, and for which groups. */
const stating = (
  parsed: ParsedConfig,
  key: 'verify' | 'insecure',
  which: readonly Group[],
): readonly { readonly path: Path; readonly behind: readonly Group[] }[] => {
  const own = which.filter((group) => parsed.upstreams[group].tls?.[key] !== undefined)
  const inherited = which.filter((group) => !own.includes(group))
  return [
    ...(inherited.length === 0 ? [] : [{ path: ['defaults', 'tls', key], behind: inherited }]),
    ...own.map((group) => ({ path: ['upstreams', group, 'tls', key], behind: [group] })),
  ]
}

function unverified(parsed: ParsedConfig, { upstreams }: Config): readonly Finding[] {
  const believed = groups.filter((group) => !upstreams[group].tls.verify)
  const reached = (behind: readonly Group[]): string => behind.filter((group) => hasTls(parsed, group)).join(', ')
  return stating(parsed, 'verify', believed).map(({ path, behind }) => ({
    path,
    message:
      'WHOEVER ANSWERS IS BELIEVED: no certificate is verified, and what is sent can be read and changed on the way',
    expected: 'true',
    found: reached(behind) === '' ? 'false' : `false for ${reached(behind)}`,
    hint: 'trust a certificate of your own with ca: file:PATH, another name with serverName; then remove verify and insecure',
  }))
}

function idleConsent(parsed: ParsedConfig, { upstreams }: Config): readonly Finding[] {
  const consenting = groups.filter((group) => parsed.upstreams[group].tls?.insecure ?? parsed.defaults.tls.insecure)
  return stating(parsed, 'insecure', consenting)
    .filter(({ behind }) => behind.every((group) => upstreams[group].tls.verify))
    .map(({ path }) => ({
      path,
      message: 'this does nothing by itself: certificates are verified',
      expected: 'false, or verify: false beside it',
      found: 'true',
      hint: 'remove this line',
    }))
}

function withoutTls(parsed: ParsedConfig, group: Group): readonly Finding[] {
  const { tls } = parsed.upstreams[group]
  if (tls === undefined || hasTls(parsed, group)) return []
  return [
    {
      path: ['upstreams', group, 'tls'],
      message: 'this does nothing: no endpoint of the group is spoken to over TLS',
      expected: 'an endpoint with https://',
      found: 'none',
      hint: 'write https:// in front of the endpoints, or remove tls',
    },
  ]
}

const hasTls = ({ upstreams }: ParsedConfig, group: Group): boolean =>
  upstreams[group].endpoints.some(({ origin }) => origin.startsWith('https:'))
