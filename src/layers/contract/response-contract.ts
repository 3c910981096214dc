import { checkBody, checkResponseHead } from '../../contract/check-message.ts'
import type { ResponseContract, Violation } from '../../contract/compiled-contract.ts'
import type { Exchange, Layer, ProxyResponse } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { bufferResponseBody } from './buffered-response-body.ts'
import { type ContractLayerOptions, countMessage, describeViolations, isSampled } from './contract-options.ts'
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
    const unchecked = body.kind === 'unchecked' ? body.why : body.kind === 'schema' ? copy.failure : null
    countMessage(
      exchange,
      'response',
      options,
      inBody.length === 0 ? violations : [...violations, ...inBody],
      unchecked,
    )
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
    if (body.kind !== 'schema') {
      countMessage(exchange, 'response', options, [], body.kind === 'unchecked' ? body.why : null)
      return response
    }
    const buffered = await bufferResponseBody(response.body, options.maxBytes)
    const inBody = buffered.whole === null ? [] : checkBody(body.schema, options.validators, buffered.whole)
    if (inBody.length > 0) throw reject(exchange, options, inBody)
    countMessage(exchange, 'response', options, [], buffered.whole === null ? 'too-large' : null)
    return { ...response, body: buffered.body }
  }

const reject = (exchange: Exchange, options: ContractLayerOptions, violations: readonly Violation[]): GatewayError => {
  countMessage(exchange, 'response', options, violations, null, true)
  return new GatewayError('invalid-response', { cause: describeViolations(violations) })
}
