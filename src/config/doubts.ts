import { availableParallelism } from 'node:os'
import { catalog, groups } from '../catalog.ts'
import { wallClock } from '../clock.ts'
import { authDoubts } from './auth-doubts.ts'
import { cacheDoubts } from './cache-checks.ts'
import { clientAuthorities, shownCertificates } from './certificate-facts.ts'
import type { Config } from './config.ts'
import type { Finding } from './problem.ts'
import { isLoopback } from './reach.ts'
import type { ParsedConfig } from './schema.ts'
import { tlsDoubts, workerDoubts } from './upstream-doubts.ts'

/** Lists what works but was probably not meant, or must not be overlooked, on a machine with so many cores. */
export const doubtsAbout = (
  parsed: ParsedConfig,
  config: Config,
  cores: number = availableParallelism(),
): readonly Finding[] => [
  ...openSandbox(parsed),
  ...groups.flatMap((group) => sameEndpoint(parsed, group)),
  ...tlsDoubts(parsed, config),
  ...expiryDoubts(config),
  ...idleKeys(config),
  ...lostKeys(config),
  ...idlePreflight(config),
  ...idleRedis(config),
  ...authDoubts(config),
  ...untoldCheckpoints(config),
  ...cacheDoubts(config),
  ...tracingDoubts(config),
  ...workerDoubts(parsed, config, cores),
]

function openSandbox({ allowSandbox, listen, upstreams }: ParsedConfig): readonly Finding[] {
  const echoed = groups.filter((group) => upstreams[group].endpoints.some(({ origin }) => origin === 'sandbox'))
  if (!allowSandbox || isLoopback(listen.host) || echoed.length === 0) return []
  return [
    {
      path: ['allowSandbox'],
      message: 'THE SANDBOX ANSWERS OTHER MACHINES: it echoes what it is sent, and is no service',
      expected: 'real endpoints behind every group',
      found: `the sandbox behind ${echoed.join(', ')}`,
      hint: 'write the URLs of the services under upstreams, and remove allowSandbox',
    },
  ]
}

function sameEndpoint({ upstreams }: ParsedConfig, group: (typeof groups)[number]): readonly Finding[] {
  const urls = upstreams[group].endpoints.map(({ origin, pathPrefix }) => `${origin}${pathPrefix}`)
  return urls.flatMap((url, index): Finding[] => {
    if (urls.indexOf(url) === index) return []
    const path = ['upstreams', group, 'endpoints', index]
    const hint = 'keep one, and give it the weight of both'
    return [{ path, message: 'an endpoint that stands here already', expected: 'each once', found: 'it twice', hint }]
  })
}

/** Looks for operations that may be repeated where nothing ever is. A GET may be without saying so, which is another matter. */
function idleKeys({ operations, upstreams }: Config): readonly Finding[] {
  return catalog.flatMap(({ id, group }): readonly Finding[] => {
    if (!operations[id].idempotent || upstreams[group].retry !== null) return []
    return [
      {
        path: ['operations', id, 'idempotent'],
        message: 'this does nothing: nothing is retried for its group',
        expected: `retry for ${group}, or no idempotent: true`,
        found: 'true',
        hint: `add retry: { } under upstreams.${group}, or remove this line`,
      },
    ]
  })
}

/** Looks for operations that may be repeated by a key that never reaches the upstream, or is not the client's: then nothing is. */
function lostKeys({ operations, upstreams }: Config): readonly Finding[] {
  return catalog.flatMap(({ id, group, method }): readonly Finding[] => {
    const { retry, request } = upstreams[group]
    if (method === 'GET' || !operations[id].idempotent || retry === null) return []
    const edit = isKey(request.remove) ? 'remove' : isKey(request.set.map(({ name }) => name)) ? 'set' : null
    if (edit === null) return []
    return [
      {
        path: ['operations', id, 'idempotent'],
        message:
          "this does nothing: the client's Idempotency-Key does not reach the upstream, so nothing that was sent is repeated",
        expected: 'the key to be passed on, or no idempotent: true',
        found: `Idempotency-Key in upstreams.${group}.request.${edit}`,
        hint: `take it out of upstreams.${group}.request.${edit}, or remove this line`,
      },
    ]
  })
}

/** A CGI-like back end reads the twin with underscores as the same field, and so do the edits. */
const isKey = (names: readonly string[]): boolean =>
  names.some((name) => name.toLowerCase().replaceAll('_', '-') === 'idempotency-key')

function idleRedis({ limits, clients, auth }: Config): readonly Finding[] {
  const counts = limits.address !== null || clients.some(({ rate }) => rate !== null)
  if (limits.redis === null || counts || (auth !== null && auth.dpop !== null)) return []
  return [
    {
      path: ['limits', 'redis'],
      message: 'this does nothing: nothing is counted',
      expected: 'limits.address, the rate of a client or auth.dpop, or no limits.redis',
      found: 'none of them',
      hint: 'add address: { rate: … } under limits, or remove redis',
    },
  ]
}

