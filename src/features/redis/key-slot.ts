/** How many slots the keys of a cluster are spread over. */
export const slotCount = 16_384

/**
 * Returns the slot of a key in a cluster: of the text within its first braces, unless it is empty, otherwise of the
 * whole key (Redis Cluster specification, "Key distribution model").
 */
export const keySlot = (key: string): number => {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(hashed)) crc = ((crc << 8) & 0xffff) ^ (crcTable[(crc >> 8) ^ byte] ?? 0)
  return crc % slotCount
}

// CRC-16/XMODEM: polynomial 0x1021, no reflection.
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})
