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
  createCounter,
  describeViolations,
  isSampled,
  rejectUnchecked,
  whyUnchecked,
} from './contract-options.ts'

/** Checks after the exchange has ended, so that no byte waits. */
export const reportRequestLayer = (contract: RequestContract, options: ContractLayerOptions): Layer => {
  const hasSchema = contract.body?.content.some(({ schema }) => schema !== null) ?? false
  const counter = createCounter('request', options)
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
    exchange.onFinished(() => counter.countLater(exchange, copy, checkHead, () => isComplete))
    return next(exchange)
  }
}

/** Requests that cannot be checked pass, or get 413 or 415. The checked bytes are forwarded unchanged. */
export const enforceRequestLayer = (contract: RequestContract, options: ContractLayerOptions): Layer => {
  const { validators, checks, maxBytes } = options
  const counter = createCounter('request', options)
  const isRequired = contract.body?.required === true
  const checkHead = ({ query, fields }: Exchange, hasBody: boolean): HeadCheck =>
    checkRequestHead(contract, validators, { query, fields, hasBody })

  /** Whether the verdict on a chunked request changes if its body is empty: an empty body needs no type. */
  const turnsOnContent = ({ violations, body }: HeadCheck): boolean =>
    violations.length > 0
      ? violations.every((each) => each.in === 'content-type')
      : (body.kind !== 'schema' && isRequired) || rejectUnchecked(body, whyUnchecked(body, null), options).length > 0

  const enforceOnceBegun = async (exchange: Exchange, head: HeadCheck, next: Handler): Promise<ProxyResponse> => {
    const { whole, stop } = await bufferRequestBody(exchange, 0, clientShare(checks.requests, exchange))
    try {
      return await enforceHead(exchange, whole === null ? head : checkHead(exchange, false), next)
    } catch (error) {
      stop()
      throw error
    }
  }

  const enforceHead = (exchange: Exchange, { violations, body }: HeadCheck, next: Handler): Promise<ProxyResponse> => {
    const { length } = exchange.body
    const isKept = violations.length === 0
    if (isKept && body.kind === 'schema' && (length === null || length <= maxBytes))
      return enforceBody(exchange, body, next)
    const why = whyUnchecked(body, 'too-large')
    const found = counter.settle(exchange, body, isKept ? null : violations, why)
    return found.length > 0 ? Promise.reject(toError(found)) : next(exchange)
  }

  const enforceBody = async (
    exchange: Exchange,
    toCheck: BodyCheck & { readonly kind: 'schema' },
    next: Handler,
  ): Promise<ProxyResponse> => {
    const { whole, stop } = await bufferRequestBody(exchange, maxBytes, clientShare(checks.requests, exchange))
    const found = whole && checkRequestBody(toCheck.schema, whole)
    const why = whole === null ? 'too-large' : found === null ? 'too-complex' : null
    const violations = counter.settle(exchange, toCheck, found, why)
    if (violations.length === 0 && whole !== null) return next(exchange)
    try {
      if (violations.length > 0) throw toError(violations)
      return await next(exchange)
    } catch (error) {
      stop()
      throw error
    }
  }

  const checkRequestBody = (schema: SchemaName, bytes: Buffer): readonly Violation[] | null => {
    if (bytes.length > 0) return checkBody(schema, validators, bytes)
    return isRequired ? [missingBody] : noViolations
  }

  return (next) => (exchange) => {
    const { length } = exchange.body
    const head = checkHead(exchange, length !== 0)
    return length === null && turnsOnContent(head)
      ? enforceOnceBegun(exchange, head, next)
      : enforceHead(exchange, head, next)
  }
}

const toError = (violations: readonly Violation[]): GatewayError => {
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

export const rejectionKindOf = (violations: readonly Violation[]) => {
  if (violations.includes(uncheckedViolations['too-large'])) return 'content-too-large'
  return violations.every((each) => each.in === 'content-type' || each === uncheckedViolations.coded)
    ? 'unsupported-media-type'
    : 'invalid-request'
}
