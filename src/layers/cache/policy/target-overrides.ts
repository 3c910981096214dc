import { foldUnderscores } from '../../../header-fields.ts'

// What back ends are known to take for the URI, the method or the Host instead of those of the request itself: whoever may write one chooses what
// is answered. Few say so in Vary.
const overrideNames = [
  'forwarded',
  'front-end-https',
  'x-host',
  'x-http-host-override',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-host',
  'x-original-uri',
  'x-original-url',
  'x-rewrite-uri',
  'x-rewrite-url',
  'x-scheme',
  'x-url-scheme',
]

// Most names have a length that none of these has: they are passed without being folded.
const byLength: (readonly string[] | undefined)[] = []
for (const name of overrideNames) byLength[name.length] = [...(byLength[name.length] ?? []), name]

// Of a trusted proxy; anybody else's do not get here. X-Forwarded-For is about who asks, and the other two are read by themselves.
const furtherForwarded = /^x-forwarded-(?!(?:for|proto|host)$)/i

/** Writes what a field says of the target URI, or of the method, in the stead of the request itself; null: it says nothing of them. */
export const targetOverride = (name: string, value: string): string | null => {
  const isMeant =
    byLength[name.length]?.includes(foldUnderscores(name)) || (name.length > 12 && furtherForwarded.test(name))
  if (!isMeant) return null
  const folded = foldUnderscores(name)
  return `\n${folded}:${folded === 'forwarded' ? withoutNodes(value) : value}`
}

// RFC 7239 §6: who asks, and by what. Nothing but plain addresses: what a back end may read in another way stays.
const node = /(?<![^\s;,])(?:for|by)=(?:[\w.]+|"(?:[\w.]+|\[[\da-f:.]+\])(?::\d+)?")[ \t]*(?=[;,]|$)/gi

/** Leaves out of `Forwarded` what differs from client to client and says nothing of what is asked for. */
const withoutNodes = (value: string): string => value.replaceAll(node, '')

// What proxies in front tell of whom they have let in: Envoy's, and those of authenticating proxies.
const identityNames = new Set([
  'x-forwarded-access-token',
  'x-forwarded-client-cert',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
  'x-forwarded-user',
])

/** Tells whether a field in which something is told of the target is one in which a proxy says who asks. */
export const isIdentityHeader = (name: string): boolean => identityNames.has(name.toLowerCase())
