import type { Config } from '../../core/config/config.ts'
import { listCredentialFields } from '../../core/runtime/credential-fields.ts'
import { createLearner, type Learner } from './learn/learner.ts'
import type { LearningOverrides } from './primary.ts'

export interface LearningMode {
  readonly enums: boolean
  /** When the operator's command was given, which begins anew. Null: the file says so. */
  readonly orderedAt: number | null
  /** When it ends by itself, in ms since the epoch. Null: it does not. */
  readonly until: number | null
}

/** Gets how the contract is learnt: an operator's command goes before the file. Null: it is not. */
export const getLearningMode = (
  { contract }: Pick<Config, 'contract'>,
  overrides: LearningOverrides | undefined,
): LearningMode | null => {
  const override = overrides?.get('contract') ?? null
  if (override !== null) return { ...override.state, until: override.until }
  return contract?.learn === true ? { enums: contract.enums, orderedAt: null, until: null } : null
}

/** What a process has learnt. It stays when learning has ended, until learning begins anew. */
export interface ContractLearning {
  readonly learner: Learner
  /** What the file said of values when learning began. */
  readonly enumsOfFile: boolean
  readonly orderedAt: number | null
  readonly credentialFields: readonly string[]
  readonly isOn: boolean
}

/**
 * Returns what a process learns with: it goes on from `before`, unless a command or the file begins anew, or what may
 * be learnt has changed. When a command ends and the file learns too, it goes on from what the command has learnt, and
 * keeps values as the file says from then on; after an edit of what the file says of values, it begins anew. Null:
 * nothing was learnt, and nothing is.
 */
export const continueLearning = (
  mode: LearningMode | null,
  config: Config,
  before: ContractLearning | null,
  key: string,
): ContractLearning | null => {
  if (mode === null) return before && { ...before, isOn: false }
  const { enums, orderedAt } = mode
  const credentialFields = listOmittedFields(config)
  const isContinued =
    before !== null &&
    String(before.credentialFields) === String(credentialFields) &&
    (orderedAt === null ? before.isOn && before.enumsOfFile === enums : before.orderedAt === orderedAt)
  const { learner, enumsOfFile } = isContinued
    ? before
    : { learner: createLearner({ enums, key, credentialFields }), enumsOfFile: config.contract?.enums ?? false }
  learner.keepEnums(enums)
  return { learner, enumsOfFile, orderedAt, credentialFields, isOn: true }
}

/** Lists the header fields of which not even the names are learnt: those with credentials, and the gateway's own. */
const listOmittedFields = (config: Config): readonly string[] =>
  [...listCredentialFields(config), config.requestId.header].filter((each) => each !== null)
