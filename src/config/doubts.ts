import { catalog, groups } from '../catalog.ts'
import type { Config } from './config.ts'
import type { Finding } from './problem.ts'
import { isLoopback } from './schema/address.ts'
import type { ParsedConfig } from './schema.ts'
import { tlsDoubts } from './tls-doubts.ts'

/** Lists what works but was probably not meant, or must not be overlooked. */
export const doubtsAbout = (parsed: ParsedConfig, config: Config): readonly Finding[] => [
  ...openSandbox(parsed),
  ...groups.flatMap((group) => sameEndpoint(parsed, group)),
  ...tlsDoubts(parsed, config),
  ...idleKeys(config),
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
