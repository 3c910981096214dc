import type { Operation } from '../../catalog.ts'
import type { LoadResult } from '../../config/load.ts'
import { failures, type Kind } from '../../failures/kinds.ts'
import type { Live } from '../gateway/live.ts'
import { arrive } from './arrive.ts'
import { type Behind, behind } from './behind.ts'
import { type Reason, reasonOf } from './reason.ts'

/** Is the answer to "what would the gateway do with this request?". */
export interface Explanation {
  readonly method: string
  readonly target: string
  readonly file: string
  readonly hash: string
  readonly basePath: string
  /** The operation that stands at the target; null: none does. */
  readonly operation: Operation | null
  /** The raw query with its `?`, or empty. */
  readonly query: string
  /** The host of an absolute-form, which stands before the Host field; null in any other. */
  readonly authority: string | null
  /** Null: it is forwarded. */
  readonly refused: (Reason & { readonly kind: Kind; readonly status: number; readonly allow: string | null }) | null
  readonly behind: Behind | null
}

/** Works out what a gateway with this configuration would do with a request; only its method and its target are looked at. */
export const explain = async (
  method: string,
  target: string,
  file: string,
  { config, origins }: Extract<LoadResult, { ok: true }>,
): Promise<Explanation> => {
  const { listen } = config
  const asked = { method, target, file, hash: config.hash, basePath: listen.basePath }
  const where = (key: string): string => {
    const { source, line } = origins.get(key) ?? { source: 'built-in', line: 0 }
    return line === 0 ? `${key} (${source})` : `${key} (${file}:${line})`
  }
  const arrival = await arrive(method, target, listen)
  if (!arrival.admitted) {
    const { kind, allow } = arrival
    const refused = { kind, status: failures[kind].status, allow, ...reasonOf(arrival, method, target, listen, where) }
    return { ...asked, operation: null, query: '', authority: null, refused, behind: null }
  }
  const { operation, query, authority } = arrival
  return {
    ...asked,
    operation,
    query,
    authority: target.startsWith('/') ? null : authority,
    refused:
      config.operations[operation.id].state === 'refuse' ? byOperator(where(`operations.${operation.id}.state`)) : null,
    behind: behind(operation, config, origins),
  }
}

const byOperator = (key: string): Explanation['refused'] => ({
  kind: 'refused-by-operator',
  status: failures['refused-by-operator'].status,
  allow: null,
  differs: [`the operator has taken it out of service: ${key}`],
  meant: null,
  hint: 'write "state: serve" there, or remove the line',
})

/** Tells whether a request would be forwarded: what an operator says just now goes before the file. */
export const isForwarded = ({ refused }: Explanation, live: Live | null): boolean => {
  const said = live?.operation?.state
  if (said === 'refuse') return false
  return refused === null || (refused.kind === 'refused-by-operator' && said === 'serve')
}
