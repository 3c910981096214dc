import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import type { Channel, ChannelEnd, ProcessPlace } from '../../core/runtime/channel.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import { defaultMaxCheckedBytes } from '../contract/check/compiled-contract.ts'
import { CheckQueue } from '../contract/check-queue.ts'
import { contractLearningLayer } from './layer.ts'
import type { LearnedContract } from './learn/learned-contract.ts'
import { createLearner, type Learner } from './learn/learner.ts'
import { getLearningMode, type LearningMode } from './primary.ts'

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
    acquire({ config, overrides }, previous, { credentialFields }): LearningPart {
      const mode = getLearningMode(config, overrides.learning)
      const before = (previous as LearningPart | null)?.learning ?? null
      const learning = continueLearning(mode, config, before, digestKey, credentialFields)
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

/** What a process learns with, and what for: what was learnt for something else is no part of it. */
interface LearningNow {
  readonly learner: Learner
  readonly mark: string
}

interface KeptLearning {
  readonly learned: LearnedContract
  readonly mark: string
}

/**
 * Keeps in the primary what workers have learnt of the contract, as of when each has told it last. A worker that
 * crashes, hangs or is killed ends without a word: the learner of the primary takes over what it had learnt.
 */
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
      // Learning may have begun anew since.
      if (last !== undefined && last.learner === learning()?.learner) last.learner.adopt(last.learned)
    },
    close() {},
  }
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
  credentials: readonly string[],
): ContractLearning | null => {
  if (mode === null) return before && { ...before, isOn: false }
  const { enums, orderedAt } = mode
  // Of these not even the names are learnt.
  const credentialFields = [...credentials, config.requestId.header].filter((each) => each !== null)
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
