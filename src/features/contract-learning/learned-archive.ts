import type { Channel, ChannelEnd, ProcessPlace } from '../../core/runtime/channel.ts'
import type { LearnedContract } from './learn/learned-contract.ts'
import type { Learner } from './learn/learner.ts'

/** What a process learns with, and what for: what was learnt for something else is no part of it. */
export interface LearningNow {
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
export const openLearnedArchive = (
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
