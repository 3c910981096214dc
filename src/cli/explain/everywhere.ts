import type { Config, ListenConfig } from '../../config/config.ts'
import { stored } from '../../config/effective-cache.ts'
import { auth as shownAuth } from '../../config/effective-identities.ts'
import { rateLimits } from '../../config/effective-policies.ts'
import type { LimitsConfig } from '../../config/limits-config.ts'
import { formatByteRate, formatDuration, formatSize } from '../../units.ts'
import { flat, type Rows } from './policies.ts'

/** Shows what holds for all nine, in the order in which a connection, then a request meets it. */
export const everywhereRows = ({
  listen,
  limits,
  auth,
  clients,
  clientsSource,
  requestIdHeader,
  audit,
  cache,
  operations,
  log,
  shutdown,
}: Config): Rows => [
  ['listen.maxConnections', bound(listen.maxConnections, String)],
  ['listen.maxConnectionsPerAddress', bound(listen.maxConnectionsPerAddress, String)],
  ...tlsRows(listen),
  ['listen.maxRequestsPerConnection', bound(listen.maxRequestsPerConnection, String)],
  ['listen.timeouts.headers', formatDuration(listen.headersTimeoutMs)],
  ['listen.timeouts.body', bound(listen.bodyTimeoutMs, formatDuration)],
  ['listen.timeouts.keepAlive', formatDuration(listen.keepAliveTimeoutMs)],
  ['listen.interim', listen.interim],
  ['listen.minRate', bound(listen.minBytesPerSecond, formatByteRate)],
  ['listen.trustedProxies', list(listen.trustedProxies, 'none')],
  ['listen.maxTarget', formatSize(listen.maxTargetBytes)],
  ['listen.maxHeaders', formatSize(listen.maxHeaderBytes)],
  ['listen.maxHeaderFields', String(listen.maxHeaderFields)],
  ['listen.hosts', list(listen.hosts, 'any')],
  ...(listen.publicUrl === null ? [] : [['listen.publicUrl', listen.publicUrl] as const]),
  ['listen.basePath', listen.basePath === '' ? '(empty)' : listen.basePath],
  ...countingRows(limits),
  ...(auth === null ? [] : flat({ auth: shownAuth(auth) })),
  ...(clients.length === 0 ? [] : [['clients', clientsIn(clients, clientsSource)] as const]),
  ['requestId.header', requestIdHeader ?? 'none'],
  ...auditRows(audit),
  ...(Object.values(operations).some(({ cache: each }) => each !== null) ? flat({ cache: stored(cache) }) : []),
  ['log.buffer', formatSize(log.bufferBytes)],
  ['shutdown.wait', formatDuration(shutdown.waitMs)],
  ['shutdown.deadline', formatDuration(shutdown.deadlineMs)],
]

const auditRows = (audit: Config['audit']): Rows =>
  audit === null
    ? [['audit', 'none']]
    : [
        ['audit.file', audit.file],
        ['audit.rotate', bound(audit.rotateBytes, formatSize)],
      ]

/** Shows a bound, or that there is none. */
export const bound = (value: number | null, format: (value: number) => string): string =>
  value === null ? 'none' : format(value)

const tlsRows = ({ tls, http2 }: ListenConfig): Rows => {
  if (tls === null) return [['listen.tls', 'none']]
  const { certificates, minVersion, client } = tls
  const asked = client?.required === true ? 'required' : 'optional'
  return [
    ['listen.tls.certificates', String(certificates.length)],
    ['listen.tls.minVersion', minVersion],
    ['listen.tls.clientCertificates', client === null ? 'none' : asked],
    ['listen.http2', String(http2)],
  ]
}

/** Shows how it is counted by address. How often an address may ask is among the layers. */
const countingRows = (limits: LimitsConfig): Rows => {
  const { address } = limits
  if (address === null) return []
  return [
    ['limits.address.ipv6Prefix', String(address.ipv6Prefix)],
    ...flat({ redis: rateLimits(limits).redis }, 'limits.'),
  ]
}

/** Shows how many clients there are, and in which files. */
const clientsIn = (clients: Config['clients'], { parts }: Config['clientsSource']): string => {
  const files = parts.flatMap(({ file, count }) => (file === null ? [] : [`${count} in ${file}`]))
  return files.length === 0 ? String(clients.length) : `${clients.length}: ${files.join(', ')}`
}

const list = (values: readonly string[], none: string): string => (values.length === 0 ? none : values.join(', '))
