import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ClientConfig } from '../../core/config/config.ts'
import { deepFreeze } from '../../core/config/deep-freeze.ts'

type Clients = readonly ClientConfig[]

// So many take the serving thread a few milliseconds.
const clientsPerTurn = 500

const serializedCache = new WeakMap<Clients, readonly string[]>()

/** Serializes each client: texts go to another thread or process many times as fast as objects do. */
export const serializeClients = (clients: Clients): readonly string[] => {
  const texts = serializedCache.get(clients) ?? clients.map((client) => JSON.stringify(client))
  serializedCache.set(clients, texts)
  return texts
}

/**
 * Makes frozen clients of texts, some in each turn of the event loop. A client that `running` holds as well is the same
 * object, and so is the whole list when nothing has changed.
 */
export const deserializeClients = async (texts: readonly string[], running: Clients): Promise<Clients> => {
  const before = new Map(serializeClients(running).map((text, nth) => [text, running[nth]]))
  const clients: ClientConfig[] = []
  let isSame = texts.length === running.length
  for (const [nth, text] of texts.entries()) {
    if (nth % clientsPerTurn === clientsPerTurn - 1) await nextTurn()
    const client = before.get(text) ?? deepFreeze(JSON.parse(text) as ClientConfig)
    isSame &&= client === running[nth]
    clients.push(client)
  }
  if (isSame) return Object.freeze(running)
  serializedCache.set(Object.freeze(clients), texts)
  return clients
}

/** Hashes clients (SHA-256 in hex); empty without clients. */
export const clientsDigest = (clients: Clients): string =>
  clients.length === 0 ? '' : hash('sha256', serializeClients(clients).join('\n'))
