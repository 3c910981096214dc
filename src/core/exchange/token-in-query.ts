import { tryOrNull } from '../lib/try.ts'

/**
 * RFC 6750 §2.3. The gateway does not read the interface's query, but `access_token`, however encoded, has one meaning.
 */
export const hasTokenInQuery = (query: string): boolean =>
  query !== '' &&
  (query.includes('access_token') || query.includes('%')) &&
  query.slice(1).split(/[&;]/).some(isAccessTokenParam)

const isAccessTokenParam = (pair: string): boolean => {
  const name = pair.split('=', 1)[0] as string
  return tryOrNull(() => decodeURIComponent(name.replaceAll('+', ' ')))?.trim() === 'access_token'
}
