import type { Config } from '../../core/config/config.ts'
import type { FilePosition } from '../../core/config/problem.ts'
import { createRequestId, parseRequestHead } from '../../core/downstream/request/request-head.ts'
import type { Violation } from '../../core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../core/exchange/failures/failure-table.ts'
import {
  type AddedResponseFields,
  foldUnderscores,
  type HeaderFields,
  isHopByHop,
} from '../../core/exchange/header-fields.ts'
import { weakMemo } from '../../core/lib/memo.ts'
import { loadParts } from '../../core/runtime/runtime-parts.ts'
import { compileHeaderMutation, type HeaderMutation } from '../../core/upstream/http1/write-request.ts'
import { byOperation, type OperationId } from '../../operations.ts'
import { createCredentialFilter } from '../auth/auth.ts'
import { createAuthProvider } from '../auth/auth-provider.ts'
import { createReplayCaches } from '../auth/tokens/replay-cache.ts'
import { createTokenVerifiers } from '../auth/tokens/token-verifiers.ts'
import {
  checkBody,
  checkRequestHead,
  checkResponseHead,
  type HeadCheck,
  type UncheckedReason,
} from '../contract/check/check-message.ts'
import type { ContractMode, OperationContract } from '../contract/check/compiled-contract.ts'
import { type ContractValidators, noViolations } from '../contract/check/validators.ts'
import { rejectUnchecked, whyUnchecked } from '../contract/contract-options.ts'
import { rejectionKindOf } from '../contract/request-contract.ts'
import { createClientFields, toClientHead } from '../contract/response-contract.ts'
import { RedisRegistry } from '../redis/redis-registry.ts'

export interface Sample {
  readonly at: FilePosition
  readonly operation: OperationId
  readonly request: SampleRequest | null
  readonly response: SampleResponse | null
}

interface SampleRequest extends SampleMessage {
  readonly query: string
}

export interface SampleResponse extends SampleMessage {
  readonly status: number
}

export interface SampleMessage {
  readonly fields: HeaderFields
  readonly body: Buffer
}

export interface CheckedMessage {
  /** The operation's mode. A sample is checked in every mode, even `off`. */
  readonly mode: ContractMode
  readonly violations: readonly Violation[]
  readonly unchecked: UncheckedReason | null
  /** The client's response in place of the message; null: the message is forwarded. */
  readonly rejected: { readonly status: number; readonly code: FailureKind } | null
}

export interface CheckedSample {
  readonly request: CheckedMessage | null
  readonly response: CheckedMessage | null
}

const addedFields = ({ requestId: { header, format } }: Config, request: SampleRequest | null): AddedResponseFields => {
  const head = parseRequestHead(request?.fields ?? [], header?.toLowerCase() ?? null, false)
  const requestId = head.requestId ?? createRequestId[format]()
  return { requestId, interactionId: head.interactionId, addedResponseFields: null }
}

export const checkSample = (
  { operation, request, response }: Sample,
  contract: OperationContract,
  validators: ContractValidators,
  config: Config,
): CheckedSample => {
  const modes = config.operations[operation].contract
  const change = fieldChanges(config)[operation]
  const maxBytes = config.contract?.maxBody ?? 0
  const finish = (
    head: HeadCheck,
    { body }: SampleMessage,
    mode: ContractMode,
    kindOf: (violations: readonly Violation[]) => FailureKind,
  ): CheckedMessage => {
    const unread = whyUnchecked(head.body, body.length > maxBytes ? 'too-large' : null)
    const isRead = head.body.kind === 'schema' && unread === null
    const inBody = isRead ? checkBody(head.body.schema, validators, body) : noViolations
    const unchecked = inBody === null ? 'too-complex' : unread
    const rejectsUnchecked = modes.unchecked === 'reject' && mode === 'enforce'
    const asUnchecked = rejectUnchecked(head.body, unchecked, { rejectsUnchecked })
    const violations = [...head.violations, ...(inBody ?? noViolations), ...asUnchecked]
    // A head that breaks the contract is rejected before the body is looked at.
    const code = kindOf(head.violations.length > 0 ? head.violations : violations)
    const rejected = mode === 'enforce' && violations.length > 0 ? { status: failureTable[code].status, code } : null
    return { mode, violations, unchecked: asUnchecked.length > 0 ? null : unchecked, rejected }
  }
  const checkRequest = (message: SampleRequest): CheckedMessage => {
    const fields = change.request(toRequestFields(message.fields, config))
    const parts = { query: message.query, fields, hasBody: message.body.length > 0 }
    const head = checkRequestHead(contract.request, validators, parts)
    return finish(head, message, modes.request, rejectionKindOf)
  }
  const checkResponse = (message: SampleResponse): CheckedMessage => {
    const fields = change.response(toResponseFields(message.fields))
    const clientHead = toClientHead(addedFields(config, request), message.status, fields, change)
    const parts = { ...clientHead, hasContent: message.body.length > 0 }
    const head = checkResponseHead(contract.responses, validators, parts)
    return finish(head, message, modes.response, () => 'invalid-response')
  }
  return { request: request && checkRequest(request), response: response && checkResponse(response) }
}

const toRequestFields = (fields: HeaderFields, { listen, requestId: { header, format } }: Config): HeaderFields => {
  const keepsOverrides = listen.overrideFields === 'forward'
  const head = parseRequestHead(fields, header?.toLowerCase() ?? null, false, false, keepsOverrides)
  return header === null ? head.fields : [...head.fields, header, head.requestId ?? createRequestId[format]()]
}

const toResponseFields = (fields: HeaderFields): HeaderFields =>
  fields.flatMap((name, i) => (i % 2 === 1 || isHopByHop(name) ? [] : [name, fields[i + 1] ?? '']))

const runtimeParts = await loadParts()

/** As `auth` and the primary edit fields. No credential is verified: neither an issuer nor Redis is asked. */
const fieldChanges = weakMemo((config: Config) => {
  const { auth, clients, operations, upstreams } = config
  const unverified = auth && { ...auth, jwt: null, introspection: null, dpop: null }
  const replayCaches = createReplayCaches({ kind: 'primary' }, new RedisRegistry(() => {}))
  const provider = createAuthProvider(
    { ...config, auth: unverified },
    createTokenVerifiers(() => {}),
    replayCaches,
  )
  const forged = auth?.identityField ? [auth.identityField] : []
  const removeForged = compileHeaderMutation({ set: [], remove: forged }, foldUnderscores) ?? keepAll
  const described = runtimeParts.map((part) => part.describe(config))
  return byOperation((operation) => {
    const { id, group } = operation
    const own = operations[id].auth
    const toUpstreamFields = own && provider && createCredentialFilter(provider.authOptions(own))
    // A sample names no client: any client of the file stands for it.
    const identify: HeaderMutation = (fields) => toUpstreamFields?.(fields, clients[0]?.id ?? '') ?? fields
    return {
      request: (fields: HeaderFields) => identify(removeForged(fields)),
      response: compileHeaderMutation(upstreams[group].response) ?? keepAll,
      clientFields: createClientFields(operation, config, described),
    }
  })
})

const keepAll: HeaderMutation = (fields) => fields
