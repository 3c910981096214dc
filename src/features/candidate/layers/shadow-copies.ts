import { now } from '../../../core/lib/clock.ts'
import { FairQuota } from '../../../core/lib/fair-quota.ts'
import type { DeferredWork } from '../../contract/check-queue.ts'
import type { CandidateShadowConfig } from '../config/candidate.ts'
import { zeroShadowDrops, zeroShadowOutcomes } from '../observe/shadow-kinds.ts'
import { createSlotList, type SlotEntry } from './slot-list.ts'

type ShadowOutcome = keyof typeof zeroShadowOutcomes

/** Since the process started. */
export const createShadowCounts = () =>
  structuredClone({ sent: 0, pairs: 0, outcomes: zeroShadowOutcomes, dropped: zeroShadowDrops })

export type ShadowReport = ReturnType<ShadowCopies['report']>

/** Statuses outside the classes of RFC 9110 §15 count as 5xx. */
export const toShadowOutcome = (status: number): ShadowOutcome =>
  status < 300 ? '2xx' : status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx'

export interface StoppableCopy extends SlotEntry {
  readonly isRepeat: boolean
  stop(): void
}

/** In flight: repeats must not burden the primary. */
export const maxRepeats = 4

export type ShadowCopies = ReturnType<typeof createShadowCopies>

/** They outlive reloads, so copies in flight count against the next bounds too. */
export const createShadowCopies = (sending: DeferredWork, comparing: DeferredWork) => {
  const [counts, repeats] = [createShadowCounts(), createShadowCounts()]
  const room = new FairQuota(0)
  const backoff = createCopyBackoff()
  const underWay = createSlotList<StoppableCopy>()
  let [repeating, concurrency, isOff, isStopped] = [0, 0, false, false]

  return {
    ...{ counts, repeats, room, sending, comparing, backoff },
    report() {
      const { outcomes, dropped, ...own } = structuredClone(counts)
      return { ...own, underWay: underWay.size(), repeated: repeats.sent, outcomes, dropped }
    },
    /** Null: no copy begins, even of an earlier request. */
    applyBounds(bounds: Pick<CandidateShadowConfig, 'concurrency' | 'maxBytes'> | null): void {
      isOff = bounds === null
      if (bounds === null) return
      concurrency = bounds.concurrency
      room.max = bounds.maxBytes
      // The new configuration may have mended the candidate.
      backoff.reset()
    },
    repeating: () => repeating,
    begin(copy: StoppableCopy): 'full' | 'stopped' | 'backoff' | null {
      if (isStopped || isOff) return 'stopped'
      if (underWay.size() >= concurrency || (copy.isRepeat && repeating >= maxRepeats)) return 'full'
      if (!copy.isRepeat && !backoff.take()) return 'backoff'
      underWay.add(copy)
      if (copy.isRepeat) repeating++
      return null
    },
    end(copy: StoppableCopy): void {
      if (underWay.delete(copy) && copy.isRepeat) repeating--
    },
    /** A process that stops does not wait for copies. */
    stop(): void {
      isStopped = true
      for (const copy of [...underWay.all()]) copy.stop()
    },
  }
}

const failuresInARow = 5
const firstPauseMs = 1000
const maxPauseMs = 10_000

/**
 * After 5 incomplete responses in a row, only one copy is tried, after 1 s and then after pauses that double up to 10
 * s: each copy would open a connection for nothing.
 */
export const createCopyBackoff = () => {
  let failures = 0
  let pausedUntil = Number.NEGATIVE_INFINITY
  const pause = (): void => {
    pausedUntil = now() + Math.min(firstPauseMs * 2 ** (failures - failuresInARow), maxPauseMs)
  }
  const reset = (): void => {
    failures = 0
  }
  return {
    reset,
    take(): boolean {
      if (failures < failuresInARow) return true
      if (now() < pausedUntil) return false
      failures++
      pause()
      return true
    },
    end(isWhole: boolean): void {
      if (isWhole) reset()
      else if (failures < failuresInARow && ++failures === failuresInARow) pause()
    },
  }
}
