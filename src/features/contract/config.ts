import type * as z from 'zod'
import type { Config } from '../../core/config/config.ts'
import {
  type ConfigSection,
  configParts,
  type NamedFile,
  type OperationKey,
  type ResolveOperation,
} from '../../core/config/config-part.ts'
import type { ConfigIssue } from '../../core/config/problem.ts'
import { type ConfigRule, isEnabledAt, parseAt, valueAt, type WarningRule } from '../../core/config/rules/rule.ts'
import { optionalKey } from '../../core/config/schema/annotations.ts'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import { InvalidScalar } from '../../core/config/schema/scalar-kind.ts'
import { boolean, choice, map, mebibyte, percent, size } from '../../core/config/schema/scalar-types.ts'
import { foldUnderscores, isHopByHop, targetOverrides } from '../../core/exchange/header-fields.ts'
import { formatSize } from '../../core/lib/text/units.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import {
  type CompiledContract,
  contractModes,
  defaultMaxCheckedBytes,
  enforcesContract,
  modesWithoutContract,
  type OperationContractModes,
  uncheckedModes,
} from './check/compiled-contract.ts'

const contractFileSchema = scalar<string>(
  'The OpenAPI document, 3.1 or 3.0; a relative path starts at the folder of this file',
  {
    expected: 'the path of an OpenAPI document such as contract.yaml',
    parse: (value) => {
      if (typeof value !== 'string' || value === '') return new InvalidScalar('wrong type')
      return value.includes('\0') || value.endsWith('/') ? new InvalidScalar('not the name of a file') : value
    },
    json: { type: 'string', minLength: 1 },
  },
)

const requests = 'Whether requests are checked: not at all, counted, or rejected with 400'
const responses = 'Whether responses are checked: not at all, counted, or replaced by 502'
const unchecked = 'Whether an enforced message passes that cannot be checked, or gets 413, 415 or 502'
const requestMode = choice(requests, contractModes)
const responseMode = choice(responses, contractModes)
const uncheckedMode = choice(unchecked, uncheckedModes)

const contractSchema = optionalPolicy(
  map('What requests and responses of the nine have to look like', {
    file: optionalKey(contractFileSchema),
    request: requestMode.prefault('report'),
    response: responseMode.prefault('report'),
    unchecked: uncheckedMode.prefault('pass'),
    sample: percent('The share of messages that is checked in report mode').prefault('100%'),
    maxBody: size('A larger body is checked for its type only', { min: 1024, max: 16 * mebibyte }).prefault(
      formatSize(defaultMaxCheckedBytes),
    ),
    learn: boolean('Whether the contract is learned from what passes').prefault(false),
    enums: boolean('Whether the values of strings that look like enumerations are learned').prefault(false),
  }),
  '{ file: contract.yaml }',
)

const operationContractSchema = map('How this operation is held to the contract', {
  request: requestMode.optional(),
  response: responseMode.optional(),
  unchecked: uncheckedMode.optional(),
})

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly contract: z.output<typeof contractSchema>
  }
  interface ParsedOperation {
    readonly contract?: z.output<typeof operationContractSchema> | undefined
  }
  interface Config {
    readonly compiledContract: CompiledContract | null
  }
  interface OperationConfig {
    readonly contract: OperationContractModes
  }
}

export const sections: readonly ConfigSection[] = [
  { key: 'contract', after: 'admin', schema: contractSchema.prefault('none') },
]

export const withoutFiles = { compiledContract: null }

export const namedFile: NamedFile = {
  find: (tree) => parseAt(tree, contractFileSchema, ['contract', 'file']),
  load: async () => (await import('./compile/load-contract.ts')).readContract,
}

export const digests = ({ compiledContract }: Config) =>
  compiledContract && { 'contract.file': compiledContract.digest.slice(0, 12) }

export const findMistaken = (tree: unknown): ConfigIssue | null =>
  valueAt(tree, ['openapi']) === undefined || valueAt(tree, ['upstreams']) !== undefined
    ? null
    : {
        path: ['openapi'],
        atKey: true,
        message: 'this is an OpenAPI document, not a configuration',
        expected: 'a configuration, which may name this file in contract.file',
        found: 'openapi',
        hint: 'check the configuration: that checks its contract too',
      }

const ofOperations = operationContractSchema.optional()

export const operationKeys: readonly OperationKey[] = [
  { key: 'contract', order: 3, get: ofOperations, post: ofOperations },
]

export const resolveOperation: ResolveOperation = (stated, { contract }) => {
  if (contract === null || contract.file === null) return { contract: modesWithoutContract }
  const {
    request = contract.request,
    response = contract.response,
    unchecked = contract.unchecked,
  } = stated?.contract ?? {}
  return { contract: { request, response, unchecked } }
}

