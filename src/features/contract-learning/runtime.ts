import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import { defaultMaxCheckedBytes } from '../contract/check/compiled-contract.ts'
import { CheckQueue } from '../contract/check-queue.ts'
import { type ContractLearning, continueLearning, getLearningMode, type LearningMode } from './continue-learning.ts'
import { contractLearningLayer } from './layer.ts'
import type { LearnedContract } from './learn/learned-contract.ts'
import { createLearner, type Learner } from './learn/learner.ts'
import { type LearningNow, openLearnedArchive } from './learned-archive.ts'

interface LearningPart extends SnapshotPart {
  /** What is learnt, or was. Null: nothing. */
  readonly learning: ContractLearning | null
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly 'contract-learning': LearningPart
  }
  interface DataPlaneCommands {
    /** Collects what was learnt of the contract. Null: nothing was, since the process started. */
    readonly learned: { readonly params: object; readonly result: LearnedContract | null }
  }
}

const layerRows = (mode: LearningMode | null, make: () => Layer | null): readonly LayerRow[] => [
  layerRow('contract-learning', 'contract.learn', mode, formatLearning, make, 'false'),
]

const formatLearning = ({ enums, until }: LearningMode): string =>
  `${enums ? 'true, enums: true' : 'true'}${until === null ? '' : ` until ${new Date(until).toISOString()}`}`

const learningLayer = (config: Config, learner: Learner, checks: CheckQueue): Layer =>
  contractLearningLayer({ learner, checks, maxBytes: config.contract?.maxBody ?? defaultMaxCheckedBytes })

export const describe: RuntimePart['describe'] = (config) => {
  const learner = createLearner({ enums: false, key: '', credentialFields: [] })
  const layer = learningLayer(config, learner, new CheckQueue(() => {}))
  return { layers: () => layerRows(getLearningMode(config, undefined), () => layer) }
}

export const open: RuntimePart['open'] = ({ place, channel, digestKey, parts }) => {
  const { checks } = parts.contract
  let current: LearningNow | null = null
  return {
    ...openLearnedArchive(place, channel, () => current),
    acquire({ config, overrides }, previous): LearningPart {
      const mode = getLearningMode(config, overrides.learning)
      const before = (previous as LearningPart | null)?.learning ?? null
      const learning = continueLearning(mode, config, before, digestKey)
      const mark = `${config.hash} ${learning?.orderedAt}`
      return {
        learning,
        layers: () => layerRows(mode, () => learning && learningLayer(config, learning.learner, checks)),
        // The primary of several workers has what those that have ended had learnt.
        commands: { learned: { runsInPrimary: true, run: async () => learning?.learner.report ?? null } },
        activate: () => {
          current = learning && { learner: learning.learner, mark }
        },
      }
    },
  }
}
