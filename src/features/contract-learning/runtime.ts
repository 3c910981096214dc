import type { Config } from '../../core/config/config.ts'
import { credentialFields } from '../../core/config/config-facts.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import type { Channel, ChannelEnd, ProcessPlace } from '../../core/runtime/channel.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import { defaultMaxCheckedBytes } from '../contract/check/compiled-contract.ts'
import { type CheckQueue, createCheckQueue } from '../contract/check-queue.ts'
import { contractLearningLayer } from './layer.ts'
import type { LearnedContract } from './learn/learned-contract.ts'
import { createLearner, type Learner } from './learn/learner.ts'
import { getLearningMode, type LearningMode } from './primary.ts'

interface LearningPart extends SnapshotPart {
  /** Kept after learning has ended. */
  readonly learning: ContractLearning | null
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly 'contract-learning'?: LearningPart
  }
  interface DataPlaneCommands {
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
  const layer = learningLayer(
    config,
    learner,
    createCheckQueue(() => {}),
  )
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
      const mark = `${config.hash} ${learning?.setAt}`
      return {
        learning,
        layers: () => layerRows(mode, () => learning && learningLayer(config, learning.learner, checks)),
        // With several workers, the primary has what ended workers had learned.
        commands: { learned: { runsInPrimary: true, run: async () => learning?.learner.report ?? null } },
        activate: () => {
          current = learning && { learner: learning.learner, mark }
        },
      }
    },
  }
}

/** `mark`: the configuration and command that the report is for. */
interface LearningNow {
  readonly learner: Learner
  readonly mark: string
}

type KeptLearning = Pick<LearningNow, 'mark'> & { readonly learned: LearnedContract }

/** The last report of each worker, for the primary's learner: a killed worker cannot send one at its end. */
const openLearnedArchive = (
  { role, saveEveryMs }: Pick<ProcessPlace, 'role' | 'saveEveryMs'>,
  channel: Pick<Channel, 'notify'>,
  learning: () => LearningNow | null,
): ChannelEnd & { close(): void } => {
  if (role === 'worker') {
    const tell = (): void => {
      const now = learning()
      if (now !== null) channel.notify({ learned: now.learner.report, mark: now.mark } satisfies KeptLearning)
    }
    const timer = setInterval(tell, saveEveryMs).unref()
    return { close: () => clearInterval(timer) }
  }
  const latest = new Map<string, { readonly learned: LearnedContract; readonly learner: Learner }>()
  return {
    receive({ learned, mark }: KeptLearning, worker) {
      const now = learning()
      if (now?.mark === mark) latest.set(worker, { learned, learner: now.learner })
    },
    onGone(worker) {
      const last = latest.get(worker)
      latest.delete(worker)
      // Learning may have started again since.
      if (last !== undefined && last.learner === learning()?.learner) last.learner.adopt(last.learned)
    },
    close() {},
  }
}

export interface ContractLearning {
  readonly learner: Learner
  readonly enumsOfFile: boolean
  readonly setAt: number | null
  readonly credentialFields: readonly string[]
  readonly isOn: boolean
}

/**
 * Continues, unless a command, an edit of `contract.enums` or other credential fields start it again. When a command
 * ends and the file learns too, learning continues, with values as the file says.
 */
export const continueLearning = (
  mode: LearningMode | null,
  config: Config,
  before: ContractLearning | null,
  key: string,
): ContractLearning | null => {
  if (mode === null) return before && { ...before, isOn: false }
  const { enums, setAt } = mode
  // Not even the names of these fields are learned.
  const omitted = [...credentialFields(config), config.requestId.header].filter((each) => each !== null)
  const isContinued =
    before !== null &&
    String(before.credentialFields) === String(omitted) &&
    (setAt === null ? before.isOn && before.enumsOfFile === enums : before.setAt === setAt)
  const { learner, enumsOfFile } = isContinued
    ? before
    : {
        learner: createLearner({ enums, key, credentialFields: omitted }),
        enumsOfFile: config.contract?.enums ?? false,
      }
  learner.keepEnums(enums)
  return { learner, enumsOfFile, setAt, credentialFields: omitted, isOn: true }
}
