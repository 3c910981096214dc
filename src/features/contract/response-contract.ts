import type { Config } from '../../core/config/config.ts'
import { BodyCopy, copyResponseBody } from '../../core/exchange/bodies/body-copy.ts'
import { bufferResponseBody } from '../../core/exchange/bodies/buffered-bodies.ts'
import type { Exchange, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError, type Violation } from '../../core/exchange/failures/errors.ts'
import {
  type AddedResponseFields,
  type HeaderFields,
  omitFields,
  toClientFields,
} from '../../core/exchange/header-fields.ts'
import { clientShare } from '../../core/exchange/request-owner.ts'
import type { SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import {
  checkBody,
  checkResponseHead,
  type HeadCheck,
  lacksType,
  type ResponseHeadParts,
  upstreamError,
} from './check/check-message.ts'
import type { ResponseContract } from './check/compiled-contract.ts'
import {
  type ContractLayerOptions,
  createCounter,
  describeViolations,
  isSampled,
  whyUnchecked,
} from './contract-options.ts'

export type ResponseLayerOptions = ContractLayerOptions & { readonly clientFields: ClientFields }

interface ClientFields {
  readonly requestIdField: string | null
  /** In lower case: the gateway writes these fields in place of the upstream's. */
  readonly replaced: ReadonlySet<string>
  /** In lower case: added to every response later, with values that are not known yet. */
  readonly later: ReadonlySet<string>
}

export const createClientFields = (
  operation: Operation,
  { requestId }: Pick<Config, 'requestId'>,
  parts: readonly Pick<SnapshotPart, 'responseFields'>[],
): ClientFields => {
  const added = parts.flatMap((part) => part.responseFields?.(operation) ?? [])
  return {
    requestIdField: requestId.header,
    replaced: new Set(added.flatMap(({ name, isReplaced }) => (isReplaced === true ? [name] : []))),
    later: new Set(['via', 'date', ...added.map(({ name }) => name)]), // RFC 9110 §7.6.3, §6.6.1
  }
}

/** The head as the client gets it, which the contract describes. */
export const toClientHead = (
  exchange: AddedResponseFields,
  status: number,
  fields: HeaderFields,
  { clientFields: { requestIdField, replaced, later } }: Pick<ResponseLayerOptions, 'clientFields'>,
): Omit<ResponseHeadParts, 'hasContent'> => {
  const kept = replaced.size === 0 ? fields : omitFields(fields, replaced)
  return { status, fields: toClientFields(exchange, status, kept, requestIdField, null), laterFields: later }
}

/** Checks a copy once the last byte was sent on, whenever the exchange ends: a fetch of the cache's own has no end. */
export const reportResponseLayer = (contract: readonly ResponseContract[], options: ResponseLayerOptions): Layer => {
  const counter = createCounter('response', options)
  const report = (exchange: Exchange, { status, reason, fields, body }: ProxyResponse): ProxyResponse => {
    const copy = new BodyCopy(options.maxBytes, clientShare(options.checks.responses, exchange))
    const checkHead = (): HeadCheck => {
      const hasContent = copy.failure !== null || copy.bytes.length > 0
      const head = toClientHead(exchange, status, fields, options)
      return checkResponseHead(contract, options.validators, { ...head, hasContent })
    }
    const onEnd = (): void => counter.countLater(exchange, copy, checkHead, () => true)
    return { status, reason, fields, body: copyResponseBody(body, copy, onEnd) }
  }
  return (next) => (exchange) =>
    isSampled(options.sample) ? next(exchange).then((response) => report(exchange, response)) : next(exchange)
}

/** Rejects with 502, and so reads the whole body first: a head that the client has cannot be taken back. */
export const enforceResponseLayer = (contract: readonly ResponseContract[], options: ResponseLayerOptions): Layer => {
  const { validators, checks, maxBytes } = options
  const counter = createCounter('response', options)
  return (next) => async (exchange) => {
    const room = clientShare(checks.responses, exchange)
    const { status, reason, fields, body: arriving } = await next(exchange)
    let body = arriving
    const clientHead = toClientHead(exchange, status, fields, options)
    let head = checkResponseHead(contract, validators, { ...clientHead, hasContent: true })
    if (lacksType(head.violations)) {
      const begun = await bufferResponseBody(body, exchange, 0, room)
      body = begun.body
      if (begun.whole !== null) head = checkResponseHead(contract, validators, { ...clientHead, hasContent: false })
    }
    const { body: toCheck, violations: inHead } = head
    let found = inHead.length > 0 ? inHead : null
    let why = whyUnchecked(toCheck, 'too-large')
    if (found === null && toCheck.kind === 'schema') {
      const buffered = await bufferResponseBody(body, exchange, maxBytes, room)
      body = buffered.body
      found = buffered.whole && checkBody(toCheck.schema, validators, buffered.whole)
      if (buffered.whole !== null) why = found === null ? 'too-complex' : null
    }
    const violations = counter.settle(exchange, toCheck, found, why)
    if (violations.length === 0) return { status, reason, fields, body }
    body.discard()
    exchange.onBrokenResponse?.()
    throw toError(violations, status)
  }
}

const toError = (violations: readonly Violation[], status: number): GatewayError => {
  // The upstream's failure comes first: the operator has to look for that.
  if (violations.includes(upstreamError)) {
    const cause = `the upstream responded with ${status}; the contract names neither that nor 5XX nor default`
    return new GatewayError('invalid-response', { reason: 'contract-upstream-error', cause })
  }
  const reason = violations.some((each) => each.in === 'body') ? 'contract-response-body' : 'contract-response-head'
  return new GatewayError('invalid-response', { reason, cause: describeViolations(violations) })
}
