import { catalog, type OperationId } from '../../catalog.ts'
import type { Answer, Exchange, Layer } from '../../exchange.ts'
import { type Fields, firstValue } from '../../fields.ts'
import { linesOf } from './policy/list.ts'

/** Says where the operations stand. */
export interface Site {
  /** `{base_url}` as clients write it, where the configuration says so; null: as each request has it. */
  readonly publicUrl: string | null
  readonly basePath: string
}

/**
 * Removes what an unsafe request that succeeded has made invalid (RFC 9111 §4.4), before its answer goes out: who has it asks again and is not
 * given what was before.
 */
export const invalidate =
  ({ publicUrl, basePath }: Site, remove: (targets: readonly Target[]) => void): Layer =>
  (next) =>
  (exchange) =>
    next(exchange).then((answer) => {
      if (answer.status < 400 && namesOthers(answer)) {
        const { path } = exchange.operation
        const origin = publicUrl === null ? originOf(exchange) : new URL(publicUrl).origin
        const targets = invalidated(answer, { origin, basePath, path, query: exchange.query })
        if (targets.length > 0) remove(targets)
      }
      return answer
    })

const namesOthers = ({ fields }: Answer): boolean =>
  firstValue(fields, 'location') !== undefined || firstValue(fields, 'content-location') !== undefined

/** Takes what the gateway itself tells upstreams of how it was asked. */
const originOf = ({ fields, authority }: Exchange): string =>
  `${firstValue(fields, 'x-forwarded-proto') ?? 'http'}://${firstValue(fields, 'x-forwarded-host') ?? authority}`

/** Names one resource of the interface: an operation, and the raw query with its `?`, or empty. */
export interface Target {
  readonly operation: OperationId
  readonly query: string
}

/** Is what `Location` and `Content-Location` are read against. */
export interface TargetUri {
  /** Scheme and authority as the client wrote them: `https://gateway.example`. */
  readonly origin: string
  /** Of `listen`: what stands before the catalog's paths. */
  readonly basePath: string
  /** The operation's path, without `basePath`. */
  readonly path: string
  readonly query: string
}

/**
 * Lists what a successful unsafe request makes invalid: the GET operations that its answer's Location and Content-Location name (RFC 9111 §4.4).
 * Nothing of another origin: an upstream could empty the cache of others. The target of the request itself is no GET operation, so nothing is
 * stored for it.
 */
export const invalidated = (
  { status, fields }: { readonly status: number; readonly fields: Fields },
  uri: TargetUri,
): readonly Target[] => {
  if (status < 200 || status > 399) return []
  const targets: Target[] = []
  for (const reference of [...linesOf(fields, 'location'), ...linesOf(fields, 'content-location')]) {
    const target = targetOf(reference, uri)
    if (target !== null && !targets.some((other) => isSame(other, target))) targets.push(target)
  }
  return targets
}

/** Resolves a reference (RFC 3986 §5); null: it names nothing that can be stored. */
const targetOf = (reference: string, { origin, basePath, path, query }: TargetUri): Target | null => {
  const resolved = URL.parse(reference, `${origin}${basePath}${path}${query}`)
  if (resolved === null || resolved.origin !== URL.parse(origin)?.origin) return null
  const operation = catalog.find((one) => one.method === 'GET' && resolved.pathname === basePath + one.path)
  return operation === undefined ? null : { operation: operation.id, query: rawQuery(reference) }
}

/** Cuts out the query as it is written: what is stored is named by the raw query, which the resolved one is not. */
const rawQuery = (reference: string): string => {
  const [whole = ''] = reference.split('#', 1)
  const at = whole.indexOf('?')
  return at < 0 ? '' : whole.slice(at)
}

const isSame = (one: Target, other: Target): boolean => one.operation === other.operation && one.query === other.query
