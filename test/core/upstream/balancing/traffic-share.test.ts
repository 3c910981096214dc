/** The law of the shares, kept by real members whatever else changes their weight and their slots. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { now } from '../../../../src/core/lib/clock.ts'
import { balancers } from '../../../../src/core/upstream/balancing/balancers.ts'
import { createEndpointSelector } from '../../../../src/core/upstream/balancing/endpoint-selector.ts'
import type { Endpoint } from '../../../../src/core/upstream/endpoints/endpoint.ts'
import { GroupEndpoint } from '../../../../src/core/upstream/endpoints/group-endpoint.ts'
import { EndpointHealth } from '../../../../src/core/upstream/health/endpoint-health.ts'
import { createOutlierDetector } from '../../../../src/core/upstream/health/outlier-detection.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'
import { seeded } from './fake-candidates.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const config = upstreamConfig('http://unused.test', { slowStart: 10_000 })
const ejecting = { consecutiveFailures: 5, failureRate: null, ejectionTime: 10_000, maxEjected: 0.5 }
const picks = 5_000

/** Creates members of these weights, to which nothing is sent. */
const createMembers = (...weights: readonly number[]): readonly GroupEndpoint[] =>
  weights.map((weight, i) => {
    const endpoint = { name: `http://e${i}.test`, health: new EndpointHealth(), inFlight: 0, pool: { isFull: false } }
    const options = { weight, drainedBy: null, onOutcome: null, onFailure: () => {} }
    return new GroupEndpoint(endpoint as unknown as Endpoint, config, options)
  })

const fail = (member: GroupEndpoint, times = 1): void => {
  for (let n = 0; n < times; n++) {
    member.health.recordOutcome('failure', 503)
    member.health.recordForComparison('failure', 503, now())
  }
}

/** Makes all but one slow and loaded, so that it seems as fast as can be. */
const makeFast = (fast: GroupEndpoint, members: readonly GroupEndpoint[]): void => {
  for (const other of members) {
    if (other === fast) continue
    other.health.latency.headReceived(5_000, now())
    ;(other.endpoint as { inFlight: number }).inFlight = 64
  }
}

describe.each(['p2c', 'least-requests'] as const)('%s', (name) => {
  /** Returns which share of so many selections, all of them now, a member gets. */
  const shareOf = (member: GroupEndpoint | undefined, members: readonly GroupEndpoint[]): number => {
    const selectEndpoint = createEndpointSelector(members, balancers[name]<GroupEndpoint>(seeded(3)))
    let selected = 0
    for (let n = 0; n < picks; n++) if (selectEndpoint(null, false) === member) selected++
    return selected / picks
  }

  test.each([
    [0, 0.1],
    [2_500, 0.25],
    [5_000, 0.5],
    [10_000, 1],
  ])('one that came back %i ms ago has at most 2 × the share of %f times its weight, however fast', (ago, part) => {
    const members = createMembers(100, 100, 100)
    const [back] = members
    back?.health.markHealthy()
    vi.advanceTimersByTime(ago)
    makeFast(back as GroupEndpoint, members)

    const share = shareOf(back, members)

    expect(share).toBeLessThanOrEqual((2 * part) / (2 + part) + 0.03)
    expect(share).toBeGreaterThan(part / (2 + part) - 0.03)
  })

  test('one that comes back from an ejection is not held to its failures, and fails once at most before it is out', () => {
    const members = createMembers(100, 100)
    const [failing] = members as readonly [GroupEndpoint, GroupEndpoint]
    const detectOutlier = createOutlierDetector(ejecting, members, vi.fn(), () => 0)
    fail(failing, 5)
    detectOutlier(failing, 'failure')
    const out = shareOf(failing, members)
    vi.advanceTimersByTime(15_000)
    const back = shareOf(failing, members)

    fail(failing)
    detectOutlier(failing, 'failure')

    expect([out, shareOf(failing, members)]).toEqual([0, 0])
    expect(back).toBeCloseTo(0.5 / 1.5, 1)
  })
})
