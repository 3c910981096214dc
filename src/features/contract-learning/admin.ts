import type { AdminReport, PlacedStatus } from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { asNullable } from '../../core/lib/text/decode.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { getContractDraft, type LearningStatus, learningShape, learningStatus } from './status.ts'

export const reports: readonly AdminReport[] = [
  { before: 'config', path: '/contract/draft', respond: getContractDraft },
]

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    readonly learning: LearningStatus | null
  }
}

export const status: readonly PlacedStatus[] = [
  {
    before: 'operations',
    key: 'learning',
    field: derived(asNullable(learningShape), ({ inputs }: StatusInputs) =>
      learningStatus(inputs.config, inputs.overrides),
    ),
  },
]

export const loadPage = () => import('./page.ts')

export const loadStatusTexts = () => import('./status-text.ts')
