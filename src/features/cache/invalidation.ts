import type { ListenConfig } from '../../core/config/config.ts'
import type { Exchange, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { getFirstFieldValue, type HeaderFields } from '../../core/exchange/header-fields.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import { fieldLines } from './policy/fields.ts'

/**
 * Removes what named resources are stored as. Returns what the response waits for: that no gateway finds it in Redis
 * any more, or that Redis has taken long enough. Null: it waits for nothing. The promise never rejects.
 */
export type Invalidate = (targets: readonly InvalidationTarget[]) => Promise<void> | null

/**
 * Removes what a successful unsafe request has made invalid (RFC 9111 §4.4), before its response goes out: a client
 * that asks again after the response gets no outdated one. What other gateways share of it is waited for.
 */
export const cacheInvalidationLayer =
  ({ publicUrl, basePath }: Pick<ListenConfig, 'publicUrl' | 'basePath'>, invalidate: Invalidate): Layer =>
  (next) =>
  (exchange) =>
    next(exchange).then((response) => {
      if (response.status < 400 && namesTarget(response)) {
        const { path } = exchange.operation
        const origin = publicUrl === null ? requestOrigin(exchange) : new URL(publicUrl).origin
        const targets = invalidationTargets(response, { origin, basePath, path, query: exchange.query })
        const shared = targets.length > 0 ? invalidate(targets) : null
        if (shared !== null) return shared.then(() => passOn(exchange, response))
      }
      return response
    })

/** Returns the response, unless the exchange has ended while it waited: its body is cut then. */
const passOn = ({ aborted }: Exchange, response: ProxyResponse): ProxyResponse => {
  if (aborted === null) return response
  response.body.discard()
  throw aborted
}

const namesTarget = ({ fields }: ProxyResponse): boolean =>
  getFirstFieldValue(fields, 'location') !== undefined || getFirstFieldValue(fields, 'content-location') !== undefined

/** Returns the origin that the gateway itself tells upstreams, or one that no reference names. */
const requestOrigin = ({ fields, authority }: Exchange): string => {
  const host = getFirstFieldValue(fields, 'x-forwarded-host') ?? authority
  const origin = `${getFirstFieldValue(fields, 'x-forwarded-proto') ?? 'http'}://${host}`
  // HTTP/1.0 may come without Host, and no URL may have `1.2.3.4.5` for one. What a reference leaves out is still that
  // of the request (RFC 3986 §5.2.2).
  return URL.canParse(origin) ? origin : 'http://unnamed.invalid'
}

/** One resource of the interface: an operation, and the raw query with its `?`, or empty. */
export interface InvalidationTarget {
  readonly operation: OperationId
  readonly query: string
}

/** The URI that `Location` and `Content-Location` are resolved against. */
interface TargetUri {
  /** Scheme and authority as the client wrote them: `https://gateway.example`. */
  readonly origin: string
  /** `base_path` of `listen`: the prefix of the catalog's paths. */
  readonly basePath: string
  /** The operation's path, without `basePath`. */
  readonly path: string
  readonly query: string
}

/**
 * Lists what a successful unsafe request makes invalid: the GET operations that the Location and Content-Location of
 * its response name (RFC 9111 §4.4). Nothing of another origin: an upstream could empty the cache of others. The target
 * of the request itself is no GET operation, so nothing is stored for it.
 */
export const invalidationTargets = (
  { status, fields }: { readonly status: number; readonly fields: HeaderFields },
  uri: TargetUri,
): readonly InvalidationTarget[] => {
  if (status < 200 || status > 399) return []
  const targets: InvalidationTarget[] = []
  for (const reference of [...fieldLines(fields, 'location'), ...fieldLines(fields, 'content-location')]) {
    const target = resolveTarget(reference, uri)
    if (target !== null && !targets.some((other) => isSameTarget(other, target))) targets.push(target)
  }
  return targets
}

/** Resolves a reference (RFC 3986 §5); null: it names nothing that can be stored. */
const resolveTarget = (reference: string, { origin, basePath, path, query }: TargetUri): InvalidationTarget | null => {
  const resolved = URL.parse(reference, `${origin}${basePath}${path}${query}`)
  if (resolved === null || resolved.origin !== URL.parse(origin)?.origin) return null
  const operation = allOperations.find((one) => one.method === 'GET' && resolved.pathname === basePath + one.path)
  return operation === undefined ? null : { operation: operation.id, query: rawQuery(reference) }
}

/** Cuts out the query as it is written: stored responses are named by the raw query, which the resolved one is not. */
const rawQuery = (reference: string): string => {
  const [whole = ''] = reference.split('#', 1)
  const at = whole.indexOf('?')
  return at < 0 ? '' : whole.slice(at)
}

const isSameTarget = (one: InvalidationTarget, other: InvalidationTarget): boolean =>
  one.operation === other.operation && one.query === other.query
