import { type Group, groups } from '../../catalog.ts'
import type { Path } from '../problem.ts'
import { isLoopback } from '../reach.ts'
import type { ParsedConfig } from '../schema.ts'
import type { Doubt } from './rule.ts'

const openSandbox: Doubt = ({ parsed: { allowSandbox, listen, upstreams } }) => {
  const echoed = groups.filter((group) => upstreams[group].endpoints.some(({ origin }) => origin === 'sandbox'))
  return (
    allowSandbox &&
    !isLoopback(listen.host) &&
    echoed.length > 0 && {
      path: ['allowSandbox'],
      message: 'THE SANDBOX ANSWERS OTHER MACHINES: it echoes what it is sent, and is no service',
      expected: 'real endpoints behind every group',
      found: `the sandbox behind ${echoed.join(', ')}`,
      hint: 'write the URLs of the services under upstreams, and remove allowSandbox',
    }
  )
}

const sameEndpoint: Doubt = ({ parsed: { upstreams } }) =>
  groups.map((group) => {
    const urls = upstreams[group].endpoints.map(({ origin, pathPrefix }) => `${origin}${pathPrefix}`)
    return urls.map(
      (url, index) =>
        urls.indexOf(url) < index && {
          path: ['upstreams', group, 'endpoints', index],
          message: 'an endpoint that stands here already',
          expected: 'each once',
          found: 'it twice',
          hint: 'keep one, and give it the weight of both',
        },
    )
  })

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

/** Who is believed unverified is told on every load. */
const unverified: Doubt = ({ parsed, config: { upstreams } }) => {
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

const idleConsent: Doubt = ({ parsed, config: { upstreams } }) => {
  const consenting = groups.filter((group) => parsed.upstreams[group].tls?.insecure ?? parsed.defaults.tls.insecure)
  return stating(parsed, 'insecure', consenting).map(
    ({ path, behind }) =>
      behind.every((group) => upstreams[group].tls.verify) && {
        path,
        message: 'this does nothing by itself: certificates are verified',
        expected: 'false, or verify: false beside it',
        found: 'true',
        hint: 'remove this line',
      },
  )
}

const withoutTls: Doubt = ({ parsed }) =>
  groups.map(
    (group) =>
      parsed.upstreams[group].tls !== undefined &&
      !hasTls(parsed, group) && {
        path: ['upstreams', group, 'tls'],
        message: 'this does nothing: no endpoint of the group is spoken to over TLS',
        expected: 'an endpoint with https://',
        found: 'none',
        hint: 'write https:// in front of the endpoints, or remove tls',
      },
  )

const hasTls = ({ upstreams }: ParsedConfig, group: Group): boolean =>
  upstreams[group].endpoints.some(({ origin }) => origin.startsWith('https:'))

/** Lists what is doubtful about endpoints, and how they are spoken to. */
export const upstreamDoubts: readonly Doubt[] = [openSandbox, sameEndpoint, unverified, idleConsent, withoutTls]
