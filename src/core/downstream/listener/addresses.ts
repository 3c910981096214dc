import { isIPv4, isIPv6, SocketAddress } from 'node:net'

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
