import type { RedisScript, ScriptArgs, ScriptOptions } from './redis-server.ts'
import { connectDirectory, connectServer, type RedisServer } from './redis-server.ts'
import { errorText, formatAddress, nameServer, type RedisAddress, type RedisServerOptions } from './redis-settings.ts'

const slotCount = 16_384

interface SlotRange {
  readonly first: number
  readonly last: number
  readonly address: RedisAddress
}

/** `onLost`: a connection is lost, or a slot moved to a node without a connection. */
export const connectCluster = async (
  seeds: readonly RedisServerOptions[],
  toServer: (address: RedisAddress) => RedisServerOptions,
  onLost: (reason: unknown) => void,
) => {
  const ranges = await discoverSlots(seeds)
  const addresses = addressesOf(ranges)
  const slots = new Array<string>(slotCount).fill('')
  for (const { first, last, address } of ranges) slots.fill(formatAddress(address), first, last + 1)
  if (slots.includes('')) throw new Error(`no node serves slot ${slots.indexOf('')}`)
  const nodes = await connectAll(addresses, toServer, onLost)

  return {
    /** On the node of its first key; Redis rejects keys of several slots. */
    async run(script: RedisScript, invocation: ScriptArgs, options?: ScriptOptions): Promise<unknown> {
      const slot = keySlot(invocation.keys[0] ?? '')
      let address = slots[slot] ?? ''
      for (let isAsking = false, redirects = 0; ; redirects++) {
        const node = nodes.get(address)
        if (node === undefined) throw new Error('no node serves this slot')
        try {
          return await node.run(script, invocation, { ...options, isAsking })
        } catch (error) {
          const redirect = parseRedirect(error, addresses.get(address))
          if (redirect === null || redirects === maxRedirects) throw error
          address = redirect.address
          if (!nodes.has(address)) {
            onLost(new Error(`the cluster has changed: ${address} serves a slot`))
            throw error
          }
          isAsking = redirect.kind === 'ASK'
          if (!isAsking) slots[slot] = address
        }
      }
    },
    /** For each node, one key with this prefix that it serves. */
    nodeKeys(prefix: string): readonly string[] {
      const keys = new Map<string, string>()
      const serving = new Set(slots).size
      for (let n = 0; keys.size < serving && n < maxTries; n++) {
        const key = `${prefix}:${n}`
        const address = slots[keySlot(key)] ?? ''
        if (!keys.has(address)) keys.set(address, key)
      }
      return [...keys.values()]
    },
    destroy: (): void => {
      for (const node of nodes.values()) node.destroy()
    },
  }
}

export const findClusterNodes = async (seeds: readonly RedisServerOptions[]): Promise<readonly RedisAddress[]> => [
  ...addressesOf(await discoverSlots(seeds)).values(),
]

const addressesOf = (ranges: readonly SlotRange[]): ReadonlyMap<string, RedisAddress> =>
  new Map(ranges.map(({ address }) => [formatAddress(address), address]))

// A slot that has moved may move again.
const maxRedirects = 2

// Almost always enough names to find a node with a single slot.
const maxTries = 20 * slotCount

/** If one address cannot be reached, closes all connections. */
const connectAll = async (
  addresses: ReadonlyMap<string, RedisAddress>,
  toServer: (address: RedisAddress) => RedisServerOptions,
  onLost: (reason: unknown) => void,
): Promise<ReadonlyMap<string, RedisServer>> => {
  const nodes = new Map<string, RedisServer>()
  const connecting = [...addresses].map(async ([name, address]) => {
    const onNodeLost = (reason: unknown): void => onLost(nameServer(address, reason))
    try {
      nodes.set(name, await connectServer(toServer(address), onNodeLost))
    } catch (error) {
      throw nameServer(address, error)
    }
  })
  const failed = (await Promise.allSettled(connecting)).find((each) => each.status === 'rejected')
  if (failed === undefined) return nodes
  for (const node of nodes.values()) node.destroy()
  throw failed.reason
}

/** Asks the seeds in random order: a partitioned seed may know outdated slots. */
const discoverSlots = async (seeds: readonly RedisServerOptions[]): Promise<readonly SlotRange[]> => {
  const reasons: string[] = []
  const start = Math.floor(Math.random() * seeds.length)
  for (const seed of [...seeds.slice(start), ...seeds.slice(0, start)]) {
    try {
      const { replies, destroy } = await connectDirectory(seed, [['CLUSTER', 'SLOTS']])
      destroy()
      return parseSlots(replies[0], seed)
    } catch (error) {
      reasons.push(nameServer(seed, error).message)
    }
  }
  throw new Error(`no node names the slots: ${reasons.join('; ')}`)
}

/** Of `CLUSTER SLOTS`: ranges, each with its master first. A node may not know its own host. */
const parseSlots = (reply: unknown, asked: RedisAddress): readonly SlotRange[] =>
  asList(reply).map((range) => {
    const [from, to, master] = asList(range)
    const [host, port] = asList(master)
    const [first, last] = [Number(from), Number(to)]
    if (!(first >= 0 && first <= last && last < slotCount && Number(port) > 0)) throw new Error('no range of slots')
    const isUnknown = host === null || host === '' || host === '?'
    return { first, last, address: { host: isUnknown ? asked.host : String(host), port: Number(port) } }
  })

const asList = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value
  throw new Error('no list of slots')
}

/** `MOVED 3999 127.0.0.1:6381` or `ASK`; null: another error. An empty host means the sender's. */
const parseRedirect = (error: unknown, from: RedisAddress | undefined) => {
  const [, kind, where = ''] = /^(MOVED|ASK) \d+ (\S+)$/.exec(errorText(error)) ?? []
  if (kind === undefined) return null
  // IPv6 addresses have no brackets here.
  const [, host = '', port] = /^(.*):(\d+)$/.exec(where) ?? []
  const address = formatAddress({ host: host === '' ? (from?.host ?? '') : host, port: Number(port) })
  return { kind, address }
}

/** Of the text in the first braces unless empty, else of the whole key (Redis Cluster specification). */
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
