import type { DescribeOperation } from '../../core/admin/admin-part.ts'
import type { Config } from '../../core/config/config.ts'
import type { Violation } from '../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'
import { allOperations } from '../../operations.ts'
import { enforcesContract } from './check/compiled-contract.ts'
import { maxViolations } from './check/validators.ts'

export const describe: DescribeOperation = ({ id }, config) => {
  const own = config.compiledContract?.operations[id]
  const enforcesRequest = enforcesContract(config, id, 'request')
  const enforcesBody = enforcesRequest && own?.request.body !== null
  const enforcesResponse = enforcesContract(config, id, 'response') && own?.responses.length !== 0
  const failures: Readonly<Partial<Record<FailureKind, boolean>>> = {
    'invalid-request': enforcesRequest,
    'unsupported-media-type': enforcesBody,
    'content-too-large': enforcesBody && config.operations[id].contract.unchecked === 'reject',
    'invalid-response': enforcesResponse,
    truncated: enforcesResponse, // a response is read whole before it is checked
  }
  return { failures: (Object.keys(failures) as FailureKind[]).filter((kind) => failures[kind]) }
}

export const problemMembers = (config: Config): PlainObject =>
  allOperations.some(({ id }) => enforcesContract(config, id, 'request')) ? { errors: violationsSchema } : {}

const violationSchemas: Readonly<Record<Exclude<keyof Violation, 'ownPointer'>, PlainObject>> = {
  pointer: { type: 'string', description: 'The place (RFC 6901), by the names of the request' },
  in: { type: 'string', description: 'The part of the request' },
  rule: { type: 'string', description: 'What does not hold: a keyword of JSON Schema, or a word of the gateway' },
  detail: { type: 'string', description: 'What was expected' },
}
const violationsSchema = {
  type: 'array',
  description: 'Where the request breaks the contract',
  maxItems: maxViolations,
  items: { type: 'object', required: Object.keys(violationSchemas), properties: violationSchemas },
}

export const document = ({ compiledContract }: Config): unknown => compiledContract?.document
