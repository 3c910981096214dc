import { METHODS } from 'node:http'
import { isIPv6 } from 'node:net'

/**
 * Says what the table of operations says of a request line with a version of 1.1 and one valid Host. Written from the
 * table and the RFCs alone, a character at a time, and apart from src/: the two must agree by being right, not by being
 * the same.
 */

/** What must come of it. `url` is what the upstream must see; null: nothing may reach it. */
export interface Verdict {
  readonly status: number
  readonly allow: string | null
  readonly url: string | null
  /** Whether the connection ends with the response: the request line is none, or the method was CONNECT. */
  readonly ends: boolean
}

const nine: readonly (readonly [method: string, path: string])[] = [
  ['POST', '/valuation/score'],
  ['POST', '/financing/pre-approval'],
  ['GET', '/analysis/esg-grant'],
  ['POST', '/risk/asset-valuation'],
  ['POST', '/valuation/forecast'],
  ['POST', '/inventory/sync'],
  ['GET', '/leads/pipeline'],
  ['GET', '/compliance/audit-trail'],
  ['GET', '/market/insights'],
]

const letters = 'abcdefghijklmnopqrstuvwxyz'
const alphanumeric = `${letters}${letters.toUpperCase()}0123456789`
const unreserved = `${alphanumeric}-._~` // RFC 3986 §2.3
const subDelims = "!$&'()*+,;=" // §2.2

const no = (status: number, ends = false): Verdict => ({ status, allow: null, url: null, ends })

export const verdictOn = (method: string, target: string, maxTarget: number, basePath = ''): Verdict => {
  if (!METHODS.includes(method)) return no(400, true)
  for (const char of target) if (char < '!' || char > '~') return no(400, true) // RFC 3986 §2: nothing else is a URI
  if (method === 'CONNECT') return { ...no(405, true), allow: 'GET, POST' }
  if (target.length > maxTarget) return no(414, target.length > 40_000)
  if (target.includes('#')) return no(400) // RFC 9112 §3.2.1
  let rest = target
  if (!target.startsWith('/')) {
    if (!target.includes('://')) return no(400)
    const scheme = target.split('://', 1)[0] ?? ''
    if (!['http', 'https'].includes(scheme.toLowerCase())) return no(400)
    rest = target.slice(scheme.length + 3)
    const end = [...rest].findIndex((char) => char === '/' || char === '?')
    const authority = end === -1 ? rest : rest.slice(0, end)
    if (!isAuthority(authority)) return no(400)
    rest = end === -1 ? '' : rest.slice(end)
  }
  const [path = ''] = rest.split('?', 1)
  const found = nine.find((each) => basePath + each[1] === path)
  if (found === undefined) return no(404)
  if (found[0] !== method) return { ...no(405), allow: found[0] }
  return { status: 200, allow: null, url: found[1] + rest.slice(path.length), ends: false }
}

/**
 * Matches a host that http can mean, with or without a port, and without userinfo (RFC 9110 §4.2.1, §4.2.4; RFC 3986
 * §3.2.2).
 */
const isAuthority = (authority: string): boolean => {
  const close = authority.lastIndexOf(']')
  const colon = authority.indexOf(':', close + 1)
  const host = colon === -1 ? authority : authority.slice(0, colon)
  const port = colon === -1 ? '' : authority.slice(colon + 1)
  if (port.length > 5 || [...port].some((char) => char < '0' || char > '9') || Number(port) > 65535) return false
  if (host.startsWith('[')) return host.endsWith(']') && !host.includes('%') && isIPv6(host.slice(1, -1))
  if (host === '') return false
  for (let i = 0; i < host.length; i++) {
    const char = host[i] ?? ''
    if (char === '%') {
      const digits = host.slice(i + 1, i + 3)
      if (digits.length < 2 || [...digits].some((digit) => !'0123456789abcdefABCDEF'.includes(digit))) return false
      i += 2
    } else if (char === ',' || !`${unreserved}${subDelims}`.includes(char)) return false // two Host lines, joined
  }
  return true
}
