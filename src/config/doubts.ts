import { availableParallelism } from 'node:os'
import { catalog, groups } from '../catalog.ts'
import { authDoubts } from './auth-doubts.ts'
import { cacheDoubts } from './cache-checks.ts'
import type { Config } from './config.ts'
import { expiryDoubts } from './expiry-doubts.ts'
import type { Finding } from './problem.ts'
import { isLoopback } from './reach.ts'
import type { ParsedConfig } from './schema.ts'
import { tlsDoubts } from './tls-doubts.ts'
import { tracingDoubts } from './tracing-doubts.ts'
import { workerDoubts } from './worker-doubts.ts'

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
