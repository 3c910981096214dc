import { isIPv6 } from 'node:net'
import { copyText } from '../text/copy-text.ts'

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
