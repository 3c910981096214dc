import { catalog, groups, type OperationId } from '../catalog.ts'
import { formatByteRate, formatDuration, formatSize } from '../units.ts'
import type { AuditConfig, Config, EndpointConfig, FieldEdits, ListenTlsConfig, UpstreamConfig } from './config.ts'
import { operationCache, stored } from './effective-cache.ts'
import { identities, operationAuth } from './effective-identities.ts'
import { policies, rateLimits } from './effective-policies.ts'
import { traced } from './effective-tracing.ts'
import { type Effective, literal, Secret, values } from './shown.ts'

/**
 * Writes a configuration in the shape and the spelling of the file, every default filled in. Policies stand at each group, since
 * `defaults` has been merged into them. What is set to nothing is left out.
 */
export const effective = (config: Config): { readonly [key: string]: Effective } => {
  const { listen, limits, admin, audit, cache, log, reload, shutdown } = config
  return {
    version: 1,
    allowSandbox: config.allowSandbox,
    workers: config.workers,
    requestId: { header: config.requestIdHeader ?? 'none' },
    listen: {
      host: listen.host,
      port: listen.port,
      basePath: listen.basePath,
      trustedProxies: listen.trustedProxies,
      hosts: listen.hosts,
      ...(listen.publicUrl === null ? {} : { publicUrl: literal(listen.publicUrl) }),
      ...(listen.via === null ? {} : { via: listen.via }),
      maxTarget: formatSize(listen.maxTargetBytes),
      maxHeaders: formatSize(listen.maxHeaderBytes),
      maxHeaderFields: listen.maxHeaderFields,
      maxConnections: listen.maxConnections ?? 'none',
      maxConnectionsPerAddress: listen.maxConnectionsPerAddress ?? 'none',
      maxRequestsPerConnection: listen.maxRequestsPerConnection ?? 'none',
      minRate: listen.minBytesPerSecond === null ? 'none' : formatByteRate(listen.minBytesPerSecond),
      timeouts: {
        headers: formatDuration(listen.headersTimeoutMs),
        body: duration(listen.bodyTimeoutMs),
        keepAlive: formatDuration(listen.keepAliveTimeoutMs),
      },
      interim: listen.interim,
      ...(listen.tls === null ? {} : { tls: listenTls(listen.tls) }),
    },
    limits: {
      ...rateLimits(limits),
      concurrency: limits.concurrency ?? 'none',
      eventLoopDelay: duration(limits.eventLoopDelayMs),
    },
    ...identities(config),
    admin: {
      host: admin.host,
      port: admin.port,
      hosts: admin.hosts,
      ...(admin.token === null ? {} : { token: new Secret(admin.token) }),
      ...(admin.metricsToken === null ? {} : { metricsToken: new Secret(admin.metricsToken) }),
      ...(admin.tls === null
        ? {}
        : { tls: { certificate: new Secret(admin.tls.certificate), key: new Secret(admin.tls.key) } }),
      insecure: admin.insecure,
    },
    audit: audit === null ? 'none' : audited(audit),
    cache: stored(cache),
    metrics: config.metrics === null ? 'none' : { clients: config.metrics.clients },
    log: { level: log.level, access: log.access, buffer: formatSize(log.bufferBytes) },
    tracing: traced(config.tracing),
    upstreams: Object.fromEntries(groups.map((group) => [group, upstream(config.upstreams[group])])),
    operations: Object.fromEntries(catalog.map(({ id, method }) => [id, operation(config, id, method)])),
    reload: { watch: reload.watch, poll: duration(reload.pollMs), preflight: reload.preflight },
    shutdown: { wait: formatDuration(shutdown.waitMs), deadline: formatDuration(shutdown.deadlineMs) },
  }
}

const audited = ({ file, key, digests, onFailure, rotateBytes }: AuditConfig): Effective => ({
  file: literal(file),
  key: new Secret(key),
  digests,
  onFailure,
  rotate: size(rotateBytes),
})

const listenTls = ({ certificates, minVersion, client }: ListenTlsConfig): Effective => ({
  certificates: certificates.map(({ certificate, key }) => ({
    certificate: new Secret(certificate),
    key: new Secret(key),
  })),
  minVersion,
  clientCertificates: client === null ? 'none' : client.required ? 'required' : 'optional',
  ...(client === null
    ? {}
    : { clientCa: new Secret(client.ca), clientCrl: client.revoked.map((text) => new Secret(text)) }),
})

const upstream = (config: UpstreamConfig): Effective => ({
  endpoints: config.endpoints.map(endpoint),
  host: typeof config.host === 'string' ? config.host : config.host.name,
  request: edits(config.request),
  response: edits(config.response),
  timeouts: {
    connect: duration(config.connectTimeoutMs),
    headers: duration(config.headersTimeoutMs),
    body: duration(config.bodyTimeoutMs),
  },
  keepAlive: duration(config.keepAliveMs === 0 ? null : config.keepAliveMs),
  maxConnections: config.maxConnections,
  maxPending: config.maxPending,
  concurrency: config.concurrency ?? 'none',
  resolve: formatDuration(config.resolveMs),
  ...policies(config),
})

const endpoint = ({ origin, pathPrefix, weight, drain }: EndpointConfig): Effective => {
  const url = origin + pathPrefix
  if (drain) return { url, weight, drain }
  return weight === 100 ? url : { url, weight }
}

const edits = ({ set, remove }: FieldEdits): Effective => ({ set: values(set), remove })

const operation = ({ operations }: Config, id: OperationId, method: 'GET' | 'POST'): Effective => {
  const { state, deadlineMs, maxBodyBytes, concurrency, auth, idempotent, cache } = operations[id]
  const bounds = { deadline: duration(deadlineMs), maxBody: size(maxBodyBytes), concurrency: concurrency ?? 'none' }
  const common = { state, ...bounds, auth: operationAuth(auth), idempotent }
  return method === 'GET' ? { ...common, cache: operationCache(cache) } : common
}

const duration = (ms: number | null): string => (ms === null ? 'none' : formatDuration(ms))
const size = (bytes: number | null): string => (bytes === null ? 'none' : formatSize(bytes))
