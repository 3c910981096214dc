import type { Config } from '../../core/config/config.ts'
import { TtlOverrides } from '../../core/runtime/overrides.ts'
import type { PrimaryFeature, PrimaryParts } from '../../core/runtime/primary-part.ts'

export interface CommandedLearning {
  readonly enums: boolean
  /** Milliseconds since the epoch. Another command starts again. */
  readonly setAt: number
}

/** At most one: all operations share the contract. */
type LearningOverrides = TtlOverrides<'contract', CommandedLearning>

type LearningOverridesView = Pick<LearningOverrides, 'get' | 'all'>

declare module '../../core/runtime/overrides.ts' {
  interface OverridesView {
    readonly learning?: LearningOverridesView
  }
}

declare module '../../core/runtime/primary-part.ts' {
  interface PrimaryParts {
    readonly 'contract-learning': PrimaryPart & { readonly learning: LearningOverrides }
  }
}

export interface LearningMode {
  readonly enums: boolean
  /** Null: set by the file. */
  readonly setAt: number | null
  readonly until: number | null
}

export const getLearningMode = (
  { contract }: Pick<Config, 'contract'>,
  overrides: LearningOverridesView | undefined,
) => {
  const override = overrides?.get('contract') ?? null
  if (override !== null) return { ...override.state, until: override.until }
  return contract?.learn === true ? { enums: contract.enums, setAt: null, until: null } : null
}

export const open: Required<PrimaryFeature>['open'] = ({
  log,
  recordAdminEvent,
  reapply,
}): PrimaryParts['contract-learning'] => {
  const learning: LearningOverrides = new TtlOverrides(() =>
    reapply(
      () => {
        log.info({}, 'contract learning ended')
        recordAdminEvent('contract learning ended', {})
      },
      (err) => log.error({ err }, 'contract learning could not be ended'),
    ),
  )
  return {
    learning,
    overrides: { learning },
    contractReport: async (config) => ({
      learning: (await import('./status.ts')).learningStatus(config, { learning }),
    }),
    stop: () => learning.clear(),
  }
}