const fileOrLearning: ConfigRule = (tree) =>
  isEnabledAt(tree, ['contract']) &&
  valueAt(tree, ['contract', 'file']) === undefined &&
  !isEnabledAt(tree, ['contract', 'learn']) && {
    path: ['contract'],
    message: 'there is no contract to hold messages to',
    expected: 'a file, or learn: true',
    found: 'neither',
    hint: 'write file: contract.yaml for an OpenAPI document, or learn: true to draft one from traffic',
  }

export const rules: readonly ConfigRule[] = [fileOrLearning]

const passedUnchecked: WarningRule = ({ config: { contract, compiledContract, operations } }) => {
  const affected = allOperations.filter(({ id }) => {
    const { request, response, unchecked } = operations[id].contract
    const isEnforced = request === 'enforce' || response === 'enforce'
    return isEnforced && unchecked === 'pass' && compiledContract?.operations[id] !== undefined
  })
  return (
    contract !== null &&
    affected.length > 0 && {
      path: ['contract', 'unchecked'],
      message: `messages that cannot be checked pass, though the contract is enforced: ${affected.map(({ id }) => id).join(', ')}`,
      expected: 'reject',
      found: 'pass',
      hint: `write unchecked: reject; coded bodies and those over ${formatSize(contract.maxBody)} then get 413, 415 or 502`,
    }
  )
}

const unnamedServerErrors: WarningRule = ({ config }) => {
  const affected = allOperations.filter(({ id }) => {
    const responses = config.compiledContract?.operations[id]?.responses ?? []
    const isNamed = responses.some(({ status }) => status === 'default' || status === '5XX')
    return enforcesContract(config, id, 'response') && responses.length > 0 && !isNamed
  })
  return (
    affected.length > 0 && {
      path: ['contract', 'file'],
      message: `clients get 502 in place of an upstream's 5xx that the contract does not name: ${affected.map(({ id }) => id).join(', ')}`,
      expected: 'default or 5XX among the responses',
      found: 'neither',
      hint: 'add default to the responses in the contract: clients then get the response of the upstream',
    }
  )
}

const uselessModes: WarningRule = ({ parsed: { operations }, config: { compiledContract } }) =>
  allOperations.map(
    ({ id }) =>
      operations[id]?.contract !== undefined &&
      compiledContract?.operations[id] === undefined && {
        path: ['operations', id, 'contract'],
        ...(compiledContract === null ? noContract : withoutOperation),
      },
  )

const noContract = {
  message: 'this does nothing: there is no contract',
  expected: 'contract: { file: contract.yaml }, or no contract here',
  found: 'none',
  hint: 'add contract: { file: contract.yaml } at the top of the file, or remove this line',
}

const withoutOperation = {
  message: 'this does nothing: the contract does not have the operation',
  expected: 'the operation in the file of the contract',
  found: 'none',
  hint: 'add it there, or remove this line',
}

/** As when `learn` has replaced a file. */
const enforcedWithoutFile: WarningRule = ({ config: { contract } }) =>
  contract !== null &&
  contract.file === null &&
  (['request', 'response'] as const).map(
    (direction) =>
      contract[direction] === 'enforce' && {
        path: ['contract', direction],
        message: 'this enforces nothing: contract.file is not set',
        expected: 'file: contract.yaml beside it, or no mode',
        found: 'enforce',
        hint: 'add file: contract.yaml, which may stand beside learn: true, or remove the mode',
      },
  )

const unmeetableFields: WarningRule = ({ config }) => {
  const { compiledContract, operations } = config
  const found = allOperations.flatMap(({ id }) => {
    if (operations[id].contract.request === 'off') return []
    const isTaken = createTakenFields(config, id)
    const parameters = compiledContract?.operations[id]?.request.parameters ?? []
    const taken = parameters.filter((each) => each.in === 'header' && each.required && isTaken(each.name))
    return taken.map(({ name }) => `${name} of ${id}`)
  })
  return (
    found.length > 0 && {
      path: ['contract', 'file'],
      message: 'every request breaks the contract: it requires header fields that the gateway removes first',
      expected: 'no credentials and no fields of one connection among the parameters',
      found: found.join(', '),
      hint: 'remove the parameters from the contract: auth says which credentials a client must send',
    }
  )
}

/** By the field's folded name. */
const createTakenFields = (config: Config, id: OperationId): ((name: string) => boolean) => {
  const { overrideFields, trustedProxies } = config.listen
  const taken = new Set([
    ...['host', 'expect', 'content-length'],
    ...(overrideFields === 'drop' && trustedProxies.length === 0 ? targetOverrides : []),
    ...configParts.flatMap((part) => part.removedFields?.(config, id) ?? []).map(foldUnderscores),
  ])
  return (name) => taken.has(foldUnderscores(name)) || isHopByHop(name)
}

export const warnings: readonly WarningRule[] = [
  passedUnchecked,
  unnamedServerErrors,
  uselessModes,
  enforcedWithoutFile,
  unmeetableFields,
]
