import type { OperationId } from '../../../catalog.ts'
import type { Fields } from '../../../fields.ts'

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

/** Lists what a successful unsafe request makes invalid: the GET operations that its answer's Location and Content-Location name (RFC 9111 §4.4). */
export const invalidated = (
  _answer: { readonly status: number; readonly fields: Fields },
  _uri: TargetUri,
): readonly Target[] => {
  throw new Error('not written yet')
}
