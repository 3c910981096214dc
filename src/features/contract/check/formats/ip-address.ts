const octet = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`

/** The addresses of RFC 2673 §3.2, without leading zeros. */
export const ipv4 = new RegExp(String.raw`^(?:${octet}\.){3}${octet}$`)

/**
 * Tells whether a text is an address of IPv6 (RFC 4291 §2.2). `maxBesideZeros`: the most groups that may stand beside
 * `::`, which stands for one at least, and in a mail address for two (RFC 5321 §4.1.3).
 */
export const isIpv6 = (text: string, maxBesideZeros = 7): boolean => {
  if (text.length > maxIpv6Length) return false
  const halves = text.split('::')
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1) ?? ''
  const isMapped = last.includes('.') && text.endsWith(last) && ipv4.test(last)
  const hexadecimal = isMapped ? groups.slice(0, -1) : groups
  if (!hexadecimal.every((group) => /^[\da-f]{1,4}$/i.test(group))) return false
  const length = hexadecimal.length + (isMapped ? 2 : 0)
  return halves.length === 1 ? length === 8 : halves.length === 2 && length <= maxBesideZeros
}

const maxIpv6Length = 45
