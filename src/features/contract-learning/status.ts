import type { AdminContext } from '../../core/admin/admin-context.ts'
import type { AdminError } from '../../core/admin/admin-error.ts'
import { workersNotReplying } from '../../core/admin/commands/phrases.ts'
import type { Config } from '../../core/config/config.ts'
import { asBoolean, asNullable, asObject, asText, asWord, type Decoded } from '../../core/lib/text/decode.ts'
import { formatOptionalTime } from '../../core/lib/text/format-time.ts'
import { type OverridesView, overrideMembers, overrideStatus } from '../../core/runtime/overrides.ts'
import { getLearningMode } from './primary.ts'

export const learningShape = asObject({
  by: asWord<'file' | 'operator'>(),
  enums: asBoolean,
  until: asNullable(asText),
  ...overrideMembers,
})

export type LearningStatus = Decoded<typeof learningShape>

export const learningStatus = (config: Config, { learning }: Pick<OverridesView, 'learning'>) => {
  const mode = getLearningMode(config, learning)
  if (mode === null) return null
  const { setAt, enums, until } = mode
  return {
    by: setAt === null ? 'file' : 'operator',
    enums,
    until: formatOptionalTime(until),
    ...overrideStatus(setAt === null ? null : (learning?.get('contract') ?? null)),
  }
}

export const getContractDraft = async ({
  runEverywhere,
  reloader,
  overrides,
}: AdminContext): Promise<object | AdminError> => {
  const { results, silent } = await runEverywhere('learned', {})
  if (silent > 0)
    return workersNotReplying(
      `${silent} of the workers did not reply: a draft without what they have learned would be wrong; ask again`,
    )
  const [{ renderDraft }, { mergeLearned }] = await Promise.all([
    import('./learn/draft.ts'),
    import('./learn/learned-contract.ts'),
  ])
  const learned = mergeLearned(results.filter((each) => each !== null))
  if (learned.operations.size > 0) return renderDraft(learned)
  const isOn = getLearningMode(reloader.config, overrides.learning) !== null
  return { status: 409, code: 'nothing-learned', detail: isOn ? nothingSeen : neverOn }
}

const nothingSeen = 'nothing was learned yet: no request has passed since learning began'
const neverOn =
  'nothing was learned: run lender-gateway contract learn --for 1h, or write contract.learn: true in the file'
