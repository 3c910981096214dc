import { BodyCopy, copyRequestBody } from '../../core/exchange/bodies/body-copy.ts'
import { bufferRequestBody } from '../../core/exchange/bodies/buffered-bodies.ts'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError, type Violation } from '../../core/exchange/failures/errors.ts'
import { clientShare } from '../../core/exchange/request-owner.ts'
import {
  type BodyCheck,
  checkBody,
  checkRequestHead,
  type HeadCheck,
  missingBody,
  uncheckedViolations,
} from './check/check-message.ts'
import type { RequestContract, SchemaName } from './check/compiled-contract.ts'
import { noViolations } from './check/validators.ts'
import {
  type ContractLayerOptions,
  countLater,
  countMessage,
  describeViolations,
  isSampled,
  refuseUnchecked,
  whyUnchecked,
} from './contract-options.ts'

/** Checks a copy after the exchange has ended, so that no byte waits. */
export const reportRequestLayer = (contract: RequestContract, options: ContractLayerOptions): Layer => {
  const hasSchema = contract.body?.content.some(({ schema }) => schema !== null) ?? false
  return (next) => (exchange) => {
    if (!isSampled(options.sample)) return next(exchange)
    const { body, query, fields } = exchange
    // A chunked body without a schema is read only to learn whether it is empty.
    const isRead = body.length !== 0 && (hasSchema || (contract.body !== null && body.length === null))
    const copy = isRead
      ? new BodyCopy(hasSchema ? options.maxBytes : 0, clientShare(options.checks.requests, exchange), body.length)
      : null
    let isComplete = false
    if (copy !== null)
      copyRequestBody(body, copy, () => {
        isComplete = true
      })
    const checkHead = (): HeadCheck => {
      const isEmpty = copy !== null && isComplete && copy.failure === null && copy.bytes.length === 0
      return checkRequestHead(contract, options.validators, { query, fields, hasBody: body.length !== 0 && !isEmpty })
    }
    exchange.onFinished(() => countLater(exchange, 'request', options, copy, checkHead, () => isComplete))
    return next(exchange)
  }
}

/**
 * Rejects with 415 for the type of the body, 400 for everything else. Requests that cannot be checked pass, or get 413
 * or 415. The checked bytes are forwarded unchanged.
 */
export const enforceRequestLayer =
  (contract: RequestContract, options: ContractLayerOptions): Layer =>
  (next) =>
  (exchange) => {
    const { body, query, fields } = exchange
    const head = checkRequestHead(contract, options.validators, { query, fields, hasBody: body.length !== 0 })
    return body.length === null && turnsOnContent(contract, head, options)
      ? enforceOnceBegun(exchange, contract, head, options, next)
      : enforceHead(exchange, contract, head, options, next)
  }

/** Tells whether the verdict on a chunked request changes if its body is empty: an empty body needs no type. */
const turnsOnContent = (
  contract: RequestContract,
  { violations, body }: HeadCheck,
  options: ContractLayerOptions,
): boolean =>
  violations.length > 0
    ? violations.every((each) => each.in === 'content-type')
    : (body.kind !== 'schema' && contract.body?.required === true) ||
      refuseUnchecked(body, whyUnchecked(body, null), options).length > 0

const enforceOnceBegun = async (
  exchange: Exchange,
  contract: RequestContract,
  head: HeadCheck,
  options: ContractLayerOptions,
  next: Handler,
): Promise<ProxyResponse> => {
  const { query, fields } = exchange
  const { whole, stop } = await bufferRequestBody(exchange, 0, clientShare(options.checks.requests, exchange))
  const known =
    whole === null ? head : checkRequestHead(contract, options.validators, { query, fields, hasBody: false })
  try {
    return await enforceHead(exchange, contract, known, options, next)
  } catch (error) {
    stop()
    throw error
  }
}

const enforceHead = (
  exchange: Exchange,
  contract: RequestContract,
  { violations, body: toCheck }: HeadCheck,
  options: ContractLayerOptions,
  next: Handler,
): Promise<ProxyResponse> => {
  const { length } = exchange.body
  if (violations.length > 0) return Promise.reject(reject(exchange, options, violations))
  if (toCheck.kind === 'schema' && (length === null || length <= options.maxBytes))
    return enforceBody(exchange, contract, toCheck, options, next)
  const why = whyUnchecked(toCheck, 'too-large')
  const refused = refuseUnchecked(toCheck, why, options)
  if (refused.length > 0) return Promise.reject(reject(exchange, options, refused))
  countMessage(exchange, 'request', options, noViolations, why)
  return next(exchange)
}

const enforceBody = async (
  exchange: Exchange,
  contract: RequestContract,
  toCheck: BodyCheck & { readonly kind: 'schema' },
  options: ContractLayerOptions,
  next: Handler,
): Promise<ProxyResponse> => {
  const { whole, stop } = await bufferRequestBody(
    exchange,
    options.maxBytes,
    clientShare(options.checks.requests, exchange),
  )
  const found = whole === null ? null : checkRequestBody(contract, toCheck.schema, options, whole)
  const why = whole === null ? 'too-large' : found === null ? 'too-complex' : null
  const violations = found ?? refuseUnchecked(toCheck, why, options)
  if (violations.length > 0) {
    stop()
    throw reject(exchange, options, violations)
  }
  countMessage(exchange, 'request', options, noViolations, why)
  if (whole !== null) return next(exchange)
  try {
    return await next(exchange)
  } catch (error) {
    stop()
    throw error
  }
}

/** A chunked body may be empty. Null: the check was given up. */
const checkRequestBody = (
  contract: RequestContract,
  schema: SchemaName,
  { validators }: ContractLayerOptions,
  bytes: Buffer,
): readonly Violation[] | null => {
  if (bytes.length > 0) return checkBody(schema, validators, bytes)
  return contract.body?.required === true ? [missingBody] : noViolations
}

const reject = (exchange: Exchange, options: ContractLayerOptions, violations: readonly Violation[]): GatewayError => {
  countMessage(exchange, 'request', options, violations, null, true)
  const cause = describeViolations(violations)
  const kind = rejectionKindOf(violations)
  if (kind === 'content-too-large')
    return new GatewayError(kind, { reason: 'contract-body-too-large', cause, violations })
  // RFC 9110 §15.5.16: Accept-Encoding in a 415 says which codings are accepted.
  const fields = violations.includes(uncheckedViolations.coded) ? ['Accept-Encoding', 'identity'] : []
  if (kind === 'unsupported-media-type') return new GatewayError(kind, { cause, violations, fields })
  const reason = violations.some((each) => each.in === 'body') ? 'contract-body' : 'contract-parameters'
  return new GatewayError(kind, { reason, cause, violations })
}

export const rejectionKindOf = (
  violations: readonly Violation[],
): 'invalid-request' | 'unsupported-media-type' | 'content-too-large' => {
  if (violations.includes(uncheckedViolations['too-large'])) return 'content-too-large'
  return violations.every((each) => each.in === 'content-type' || each === uncheckedViolations.coded)
    ? 'unsupported-media-type'
    : 'invalid-request'
}
