import type { Operation } from '../../../operations.ts'
import type { CandidateShadowConfig } from '../config/candidate.ts'

export const copiesOf = ({ method }: Pick<Operation, 'method'>, rules: CandidateShadowConfig) =>
  rules.sample > 0 && (method === 'GET' || (rules.posts && rules.sideEffects === 'none')) ? rules : null

/**
 * `full`: `concurrency` is reached. `backoff`: earlier copies got no complete response. `no-endpoint`: none is up and
 * takes requests. `no-room`: `maxBytes` is used up. `credential-in-query`: the query holds a token. `stopped`: the
 * process stops, or copying was turned off.
 */
export const zeroShadowDrops = {
  full: 0,
  backoff: 0,
  'no-endpoint': 0,
  'no-room': 0,
  'body-too-large': 0,
  'body-unfinished': 0,
  'credential-in-query': 0,
  stopped: 0,
}

export type ShadowDropReason = keyof typeof zeroShadowDrops

/** `failed`: no complete response. */
export const zeroShadowOutcomes = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, failed: 0 }

/**
 * `failure`: only the primary has responded completely. `missing`, `added`: a member, or an item of an unordered array,
 * of one side alone. `bytes`: not compared as JSON. `unreadable`: one body, or both for different reasons.
 */
export const zeroDifferences = {
  failure: 0,
  status: 0,
  'content-type': 0,
  field: 0,
  missing: 0,
  added: 0,
  type: 0,
  value: 0,
  length: 0,
  bytes: 0,
  unreadable: 0,
}

export type DifferenceKind = keyof typeof zeroDifferences

/**
 * `learning`: the operation's noise must be learned first. `primary-failed`: its response is not complete. `coded`: an
 * unknown content coding. `not-modified`: one status is 304, as validators differ.
 */
export const zeroUncompared = {
  learning: 0,
  'primary-failed': 0,
  'too-large': 0,
  coded: 0,
  'too-complex': 0,
  'not-modified': 0,
}

export type UncomparedReason = keyof typeof zeroUncompared

export const differenceKey = ({ kind, pointer }: { readonly kind: DifferenceKind; readonly pointer: string }): string =>
  `${kind} ${pointer}`
