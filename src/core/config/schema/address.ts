import { isIP, isIPv6 } from '../../lib/net/addresses.ts'
import { suggestNearest } from '../suggest.ts'
import { hostKind, isHostName } from './kinds.ts'
import { scalar } from './scalar.ts'
import { InvalidScalar, type ScalarKind, textParser } from './scalar-kind.ts'

export const hostOrAddress = (description: string) => scalar(description, hostKind)

export const hostHeader = (description: string) =>
  scalar<string>(description, {
    expected: 'a host name with or without a port, such as gateway.example or gateway.example:8443',
    parse: textParser((value) => {
      if (value.includes('://')) return new InvalidScalar('not a host', 'write the name alone, without http://')
      if (value.includes('*')) return new InvalidScalar('not a host', 'write each name: there are no wildcards')
      if (isIPv6(value)) return new InvalidScalar('not a host', `write [${value}], in brackets`)
      const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(value) ?? []
      // URL drops the default port.
      const origin = isHostName(name) || name.startsWith('[') || isIP(name) !== 0 ? parseOrigin('http', name) : null
      if (origin === null) return new InvalidScalar('not a host')
      if (origin instanceof InvalidScalar) return new InvalidScalar('not a host', origin.hint)
      if (port === undefined) return name.toLowerCase()
      if (Number(port) < 1 || Number(port) > 65_535)
        return new InvalidScalar('wrong port', 'write a port from 1 to 65535')
      return `${name.toLowerCase()}:${Number(port)}`
    }),
    json: { type: 'string', pattern: '^[0-9A-Za-z:._\\[\\]-]+$' },
  })

export const cidrOrAddress = (description: string) =>
  scalar<string>(description, {
    expected: 'an IP address or a CIDR, such as 10.0.0.0/8',
    parse: textParser((value) => {
      const [address = '', bits, ...more] = value.split('/')
      const family = isIP(address)
      if (family === 0 || more.length > 0 || address.includes('%')) return new InvalidScalar('not an address')
      if (bits === undefined) return value
      const maxBits = family === 4 ? 32 : 128
      if (!/^\d{1,3}$/.test(bits) || Number(bits) > maxBits)
        return new InvalidScalar('wrong prefix length', `write /0 to /${maxBits} after the address`)
      return value
    }),
    json: { type: 'string', pattern: '^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$' },
  })

export const basePath = (description: string) =>
  scalar<string>(description, {
    expected: 'a path such as /lender/v1, or "" for none',
    parse: textParser(parsePath),
    json: { type: 'string', pattern: "^(/[0-9A-Za-z._~!$&'()*+,;=:@%/-]*)?$" },
  })

export interface ParsedEndpoint {
  /** `sandbox`, or `http://host:port` without a default port. */
  readonly origin: string
  /** Empty, or `/…` without a trailing slash. */
  readonly pathPrefix: string
  /** Relative to the other endpoints: 0–10000, default 100. */
  readonly weight: number
  readonly drain: boolean
}

export const endpointUrl: ScalarKind<ParsedEndpoint> = {
  expected: 'a URL such as http://risk.internal:8080, or sandbox',
  parse: textParser((value) => {
    if (value === 'sandbox') return { origin: 'sandbox', pathPrefix: '', weight: 100, drain: false }
    const [, scheme, authority, path] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#\\]*)([^?#]*)/i.exec(value) ?? []
    if (scheme === undefined || authority === undefined) return new InvalidScalar('not a URL', urlHint(value))
    if (!/^https?$/i.test(scheme)) return new InvalidScalar('unknown scheme', 'write http:// or https://')
    if (authority.includes('@')) {
      return new InvalidScalar(
        'a URL with a user name or password',
        'send credentials with request.set and file: instead, e.g. Authorization: file:/run/secrets/risk',
      )
    }
    if (value.includes('?')) return new InvalidScalar('a URL with a query', 'remove ? and what follows it')
    if (value.includes('#')) return new InvalidScalar('a URL with a fragment', 'remove # and what follows it')
    const origin = parseOrigin(scheme.toLowerCase(), authority)
    if (origin instanceof InvalidScalar) return origin
    const pathPrefix = parsePath(path ?? '')
    return pathPrefix instanceof InvalidScalar ? pathPrefix : { origin, pathPrefix, weight: 100, drain: false }
  }),
  render: ({ origin, pathPrefix, weight, drain }) => {
    const url = origin + pathPrefix
    if (drain) return { url, weight, drain }
    return weight === 100 ? url : { url, weight }
  },
  json: { type: 'string', pattern: '^(sandbox|[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+(/[^?#\\\\\\s]*)?)$' },
}

