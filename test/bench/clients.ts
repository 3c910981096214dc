/** Makes clients with keys that everybody knows, for gateways that are measured with auth on. */
import { hash } from 'node:crypto'
import { join } from 'node:path'

const secret = 'k'.repeat(43)

/** The field that the keys stand in. */
export const keyField = 'X-Api-Key'

/** Tells the key of a client. */
export const keyOf = (nth: number): string => `key-${nth}.${secret}`

/** Writes so many clients as JSON; `more` is what each of them says beside who it is. */
export const clientsText = (count: number, more: object = {}): string =>
  JSON.stringify(
    Array.from({ length: count }, (_, nth) => ({
      id: `client-${nth}`,
      apiKeys: [{ id: `key-${nth}`, sha256: hash('sha256', secret) }],
      operations: 'all',
      ...more,
    })),
  )

/** Names the file of clients in the directory of a gateway. */
export const clientsFile = (directory: string): string => join(directory, 'clients.json')
