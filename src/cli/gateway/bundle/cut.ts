import { isIP, isIPv4, isIPv6 } from 'node:net'
import { networkOf } from '../../../shared/limiter/address.ts'

const bitsOf = { 4: 24, 6: 48 } as const

/**
 * Cuts an address, or a network, to the network that it is in: /24, of IPv6 /48. So it still tells one lender's systems from another's, and
 * nobody's computer by itself. What is neither is hidden whole.
 */
export const cut = (written: string): string => {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(written) ?? []
  const [address = '', bits] = (mapped ?? written).split('/')
  if (isIPv4(address)) {
    if (bits !== undefined && Number(bits) <= bitsOf[4]) return written
    return `${address.split('.').slice(0, 3).join('.')}.0/${bitsOf[4]}`
  }
  if (isIPv6(address)) {
    if (bits !== undefined && Number(bits) <= bitsOf[6]) return written
    return networkOf(address, bitsOf[6])
  }
  return '***'
}

/**
 * Cuts the addresses of clients in what an admin listener tells: `client` of those that were refused, `addresses` of those that the
 * configuration knows, and what stands by itself in a `cause`, in words. Addresses of upstreams, which are URLs, stay: without them nothing can
 * be explained.
 */
export const cutAddresses = (told: unknown): unknown => {
  if (Array.isArray(told)) return told.map(cutAddresses)
  if (typeof told !== 'object' || told === null) return told
  return Object.fromEntries(
    Object.entries(told).map(([key, value]) => {
      if (key === 'client' && typeof value === 'string') return [key, isIP(value) === 0 ? value : cut(value)]
      if (key === 'cause' && typeof value === 'string') return [key, cutWords(value)]
      return [key, key === 'addresses' ? all(value) : cutAddresses(value)]
    }),
  )
}

const cutWords = (text: string): string =>
  text.replaceAll(/[^\s,;()]+/g, (word) => {
    const bare = isIP(word) === 0 ? word.replace(/[:.]+$/, '') : word
    return isIP(bare) === 0 ? word : cut(bare) + word.slice(bare.length)
  })

const all = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(all)
  return typeof value === 'string' ? cut(value) : value
}
