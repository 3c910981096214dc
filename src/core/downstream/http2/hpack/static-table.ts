import { createHpackField, type HpackField, kindOfName } from './field.ts'

/** RFC 7541 appendix A, from index 1. */
const entries = `:authority
:method=GET
:method=POST
:path=/
:path=/index.html
:scheme=http
:scheme=https
:status=200
:status=204
:status=206
:status=304
:status=400
:status=404
:status=500
accept-charset
accept-encoding=gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`.split('\n')

/** Index 1 is at position 0. */
export const staticTable: readonly HpackField[] = entries.map((entry) => {
  const [, name = '', value = ''] = /^(:?[^=]*)=?(.*)$/.exec(entry) ?? []
  return createHpackField(name, value)
})

/** By name alone: a literal may have another value. */
export const staticNameKinds = staticTable.map(({ name }) => kindOfName(name))

const indexes = new Map(staticTable.map(({ name }, i) => [name, i + 1] as const).reverse())

export const findStaticName = (name: string): number => indexes.get(name) ?? 0

const statusIndexes = new Map(
  staticTable.flatMap(({ name, value }, i) => (name === ':status' ? [[value, i + 1] as const] : [])),
)

export const findStaticStatus = (status: string): number => statusIndexes.get(status) ?? 0
