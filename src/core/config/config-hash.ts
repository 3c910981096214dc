import { hash } from 'node:crypto'
import { isPlainObject } from '../lib/plain-object.ts'
import type { Config } from './config.ts'

/** Hashes a configuration. Of the clients it takes the digest: which files they stand in makes no difference. */
export const hashConfig = ({
  clients,
  clientsSource: { digest },
  compiledContract,
  ...rest
}: Omit<Config, 'hash'>): string =>
  hashValue({
    ...rest,
    clients: clients.length === 0 ? clients : digest,
    ...(compiledContract === null ? {} : { compiledContract: compiledContract.digest }),
  })

/** The order of keys makes no difference. */
export const hashValue = (settings: unknown): string =>
  hash('sha256', JSON.stringify(settings, sortKeys), 'hex').slice(0, 12)

const sortKeys = (_key: string, value: unknown): unknown =>
  isPlainObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
