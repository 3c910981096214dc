import { createHash } from 'node:crypto'
import type { Config } from './config.ts'

/** Hashes all that a configuration says; of clients only the digest is hashed again, and where they stand is not what they are. */
export const hashConfig = ({ clients, clientsSource: { digest }, ...rest }: Omit<Config, 'hash'>): string =>
  hashValue({ ...rest, clients: clients.length === 0 ? clients : digest })

/** Hashes the configuration in one order of keys, whatever the order in the file; contents of referenced files included. */
export const hashValue = (settings: unknown): string =>
  createHash('sha256').update(JSON.stringify(settings, sortKeys)).digest('hex').slice(0, 12)

const sortKeys = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
