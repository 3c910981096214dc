/** A group with two sides that are alike, or not, hour after hour on a clock that is not real. */
import type { GuardReport } from '../../../../../src/features/candidate/observe/guard/guard-counts.ts'
import {
  type GuardRules,
  type GuardVerdict,
  judgeCandidate,
} from '../../../../../src/features/candidate/observe/guard/guard-judge.ts'
import {
  answeredCode,
  cellCount,
  failureCode,
  guardKeyBase,
} from '../../../../../src/features/candidate/observe/guard/guard-key.ts'
import { GuardWindow } from '../../../../../src/features/candidate/observe/guard/guard-window.ts'

/** A source of random numbers from 0 to 1, the same each time. */
export const randomFrom = (seed: number) => {
  let state = seed >>> 0
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

type Random = ReturnType<typeof randomFrom>

const normal = (random: Random): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** What the candidate does otherwise than the primary. */
export interface Fault {
  /** The part of its requests that it fails, beside those that any side fails. */
  readonly failed?: number
  readonly refused?: number
  /** How many times as long its heads take. */
  readonly slower?: number
}

/** An hour, or part of one. */
export interface Scene {
  readonly share: number
  readonly perSecond: number
  readonly clients: number
  /** The part of the requests that any side fails, and refuses. */
  readonly failing: number
  readonly refusing: number
  /** Whether clients differ in what they are refused, and some are refused or fail nearly always. */
  readonly areOdd: boolean
  /** Whether something behind both sides fails, or is slow, now and then. */
  readonly hasBursts: boolean
  readonly seconds: number
  readonly fault?: Fault
}

interface SimulatedClient {
  readonly cell: number
  readonly onCandidate: boolean
  readonly failing: number
  readonly refusing: number
  readonly slower: number
}

const operations = ['valuation.score', 'valuation.forecast'] as const
const medianMs = [20, 90]

export const rules: GuardRules = { errors: 2, latency: 1.5, minRequests: 50 }

const createClients = (
  { clients, share, failing, refusing, areOdd }: Scene,
  random: Random,
): readonly SimulatedClient[] => {
  for (;;) {
    const made = Array.from({ length: clients }, (): SimulatedClient => {
      const spread = areOdd ? Math.exp(1.2 * normal(random) - 0.72) : 1
      const isOddly = (part: number): boolean => areOdd && random() < part
      return {
        cell: Math.trunc(random() * cellCount),
        onCandidate: random() < share,
        failing: isOddly(0.01) ? 0.9 : failing,
        refusing: isOddly(0.02) ? 0.9 : Math.min(1, refusing * spread),
        slower: areOdd ? (isOddly(0.02) ? 8 : 1) * Math.exp(0.4 * normal(random)) : 1,
      }
    })
    const onCandidate = made.filter((each) => each.onCandidate).length
    // Where the candidate has one client alone, that client decides. Where the primary has none, an outage behind both
    // sides is the candidate's.
    const isTold = onCandidate > (areOdd ? 1 : 0) && (share === 1 || onCandidate < made.length)
    if (isTold) return made
  }
}

/** Runs a scene. Returns the verdict and when it came; null: none did. */
export const simulate = (
  scene: Scene,
  seed: number,
): { readonly verdict: GuardVerdict; readonly second: number } | null => {
  const random = randomFrom(seed)
  const clients = createClients(scene, random)
  const weights = clients.map((_, rank) => 1 / (rank + 1))
  const total = weights.reduce((sum, each) => sum + each, 0)
  const cumulative: number[] = []
  weights.reduce((sum, each, i) => {
    cumulative[i] = (sum + each) / total
    return (cumulative[i] as number) * total
  }, 0)
  const pick = (): SimulatedClient => {
    const at = random()
    let [low, high] = [0, clients.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (at < (cumulative[middle] as number)) high = middle
      else low = middle + 1
    }
    return clients[low] as SimulatedClient
  }
  const window = new GuardWindow(60_000)
  window.begin('era')
  let [burstUntil, burstFailing, burstSlower] = [0, 0, 1]
  const { fault = {} } = scene
  for (let second = 1; second <= scene.seconds; second++) {
    const at = second * 1000
    if (scene.hasBursts && second >= burstUntil && random() < 1 / 600) {
      burstUntil = second + 5 + Math.trunc(random() * 60)
      burstFailing = random() < 0.7 ? random() : 0
      burstSlower = random() < 0.5 ? 1 + 5 * random() : 1
    }
    const inBurst = second < burstUntil
    const expected = scene.perSecond * (0.7 + 0.6 * random())
    const requests = Math.floor(expected) + (random() < expected % 1 ? 1 : 0)
    const counts = new Map<number, number>()
    for (let i = 0; i < requests; i++) {
      const client = pick()
      const operation = random() < 0.6 ? 0 : 1
      const own = client.onCandidate ? fault : {}
      const base = guardKeyBase(
        operations[operation] as (typeof operations)[0],
        client.onCandidate ? 'candidate' : 'primary',
        client.onCandidate ? client.cell : 0,
      )
      const code = (): number => {
        if (random() < client.failing || (inBurst && random() < burstFailing) || random() < (own.failed ?? 0))
          return failureCode('failed')
        if (random() < client.refusing || random() < (own.refused ?? 0)) return failureCode('refused')
        const slower = client.slower * (inBurst ? burstSlower : 1) * (own.slower ?? 1)
        return answeredCode((medianMs[operation] as number) * slower * Math.exp(0.6 * normal(random)))
      }
      const key = base + code()
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    const report: GuardReport = { group: 'valuation', era: 'era', counts: [...counts].flat(), waiting: [] }
    window.add('one', report, at)
    window.advance(at)
    const verdict = judgeCandidate(window.evidence, rules)
    if (verdict !== null) return { verdict, second }
  }
  return null
}
