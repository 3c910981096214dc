import { isIP, isIPv6 } from 'node:net'
import { cidrMatcher } from '../lib/net/cidr.ts'

const isLoopback = cidrMatcher(['127.0.0.0/8', '::1'])

export const isLoopbackHost = (address: string): boolean => normalizeHost(address).every(isLoopbackAddress)

/**
 * Tells whether a connection to `target` arrives at a listener on `listenHost`, as far as the two names show. Other
 * names and addresses of this machine are not looked up: the loop check on `Via` ends what slips through.
 */
export const reachesListener = (target: string, listenHost: string): boolean =>
  normalizeHost(target).some((to) => normalizeHost(listenHost).some((on) => reachesAddress(connectTarget(to), on)))

function reachesAddress(to: string, on: string): boolean {
  if (to === on) return true
  // `::` listens on both families: the gateway sets no ipv6Only.
  return isLoopbackAddress(to) && (on === '::' || (on === '0.0.0.0' && !isIPv6(to)))
}

/** Replaces the unspecified address by the one that the system connects to instead. */
const connectTarget = (address: string): string =>
  address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address

const isLoopbackAddress = (address: string): boolean => isIP(address) !== 0 && isLoopback(address)

/** Lists the addresses of a host as far as they are known without DNS; `localhost` is two (RFC 6761 §6.3). */
function normalizeHost(name: string): readonly string[] {
  const bare = name.toLowerCase().replace(/^\[|\]$|\.$/g, '')
  if (bare === 'localhost' || bare.endsWith('.localhost')) return ['127.0.0.1', '::1']
  if (!isIPv6(bare)) return [bare]
  const short = bare.includes('%') ? bare : new URL(`http://[${bare}]`).hostname.slice(1, -1)
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? []
  if (high === undefined || low === undefined) return [short]
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [bits.flatMap((pair) => [pair >> 8, pair & 255]).join('.')]
}
