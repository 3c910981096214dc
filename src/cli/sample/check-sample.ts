import type { Config } from '../../config/config.ts'
import {
  checkBody,
  checkRequestHead,
  checkResponseHead,
  type HeadCheck,
  type UncheckedReason,
} from '../../contract/check-message.ts'
import type { ContractMode, OperationContract, Violation } from '../../contract/compiled-contract.ts'
import type { ContractValidators } from '../../contract/validators.ts'
import { parseRequestHead } from '../../downstream/request/request-head.ts'
import { randomId } from '../../downstream/request/request-id.ts'
import { type FailureKind, failureTable } from '../../failures/kinds.ts'
import { type HeaderFields, isHopByHop } from '../../header-fields.ts'
import { noViolations, refuseUnchecked, whyUnchecked } from '../../layers/contract/contract-options.ts'
import { rejectionKindOf } from '../../layers/contract/request-contract.ts'
import type { Sample, SampleMessage, SampleRequest } from './sample.ts'

/** How a message of a sample keeps the contract. */
export interface CheckedMessage {
  /** The mode of the operation. A sample is checked in every mode, `off` too. */
  readonly mode: ContractMode
  /** All that breaks the contract; empty: nothing. */
  readonly violations: readonly Violation[]
  /** Why its body was not checked; null: it was, or there is nothing to check. */
  readonly unchecked: UncheckedReason | null
  /** What the client gets in place of it; null: it goes through. */
  readonly rejected: { readonly status: number; readonly code: FailureKind } | null
}

/** The messages of a sample. Null: it has none of this direction. */
export interface CheckedSample {
  readonly request: CheckedMessage | null
  readonly response: CheckedMessage | null
}

/** Checks a sample as the two layers of the contract check what passes. */
export const checkSample = (
  { operation, request, response }: Sample,
  contract: OperationContract,
  validators: ContractValidators,
  config: Config,
): CheckedSample => {
  const modes = config.operations[operation].contract
  const maxBytes = config.contract?.maxBody ?? 0
  const refusesUnchecked = modes.unchecked === 'refuse'
  const finish = (
    head: HeadCheck,
    { body }: SampleMessage,
    mode: ContractMode,
  ): Pick<CheckedMessage, 'violations' | 'unchecked'> => {
    const unread = whyUnchecked(head.body, body.length > maxBytes ? 'too-large' : null)
    const isRead = head.body.kind === 'schema' && unread === null
    const inBody = isRead ? checkBody(head.body.schema, validators, body) : noViolations
    const unchecked = inBody === null ? 'too-complex' : unread
    const refused = refuseUnchecked(head.body, unchecked, { refusesUnchecked: refusesUnchecked && mode === 'enforce' })
    if (refused.length > 0) return { violations: [...head.violations, ...refused], unchecked: null }
    return { violations: [...head.violations, ...(inBody ?? noViolations)], unchecked }
  }
  const checkRequest = (message: SampleRequest): CheckedMessage => {
    const { query, body } = message
    const head = { query, fields: toRequestFields(message.fields, config), hasBody: body.length > 0 }
    const checked = finish(checkRequestHead(contract.request, validators, head), message, modes.request)
    return toResult(checked, modes.request, rejectionKindOf(checked.violations))
  }
  return {
    request: request === null ? null : checkRequest(request),
    response:
      response === null
        ? null
        : toResult(
            finish(
              checkResponseHead(contract.responses, validators, response.status, toResponseFields(response.fields)),
              response,
              modes.response,
            ),
            modes.response,
            'invalid-response',
          ),
  }
}

const toResult = (
  checked: Pick<CheckedMessage, 'violations' | 'unchecked'>,
  mode: ContractMode,
  code: FailureKind,
): CheckedMessage => {
  const isRejected = mode === 'enforce' && checked.violations.length > 0
  return { mode, ...checked, rejected: isRejected ? { status: failureTable[code].status, code } : null }
}

/** Keeps the fields that the layers see: end to end ones, with a request id of the gateway's own. */
const toRequestFields = (fields: HeaderFields, { requestId: { header } }: Config): HeaderFields => {
  const head = parseRequestHead(fields, header?.toLowerCase() ?? null, false)
  return header === null ? head.fields : [...head.fields, header, head.requestId ?? randomId()]
}

const toResponseFields = (fields: HeaderFields): HeaderFields =>
  fields.flatMap((name, i) => (i % 2 === 1 || isHopByHop(name) ? [] : [name, fields[i + 1] ?? '']))