/** Looks for a log that says nothing of where the audit log ends: nobody could tell that its end was cut off. */
function untoldCheckpoints({ audit, log }: Config): readonly Finding[] {
  if (audit === null || ['info', 'debug', 'trace'].includes(log.level)) return []
  return [
    {
      path: ['log', 'level'],
      message: 'the log does not tell the checkpoints of the audit log: nobody can tell whether its end was cut off',
      expected: 'info',
      found: log.level,
      hint: 'write log: { level: info }, with access: false if that is what was meant',
    },
  ]
}

function idlePreflight({ reload, upstreams }: Config): readonly Finding[] {
  if (reload.preflight !== 'health' || groups.some((group) => upstreams[group].healthCheck !== null)) return []
  return [
    {
      path: ['reload', 'preflight'],
      message: 'this is the same as connect: no group has a health check',
      expected: 'healthCheck under defaults or a group, or connect',
      found: 'health',
      hint: 'add healthCheck: { path: … } under defaults, or write connect',
    },
  ]
}

/** Lists what is doubtful about what is told of exchanges. */
export const tracingDoubts = ({ tracing }: Config): readonly Finding[] => {
  if (tracing === null) return []
  const { otlp, headers, serverTiming } = tracing
  if (otlp === null && !serverTiming) return [idle]
  if (otlp === null) return headers.length > 0 ? [unsent] : []
  return headers.some(({ secret }) => secret) && isReadOnTheWay(otlp) ? [readable(new URL(otlp))] : []
}

const isReadOnTheWay = (url: string): boolean => {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !isLoopback(hostname)
}

const idle: Finding = {
  path: ['tracing'],
  message: 'this does nothing: nothing is sent, and no answer says how long it took',
  expected: 'otlp, serverTiming: true, or no tracing',
  found: 'neither',
  hint: 'add otlp: http://localhost:4318/v1/traces, or remove tracing',
}

const unsent: Finding = {
  path: ['tracing', 'headers'],
  message: 'this does nothing: no spans are sent',
  expected: 'tracing.otlp, or no headers',
  found: 'headers, and no otlp',
  hint: 'add otlp: http://localhost:4318/v1/traces, or remove headers',
}

const readable = ({ origin }: URL): Finding => ({
  path: ['tracing', 'otlp'],
  message: 'secrets are sent in the clear: whoever is on the way can read tracing.headers',
  expected: 'https://, or a receiver on this machine',
  found: origin,
  hint: 'write https://, or send to a collector on this machine that goes on over TLS',
})

const dayMs = 24 * 3_600_000
// Whoever renews by machine does so earlier; whoever does it by hand has two weeks.
const soonDays = 14

/**
 * Lists certificates that have expired, or soon will. One that has is no reason to refuse: a gateway that must start again serves those who
 * look away rather than nobody.
 */
export const expiryDoubts = (config: Config): readonly Finding[] => [...ownDoubts(config), ...authorityDoubts(config)]

/** TLS refuses whose certificate such an authority has issued. Of Client-Cert that is for the proxy in front: RFC 5280 §6.1.1 has no time of an anchor. */
const authorityDoubts = (config: Config): readonly Finding[] => {
  const at = wallClock()
  return clientAuthorities(config).flatMap(({ path, names, notAfter }): readonly Finding[] => {
    if (notAfter - at > soonDays * dayMs) return []
    return [
      {
        path,
        message:
          notAfter < at
            ? 'AN AUTHORITY OF CLIENTS HAS EXPIRED: whose certificate it has issued is refused, or should be'
            : `an authority of clients expires within ${soonDays} days`,
        expected: `authorities that are good for more than ${soonDays} days`,
        found: `${names.join()} until ${new Date(notAfter).toISOString()}`,
        hint: 'add its successor to the file, and remove it when no client needs it any more',
      },
    ]
  })
}

const ownDoubts = (config: Config): readonly Finding[] => {
  const at = wallClock()
  return shownCertificates(config).flatMap(({ path, notAfter }): readonly Finding[] => {
    if (notAfter - at > soonDays * dayMs) return []
    const expired = notAfter < at
    return [
      {
        path: [...path, 'certificate'],
        message: expired
          ? 'THIS CERTIFICATE HAS EXPIRED: whoever verifies it does not connect'
          : `this certificate expires within ${soonDays} days`,
        expected: `a certificate that is good for more than ${soonDays} days`,
        found: `one until ${new Date(notAfter).toISOString()}`,
        hint: 'replace the file and that of its key; both are taken while the gateway runs',
      },
    ]
  })
}