const urlHint = (value: string): string => {
  if (suggestNearest(value, ['sandbox']) !== undefined) return 'did you mean sandbox? Otherwise write http:// in front'
  if (/^[\w.-]+(:\d+)?(\/|$)/.test(value)) return 'put http:// or https:// in front'
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
  if (value.startsWith('file:')) return 'write the URL here, or ${NAME}: file: is for field values'
  return 'write http:// or https://, a host, and nothing around them'
}

export const upstreamHost = (description: string) =>
  scalar<'endpoint' | 'client' | { readonly name: string }>(description, {
    expected: 'endpoint, client, or a host name such as risk.example',
    parse: (value) => {
      if (value === 'endpoint' || value === 'client') return value
      if (typeof value !== 'string') return new InvalidScalar('wrong type')
      if (value.includes('://')) return new InvalidScalar('not a host', 'write the name alone, without http://')
      const origin = parseOrigin('http', value)
      return origin instanceof InvalidScalar ? new InvalidScalar('not a host', origin.hint) : { name: value }
    },
    render: (host) => (typeof host === 'string' ? host : host.name),
    json: { type: 'string', pattern: '^[0-9A-Za-z:._\\[\\]-]+$' },
  })

/** RFC 6066 §3: SNI takes neither an address nor a trailing dot. */
export const serverName: ScalarKind<string> = {
  expected: 'a host name such as risk.internal',
  parse: textParser((value) => {
    if (isIP(value.replace(/^\[|\]$/g, '')) !== 0)
      return new InvalidScalar(
        'an address',
        'write a name from the certificate: TLS sends no address as the server name',
      )
    if (value.includes(':'))
      return new InvalidScalar('not a host name', 'write the name alone, without http:// or a port')
    return isHostName(value) && !value.endsWith('.') ? value.toLowerCase() : new InvalidScalar('not a host name')
  }),
  json: { type: 'string', pattern: '^[0-9A-Za-z._-]*[0-9A-Za-z_]$' },
}

function parseOrigin(scheme: string, authority: string): string | InvalidScalar {
  // YAML joins a line that is indented further to the value above it.
  if (/\s-\s/.test(authority))
    return new InvalidScalar(
      'a list item inside the item above it',
      'indent every - of the list by the same number of spaces',
    )
  if (!/^[\x21-\x7e]*$/.test(authority))
    return new InvalidScalar('not a plain host name', 'write an international name in its xn-- form')
  const [, name, port] = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::(\d+))?$/.exec(authority) ?? []
  if (name === undefined) return new InvalidScalar('not a host and port', 'write host or host:port, IPv6 in brackets')
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    return new InvalidScalar('wrong port', 'write a port from 1 to 65535')
  const url = URL.parse(`${scheme}://${authority}`)
  return url?.origin ?? new InvalidScalar('not a host name or an address')
}

/** RFC 3986 §3.3. Dot segments are rejected in every spelling: they would lead out of the prefix. */
function parsePath(path: string): string | InvalidScalar {
  if (path === '' || path === '/') return ''
  if (!path.startsWith('/'))
    return new InvalidScalar('not an absolute path', `write /${/^[\w./-]+$/.test(path) ? path : '…'}`)
  if (!/^(?:[0-9A-Za-z._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})+$/.test(path))
    return new InvalidScalar('a path with a character that must be encoded', 'percent-encode it, e.g. a space as %20')
  const trimmed = path.replace(/\/$/, '')
  const segments = trimmed.slice(1).split('/')
  if (segments.includes('')) return new InvalidScalar('a path with an empty segment', 'write single slashes')
  const dots = segments.some((segment) => /^\.{1,2}$/.test(segment.replaceAll(/%2e/gi, '.')))
  return dots ? new InvalidScalar('a path with a dot segment', 'write the path without . and ..') : trimmed
}
