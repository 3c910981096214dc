import { checkBody, checkResponseHead, type UncheckedReason } from '../../contract/check-message.ts'
import type { ResponseContract, Violation } from '../../contract/compiled-contract.ts'
import type { Exchange, Layer, ProxyResponse } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { bufferResponseBody } from './buffered-response-body.ts'
import { type ContractLayerOptions, describeViolations, isSampled, toDriftExample } from './contract-options.ts'
import { copyingBody, MessageCopy } from './message-copy.ts'

/**
 * Counts the responses that break the contract. It reads a copy after the client has the response, so that no byte
 * waits for a check.
 */
export const reportResponseLayer =
  (contract: readonly ResponseContract[], options: ContractLayerOptions): Layer =>
  (next) =>
  (exchange) => {
    if (!isSampled(options.sample)) return next(exchange)
    return next(exchange).then((response) => reportResponse(contract, options, exchange, response))
  }

const reportResponse = (
  contract: readonly ResponseContract[],
  options: ContractLayerOptions,
  exchange: Exchange,
  response: ProxyResponse,
): ProxyResponse => {
  const { status, fields } = response
  const copy = new MessageCopy(options.maxBytes, options.pendingBytes)
  const check = (): void => {
    const { violations, body } = checkResponseHead(contract, options.validators, status, fields)
    const bytes = copy.take()
    const inBody = body.kind === 'schema' && bytes !== null ? checkBody(body.schema, options.validators, bytes) : []
    record(exchange, options, [...violations, ...inBody], false)
    const why = body.kind === 'unchecked' ? body.why : body.kind === 'schema' ? copy.failure : null
    if (why !== null) countUnchecked(exchange, options, why)
  }
  return { ...response, body: copyingBody(response.body, copy, () => exchange.onFinished(check)) }
}

/**
 * Rejects the responses that break the contract with 502. It reads the whole body before the client gets the head: what
 * has gone out cannot be taken back. The client learns nothing of what is wrong.
 */
export const enforceResponseLayer =
  (contract: readonly ResponseContract[], options: ContractLayerOptions): Layer =>
  (next) =>
  async (exchange) => {
    const response = await next(exchange)
    const { violations, body } = checkResponseHead(contract, options.validators, response.status, response.fields)
    if (violations.length > 0) {
      response.body.discard()
      throw reject(exchange, options, violations)
    }
    if (body.kind === 'unchecked') countUnchecked(exchange, options, body.why)
    if (body.kind !== 'schema') {
      record(exchange, options, violations, false)
      return response
    }
    const buffered = await bufferResponseBody(response.body, options.maxBytes)
    if (buffered.whole === null) countUnchecked(exchange, options, 'too-large')
    else {
      const inBody = checkBody(body.schema, options.validators, buffered.whole)
      if (inBody.length > 0) throw reject(exchange, options, inBody)
    }
    record(exchange, options, violations, false)
    return { ...response, body: buffered.body }
  }

const reject = (exchange: Exchange, options: ContractLayerOptions, violations: readonly Violation[]): GatewayError => {
  record(exchange, options, violations, true)
  return new GatewayError('invalid-response', { cause: describeViolations(violations) })
}

const countUnchecked = (exchange: Exchange, { driftCounts }: ContractLayerOptions, why: UncheckedReason): void =>
  driftCounts.countUnchecked(exchange.operation.id, 'response', why)

const record = (
  exchange: Exchange,
  { driftCounts, requestIdField }: ContractLayerOptions,
  violations: readonly Violation[],
  isRejected: boolean,
): void =>
  driftCounts.countChecked(exchange.operation.id, 'response', violations, isRejected, () =>
    toDriftExample(exchange, requestIdField),
  )
