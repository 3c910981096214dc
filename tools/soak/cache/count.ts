/** Counts what is stored from outside, apart from the gateway's own accounts. */
import { Agent } from 'node:http'
import { fetchAdmin } from '../../../test/helpers/live-gateway.ts'
import { hear } from './clients.ts'
import { bytesOf, type Item, storable, target } from './stock.ts'

/** What is stored: as `/status` says, or as was found. */
export interface Held {
  readonly entries: number
  readonly bytes: number
}

/** What `/status` says of the cache. */
export interface StatusCount extends Held {
  readonly evictions: number
  readonly outcomes: Readonly<Record<string, number>>
}

/** Reads `/status`. */
export const readStatusCount = async (admin: string): Promise<StatusCount> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  const { bytes, evictions, operations } = body.cache as unknown as {
    readonly bytes: number
    readonly evictions: number
    readonly operations: Readonly<Record<string, Readonly<Record<string, number>>>>
  }
  const { entries = 0, bytes: _, hitRatio: __, ...outcomes } = operations['market.insights'] ?? {}
  return { entries, bytes, evictions, outcomes }
}

/**
 * Asks for everything that can be stored, so that only stored responses come; `bytes` are those of the bodies. The
 * upstream is to be gone.
 */
export const found = async (port: number): Promise<Held> => {
  const agent = new Agent({ keepAlive: true })
  const left = [...storable()]
  const held: Item[] = []
  const ask = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) {
      const received = await hear(agent, port, target(item.nth), {
        'Accept-Language': item.language,
        'Cache-Control': 'only-if-cached, max-stale',
        'If-None-Match': '*', // its body need not come again
      })
      if (received?.status === 304) held.push(item)
      else if (received?.status !== 504) throw new Error(`asked for what is stored: ${JSON.stringify(received)}`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, ask))
  agent.destroy()
  return { entries: held.length, bytes: held.reduce((sum, item) => sum + bytesOf(item), 0) }
}

/** Clears the cache, and returns how many responses went. */
export const clear = async (admin: string): Promise<number> =>
  Number((await fetchAdmin(`${admin}/cache`, 'DELETE')).body.removed)
