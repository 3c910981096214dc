import { checkBody, checkRequestHead, missingBody } from '../../contract/check-message.ts'
import type { RequestContract, SchemaName, Violation } from '../../contract/compiled-contract.ts'
import type { ContractValidators } from '../../contract/validators.ts'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { bufferRequestBody } from './buffered-request-body.ts'
import { type ContractLayerOptions, countMessage, describeViolations, isSampled } from './contract-options.ts'
import { copyRequestBody, MessageCopy } from './message-copy.ts'

/**
 * Counts the requests that break the contract. It reads a copy after the exchange has ended, so that no byte waits for
 * a check.
 */
export const reportRequestLayer =
  (contract: RequestContract, options: ContractLayerOptions): Layer =>
  (next) =>
  (exchange) => {
    if (!isSampled(options.sample)) return next(exchange)
    const { body, query, fields } = exchange
    const copy = new MessageCopy(options.maxBytes, options.pendingBytes)
    let isComplete = body.length === 0
    if (!isComplete && contract.body !== null)
      copyRequestBody(body, copy, () => {
        isComplete = true
      })
    exchange.onFinished(() => {
      const { violations, body: toCheck } = checkRequestHead(contract, options.validators, {
        query,
        fields,
        hasBody: body.length !== 0,
      })
      const bytes = isComplete ? copy.take() : null
      copy.release()
      const inBody =
        toCheck.kind === 'schema' && bytes !== null
          ? checkRequestBody(contract, toCheck.schema, options.validators, bytes)
          : []
      const all = inBody.length === 0 ? violations : [...violations, ...inBody]
      const unchecked = toCheck.kind === 'unchecked' ? toCheck.why : toCheck.kind === 'schema' ? copy.failure : null
      // Of a body that stopped in the middle nothing can be said.
      const isCutOff = toCheck.kind === 'schema' && bytes === null && unchecked === null
      if (all.length > 0 || !isCutOff) countMessage(exchange, 'request', options, all, unchecked)
    })
    return next(exchange)
  }

/**
 * Rejects the requests that break the contract: 415 for the type of the body, 400 for everything else. What was checked
 * is what is forwarded, byte for byte: the parsed copy goes nowhere.
 */
export const enforceRequestLayer =
  (contract: RequestContract, options: ContractLayerOptions): Layer =>
  (next) =>
  (exchange) => {
    const { body, query, fields } = exchange
    const head = checkRequestHead(contract, options.validators, { query, fields, hasBody: body.length !== 0 })
    if (head.violations.length > 0) return Promise.reject(reject(exchange, options, head.violations))
    const { body: toCheck } = head
    if (toCheck.kind === 'schema' && (body.length === null || body.length <= options.maxBytes))
      return enforceBody(exchange, contract, toCheck.schema, options, next)
    const unchecked = toCheck.kind === 'schema' ? 'too-large' : toCheck.kind === 'unchecked' ? toCheck.why : null
    countMessage(exchange, 'request', options, head.violations, unchecked)
    return next(exchange)
  }

const enforceBody = async (
  exchange: Exchange,
  contract: RequestContract,
  schema: SchemaName,
  options: ContractLayerOptions,
  next: Handler,
): Promise<ProxyResponse> => {
  const whole = await bufferRequestBody(exchange, options.maxBytes)
  if (whole === null) {
    countMessage(exchange, 'request', options, [], 'too-large')
    return next(exchange)
  }
  const violations = checkRequestBody(contract, schema, options.validators, whole)
  if (violations.length > 0) throw reject(exchange, options, violations)
  countMessage(exchange, 'request', options, violations, null)
  return next(exchange)
}

/** Checks a body; a chunked one may turn out to be none. */
const checkRequestBody = (
  contract: RequestContract,
  schema: SchemaName,
  validators: ContractValidators,
  bytes: Buffer,
): readonly Violation[] => {
  if (bytes.length > 0) return checkBody(schema, validators, bytes)
  return contract.body?.required === true ? [missingBody] : []
}

const reject = (exchange: Exchange, options: ContractLayerOptions, violations: readonly Violation[]): GatewayError => {
  countMessage(exchange, 'request', options, violations, null, true)
  const kind = violations.every((each) => each.in === 'content-type') ? 'unsupported-media-type' : 'invalid-request'
  return new GatewayError(kind, { cause: describeViolations(violations), violations })
}
