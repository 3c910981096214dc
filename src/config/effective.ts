// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { catalog, groups, type OperationId } from '../catalog.ts'
import { formatDuration, formatSize } from '../units.ts'
import type { Config, EndpointConfig, FieldEdits, UpstreamConfig } from './config.ts'

/** Stands for a value that must not be shown. */
export class Secret {
  // Private, so that no inspection prints it either.
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Gives the value itself, for hashing. */
  reveal(): string {
    return this.#value
  }

  /** Writes what may be shown: JSON.stringify calls it. */
  toJSON(): string {
    return '***'
  }
}

/** Is a part of a configuration in the spelling of the file; written as JSON, no secret shows. */
export type Effective =
  | string
  | number
  | boolean
  | Secret
  | readonly Effective[]
  | { readonly [key: string]: Effective }

/**
 * Writes a configuration in the shape and the spelling of the file, every default filled in. Policies stand at each group, since
 * `defaults` has been merged into them. What is set to nothing is left out.
 */
export const effective = (config: Config): { readonly [key: string]: Effective } => {
  const { listen, admin, log, reload, shutdown } = config
  return {
    version: 1,
    allowSandbox: config.allowSandbox,
    requestId: { header: config.requestIdHeader ?? 'none' },
    listen: {
      host: listen.host,
      port: listen.port,
      basePath: listen.basePath,
      trustedProxies: listen.trustedProxies,
      ...(listen.via === null ? {} : { via: listen.via }),
      maxTarget: formatSize(listen.maxTargetBytes),
      maxHeaders: formatSize(listen.maxHeaderBytes),
      maxHeaderFields: listen.maxHeaderFields,
      maxConnections: listen.maxConnections ?? 'none',
      timeouts: {
        headers: formatDuration(listen.headersTimeoutMs),
        body: duration(listen.bodyTimeoutMs),
        keepAlive: formatDuration(listen.keepAliveTimeoutMs),
      },
    },
    admin: {
      host: admin.host,
      port: admin.port,
      hosts: admin.hosts,
      ...(admin.token === null ? {} : { token: new Secret(admin.token) }),
      ...(admin.tls === null
        ? {}
        : { tls: { certificate: new Secret(admin.tls.certificate), key: new Secret(admin.tls.key) } }),
      insecure: admin.insecure,
    },
    log: { level: log.level, access: log.access, buffer: formatSize(log.bufferBytes) },
    upstreams: Object.fromEntries(groups.map((group) => [group, upstream(config.upstreams[group])])),
    operations: Object.fromEntries(catalog.map(({ id, method }) => [id, operation(config, id, method)])),
    reload: { watch: reload.watch, poll: duration(reload.pollMs) },
    shutdown: { wait: formatDuration(shutdown.waitMs), deadline: formatDuration(shutdown.deadlineMs) },
  }
}

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
})

const endpoint = ({ origin, pathPrefix, weight }: EndpointConfig): Effective =>
  weight === 100 ? origin + pathPrefix : { url: origin + pathPrefix, weight }

const edits = ({ set, remove }: FieldEdits): Effective => ({
  set: Object.fromEntries(set.map(({ name, value, secret }) => [name, secret ? new Secret(value) : literal(value)])),
  remove,
})

/** Writes a `${` that the file means as it stands. */
const literal = (value: string): string => value.replaceAll('${', () => '$${')

const operation = ({ operations }: Config, id: OperationId, method: 'GET' | 'POST'): Effective => {
  const { state, deadlineMs, maxBodyBytes, idempotent, cache } = operations[id]
  const common = { state, deadline: duration(deadlineMs), maxBody: size(maxBodyBytes), idempotent }
  return method === 'GET' ? { ...common, cache } : common
}

const duration = (ms: number | null): string => (ms === null ? 'none' : formatDuration(ms))
const size = (bytes: number | null): string => (bytes === null ? 'none' : formatSize(bytes))
