/** Makes clients with well-known keys, for gateways that are measured with auth on. */
import { hash } from 'node:crypto'
import { join } from 'node:path'

const secret = 'k'.repeat(43)

/** The field that the keys stand in. */
export const keyField = 'X-Api-Key'

/** Returns the key of a client. */
export const keyOf = (nth: number): string => `key-${nth}.${secret}`

/** Lists so many clients; `more` is what each of them has beside its id and key. */
export const clientsList = (count: number, more: object = {}): readonly object[] =>
  Array.from({ length: count }, (_, nth) => ({
    id: `client-${nth}`,
    apiKeys: [{ id: `key-${nth}`, sha256: hash('sha256', secret) }],
    operations: 'all',
    ...more,
  }))

/** Writes so many clients as JSON. */
export const clientsText = (count: number, more: object = {}): string => JSON.stringify(clientsList(count, more))

/** The entry of each where its address and its rate are checked as well; no client reaches that limit. */
export const clientChecks = { addresses: ['127.0.0.0/8'], rate: '1000000/s', burst: 1_000_000 }

/** Makes every operation ask for a key but the one by which a gateway is seen to serve: its client has none. */
export const apiKeyAuth = 'auth: { methods: [apiKey] }\noperations: { analysis.esg-grant: { auth: none } }\n'

/** Names the file of clients in the directory of a gateway. */
export const clientsFile = (directory: string): string => join(directory, 'clients.json')
