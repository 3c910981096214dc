import * as z from 'zod'
import type { Config } from '../../core/config/config.ts'
import type { ConfigSection, NamedFile, OperationKey, ResolveOperation } from '../../core/config/config-part.ts'
import type { ConfigIssue } from '../../core/config/problem.ts'
import { type ConfigRule, isEnabledAt, parseAt, valueAt } from '../../core/config/rules/rule.ts'
import { optionalKey } from '../../core/config/schema/annotations.ts'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { InvalidScalar, scalar } from '../../core/config/schema/scalar.ts'
import { mebibyte } from '../../core/config/schema/scalar-kinds.ts'
import { boolean, choice, percent, size } from '../../core/config/schema/scalar-types.ts'
import { formatSize } from '../../core/lib/text/units.ts'
import {
  type CompiledContract,
  contractModes,
  defaultMaxCheckedBytes,
  modesWithoutContract,
  type OperationContractModes,
  uncheckedModes,
} from './check/compiled-contract.ts'

const contractFileSchema = scalar<string>(
  {
    expected: 'the path of an OpenAPI document such as contract.yaml',
    parse: (value) => {
      if (typeof value !== 'string' || value === '') return new InvalidScalar('wrong type')
      return value.includes('\0') || value.endsWith('/') ? new InvalidScalar('not the name of a file') : value
    },
    json: { type: 'string', minLength: 1 },
  },
  'The OpenAPI document, 3.1 or 3.0; a relative path starts at the folder of this file',
)

const modeSchema = (description: string) => choice(description, contractModes)

const requestMode = modeSchema('Whether requests are checked: not at all, counted, or rejected with 400')
const responseMode = modeSchema('Whether responses are checked: not at all, counted, or replaced by 502')
const uncheckedMode = choice(
  'Whether an enforced message passes that cannot be checked, or gets 413, 415 or 502',
  uncheckedModes,
)

const contractSchema = optionalPolicy(
  z
    .strictObject({
      file: optionalKey(contractFileSchema),
      request: requestMode.prefault('report'),
      response: responseMode.prefault('report'),
      unchecked: uncheckedMode.prefault('pass'),
      sample: percent('The share of messages that is checked in report mode').prefault('100%'),
      maxBody: size('A larger body is checked for its type only', { min: 1024, max: 16 * mebibyte }).prefault(
        formatSize(defaultMaxCheckedBytes),
      ),
      learn: boolean('Whether the contract is learnt from what passes').prefault(false),
      enums: boolean('Whether the values of strings that look like enumerations are learnt').prefault(false),
    })
    .meta({ description: 'What requests and responses of the nine have to look like' }),
  '{ file: contract.yaml }',
)

const operationContractSchema = z
  .strictObject({
    request: requestMode.optional(),
    response: responseMode.optional(),
    unchecked: uncheckedMode.optional(),
  })
  .meta({ description: 'How this operation is held to the contract' })

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
    /** How requests and responses are held to the contract; `off` without one. */
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

/** Finds that the file is a contract, given in place of the configuration. */
export const findMistaken = (tree: unknown): ConfigIssue | null =>
  valueAt(tree, ['openapi']) === undefined || valueAt(tree, ['upstreams']) !== undefined
    ? null
    : {
        path: ['openapi'],
        atKey: true,
        message: 'this is an OpenAPI document, and no configuration',
        expected: 'a configuration, which may name this file in contract.file',
        found: 'openapi',
        hint: 'check the configuration: that checks its contract too',
      }

const ofOperations = operationContractSchema.optional()

export const operationKeys: readonly OperationKey[] = [
  { key: 'contract', order: 3, get: ofOperations, post: ofOperations },
]

export const resolveOperation: ResolveOperation = (stated, { contract }) => ({
  contract:
    contract === null || contract.file === null
      ? modesWithoutContract
      : {
          request: stated?.contract?.request ?? contract.request,
          response: stated?.contract?.response ?? contract.response,
          unchecked: stated?.contract?.unchecked ?? contract.unchecked,
        },
})

const fileOrLearning: ConfigRule = (tree) =>
  isEnabledAt(tree, ['contract']) &&
  valueAt(tree, ['contract', 'file']) === undefined &&
  !isEnabledAt(tree, ['contract', 'learn']) && {
    path: ['contract'],
    message: 'there is no contract to hold messages to',
    expected: 'a file, or learn: true',
    found: 'neither',
    hint: 'write file: contract.yaml for an OpenAPI document, or learn: true to draw one up from what passes',
  }

export const rules: readonly ConfigRule[] = [fileOrLearning]

export { warnings } from './warnings.ts'
