import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net'
import { copyText } from '../buffers.ts'

export const cidrMatcher = (cidrs: readonly string[]): ((address: string) => boolean) => {
  if (cidrs.length === 0) return () => false
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/**
 * Returns the key of the network that an address is counted with: the leading bits of an IPv6 address, because a client
 * that has one has a whole network of them. An IPv4 address is counted by itself. The key is a string of its own: a
 * slice of a header field would keep all of that field in memory, for as long as the key is kept.
 */
export const toNetworkKey = (address: string, ipv6Prefix: number): string => {
  if (!address.includes(':') || !isIPv6(address)) return copyText(address)
  let key = ''
  let bits = ipv6Prefix
  for (const group of parseGroups(address)) {
    if (bits <= 0) break
    key += `${(group & mask(bits)).toString(16)}:`
    bits -= 16
  }
  return `${key}:/${ipv6Prefix}`
}

/** Masks the first bits of a group of sixteen. */
const mask = (bits: number): number => (bits >= 16 ? 0xffff : (0xffff << (16 - bits)) & 0xffff)

/** Lists the eight groups of an address (RFC 4291 §2.2); a zone is no part of it. */
const parseGroups = (address: string): readonly number[] => {
  const [bare = ''] = address.split('%')
  const [head = '', tail] = bare.split('::')
  const [first, last] = [parseGroupList(head), parseGroupList(tail ?? '')]
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last]
}

const parseGroupList = (part: string): number[] =>
  part === ''
    ? []
    : part.split(':').flatMap((group) => {
        if (!group.includes('.')) return [Number.parseInt(group, 16)]
        const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
        return [(a << 8) | b, (c << 8) | d]
      })

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

/** Converts an IPv4 address that came over an IPv6 socket to its own form. */
export const normalizeAddress = (address: string): string =>
  address.startsWith('::ffff:') && isIPv4(address.slice(7)) ? address.slice(7) : address

/**
 * Returns an address in the one spelling that it is logged and counted by; null: it is none. An IPv6 address has many,
 * an IPv4 address in it too: unnormalised, they would all count as one network. A zone is another host's.
 */
export const canonicalAddress = (text: string): string | null => {
  if (isIPv4(text)) return text
  if (!isIPv6(text)) return null
  const [address] = text.split('%')
  return normalizeAddress(new SocketAddress({ address, family: 'ipv6' }).address)
}
