import { isIP, isIPv4, isIPv6 } from 'node:net'
import { toNetworkKey } from '../../core/lib/net/addresses.ts'

const prefixBits = { 4: 24, 6: 48 } as const

/**
 * Cuts an address, or a network, to its network: /24, of IPv6 /48. That still tells one lender's systems from
 * another's, but no single computer. Any other text is hidden whole.
 */
export const truncateAddress = (addressText: string): string => {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(addressText) ?? []
  const [address = '', bits] = (mapped ?? addressText).split('/')
  if (isIPv4(address)) {
    if (bits !== undefined && Number(bits) <= prefixBits[4]) return addressText
    return `${address.split('.').slice(0, 3).join('.')}.0/${prefixBits[4]}`
  }
  if (isIPv6(address)) {
    if (bits !== undefined && Number(bits) <= prefixBits[6]) return addressText
    return toNetworkKey(address, prefixBits[6])
  }
  return '***'
}

/**
 * Cuts the addresses of clients in a response of the admin listener: `client` of rejected requests, `addresses` of
 * clients in the configuration, also in a change of them and in a problem with them, and addresses among the words of a
 * `cause`. URLs of upstreams stay: without them nothing can be explained.
 */
export const redactAddresses = (json: unknown): unknown => {
  if (Array.isArray(json)) return json.map(redactAddresses)
  if (typeof json !== 'object' || json === null) return json
  const isAboutAddresses = 'path' in json && typeof json.path === 'string' && leadsToAddresses(json.path)
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => {
      if (key === 'client' && typeof value === 'string')
        return [key, isIP(value) === 0 ? value : truncateAddress(value)]
      if (key === 'cause' && typeof value === 'string') return [key, redactWords(value)]
      const holdsAddresses = key === 'addresses' || (isAboutAddresses && quotingKeys.has(key))
      return [key, holdsAddresses ? redactAll(value) : redactAddresses(value)]
    }),
  )
}

// What a change, or a problem, quotes of the value at its path.
const quotingKeys: ReadonlySet<string> = new Set(['from', 'to', 'found', 'hint'])

/** Tells whether a key path leads to addresses of a client: `clients[0].addresses[1]`, `clients.bank-a.addresses`. */
export const leadsToAddresses = (path: string): boolean => /\.addresses(\[\d+\])?$/.test(path)

const redactWords = (text: string): string =>
  text.replaceAll(/[^\s,;()]+/g, (word) => {
    const bare = isIP(word) === 0 ? word.replace(/[:.]+$/, '') : word
    return isIP(bare) === 0 ? word : truncateAddress(bare) + word.slice(bare.length)
  })

const redactAll = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(redactAll)
  return typeof value === 'string' ? truncateAddress(value) : value
}
