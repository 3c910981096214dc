import type { Operation } from '../../catalog.ts'
import type { LoadResult } from '../../config/load.ts'
import { failures, type Kind } from '../../failures/kinds.ts'
import type { Live } from '../gateway/live.ts'
import { type Behind, behind, type Setting } from './behind.ts'
import { arrive, type Reason, reasonOf } from './reason.ts'

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

/** Writes an explanation for a program: the same facts, one object; a setting that is built in has no line. `live` is there when it was asked for. */
export const explanationJson = (explanation: Explanation, live: Live | null = null): string => {
  const { method, target, file, hash, operation, query, authority, refused, behind } = explanation
  const place = ({ origin }: Pick<Setting, 'origin'>) => ({
    level: origin.source,
    line: origin.line === 0 ? null : origin.line,
    column: origin.line === 0 ? null : origin.column,
  })
  const settings = behind === null ? [] : [...behind.upstream, ...behind.operation, ...behind.everywhere]
  const told = {
    forwarded: refused === null,
    method,
    target,
    file,
    hash,
    refused: refused && {
      status: refused.status,
      code: refused.kind,
      allow: refused.allow,
      why: refused.differs,
      meant: refused.meant?.id ?? null,
      hint: refused.hint,
    },
    operation,
    query,
    authority,
    endpoints: behind?.endpoints.map(({ origin, ...share }) => ({ ...share, ...place({ origin }) })) ?? [],
    weightMeans: behind?.weightMeans ?? null,
    layers:
      behind?.layers.map(({ name, key, value, on, origin }) => ({ name, on, key, value, ...place({ origin }) })) ?? [],
    settings: Object.fromEntries(settings.map(({ key, value, origin }) => [key, { value, ...place({ origin }) }])),
    ...(live === null ? {} : { live: { ...live, at: new Date(live.at).toISOString() } }),
  }
  return `${JSON.stringify(told, null, 2)}\n`
}
