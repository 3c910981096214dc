import { formatAddress, type RedisAddress } from './redis-settings.ts'

/** Says what went wrong, in words of the system, the library or the server. */
export const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return error.message === '' && code !== undefined ? code : error.message
}

/** Names the server of several that an error is about, unless its text does already. */
export const nameServer = (address: RedisAddress, error: unknown): Error => {
  const [name, text] = [formatAddress(address), errorText(error)]
  return text.includes(name) ? new Error(text) : new Error(`${name}: ${text}`)
}
