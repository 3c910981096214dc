import net, { BlockList, isIPv4, SocketAddress } from 'node:net'
import { copyText } from '../buffers.ts'

/**
 * Node compiles an expression for the first name that is no IPv4 address: 10 ms in each thread. An IPv6 address has a
 * colon (RFC 4291 §2.2).
 */
export const isIPv6 = (text: string): boolean => text.includes(':') && net.isIPv6(text)

/** 0: another name. */
export const isIP = (text: string): 0 | 4 | 6 => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0)

/** Expects valid addresses and networks. */
export const cidrMatcher = (cidrs: readonly string[]): ((address: string) => boolean) => {
  if (cidrs.length === 0) return () => false
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    const family = address.includes(':') ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** A client has a whole IPv6 network. A copy, not a slice that keeps a header field. */
export const toNetworkKey = (address: string, ipv6Prefix: number): string => {
  if (!isIPv6(address)) return copyText(address)
  let key = ''
  let bits = ipv6Prefix
  for (const group of parseGroups(address)) {
    if (bits <= 0) break
    key += `${(group & mask(bits)).toString(16)}:`
    bits -= 16
  }
  return `${key}:/${ipv6Prefix}`
}

const mask = (bits: number): number => (bits >= 16 ? 0xffff : (0xffff << (16 - bits)) & 0xffff)

/** RFC 4291 §2.2; a zone is dropped. */
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

/** Does not know other names and addresses of this machine: the loop check on `Via` ends such loops. */
export const reachesListener = (target: string, listenHost: string): boolean =>
  normalizeHost(target).some((to) => normalizeHost(listenHost).some((on) => reachesAddress(connectTarget(to), on)))

function reachesAddress(to: string, on: string): boolean {
  if (to === on) return true
  // `::` listens on both families: the gateway sets no ipv6Only.
  return isLoopbackAddress(to) && (on === '::' || (on === '0.0.0.0' && !isIPv6(to)))
}

/** The system connects to loopback for the unspecified address. */
const connectTarget = (address: string): string =>
  address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address

const isLoopbackAddress = (address: string): boolean => isIP(address) !== 0 && isLoopback(address)

/** The addresses that are known without DNS; `localhost` is two (RFC 6761 §6.3). */
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

/** Unwraps an IPv4 address that came over an IPv6 socket. */
export const normalizeAddress = (address: string): string =>
  address.startsWith('::ffff:') && isIPv4(address.slice(7)) ? address.slice(7) : address

/**
 * For logs and counts; null: not an address. All IPv4 addresses in IPv6 form would count as one network. A zone belongs
 * to another host.
 */
export const canonicalAddress = (text: string): string | null => {
  if (isIPv4(text)) return text
  if (!isIPv6(text)) return null
  const [address] = text.split('%')
  return normalizeAddress(new SocketAddress({ address, family: 'ipv6' }).address)
}
