import { foldUnderscores, targetOverrides } from '../../../core/exchange/header-fields.ts'

// Most names have a length that none of these has: they pass without being folded.
const byLength: (readonly string[] | undefined)[] = []
for (const name of ['forwarded', ...targetOverrides]) byLength[name.length] = [...(byLength[name.length] ?? []), name]

// Only those of a trusted proxy get here. X-Forwarded-For is about the client, and the other two are read by
// themselves.
const furtherForwarded = /^x-forwarded-(?!(?:for|proto|host)$)/i

/**
 * Writes what a field says of the target URI, or of the method, in place of the request's own; null: it says nothing of
 * them.
 */
export const targetOverride = (name: string, value: string): string | null => {
  const isMeant =
    byLength[name.length]?.includes(foldUnderscores(name)) || (name.length > 12 && furtherForwarded.test(name))
  if (!isMeant) return null
  const folded = foldUnderscores(name)
  return `\n${folded}:${folded === 'forwarded' ? withoutNodes(value) : value}`
}

// RFC 7239 §6: the client, and the proxy's own address. Only plain addresses: what a back end may read in another way
// stays.
const node = /(?<![^\s;,])(?:for|by)=(?:[\w.]+|"(?:[\w.]+|\[[\da-f:.]+\])(?::\d+)?")[ \t]*(?=[;,]|$)/gi

/** Removes from `Forwarded` what differs from client to client and says nothing of the target. */
const withoutNodes = (value: string): string => value.replaceAll(node, '')

// Fields in which a proxy in front names the client that it has let in: Envoy's, and those of authenticating proxies.
const identityNames = new Set([
  'x-forwarded-access-token',
  'x-forwarded-client-cert',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
  'x-forwarded-user',
])

export const isIdentityHeader = (name: string): boolean => identityNames.has(name.toLowerCase())
