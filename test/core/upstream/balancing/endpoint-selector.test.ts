import { describe, expect, test } from 'vitest'
import type { AttemptRecord, Exchange, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../../../src/core/exchange/failures/failure-table.ts'
import {
  createEndpointSelector,
  type EndpointSelector,
  failover,
  noEndpointError,
} from '../../../../src/core/upstream/balancing/endpoint-selector.ts'
import type { GroupEndpoint } from '../../../../src/core/upstream/endpoints/group-endpoint.ts'
import { attemptRecord, fakeExchange, fakeResponse } from '../../../helpers/exchange.ts'

describe('the selection', () => {
  type State = 'draining' | 'drained' | 'edited' | 'full' | 'down' | 'ejected'

  /** Creates a member that drains in its file, by order or by an edit meanwhile, has no slot, or is out. */
  const member = (name: string, ...states: readonly State[]): GroupEndpoint => {
    const is = (state: State): boolean => states.includes(state)
    return {
      name,
      receivesTraffic: !is('draining'),
      takesRequests: !is('draining') && !is('drained') && !is('edited'),
      endpoint: { pool: { isFull: is('full') } },
      health: { isDown: is('down'), isEjected: () => is('ejected'), isDrainedByOperator: is('drained') },
    } as unknown as GroupEndpoint
  }

  /** Creates the last of the attempts of an exchange that has tried these, one after the other. */
  const attempts = (tried: readonly GroupEndpoint[]): AttemptRecord | null =>
    tried.reduce<AttemptRecord | null>(
      (before, { name }) => attemptRecord({ endpoint: name, endedAt: 0, previous: before }),
      null,
    )

  /** Lists the candidates, in order. */
  const listCandidates = (
    members: readonly GroupEndpoint[],
    tried: readonly GroupEndpoint[] = [],
    untriedOnly = false,
  ): readonly string[] => {
    const names: string[] = []
    createEndpointSelector(members, (candidates) => {
      names.push(...candidates.map(({ name }) => name))
      return candidates[0] as GroupEndpoint
    })(attempts(tried), untriedOnly)
    return names
  }

  const [up, other, third] = [member('up'), member('other'), member('third')]
  const [ejected, down, both] = [
    member('ejected', 'ejected'),
    member('down', 'down'),
    member('both', 'down', 'ejected'),
  ]
  const [draining, drained] = [member('draining', 'draining'), member('drained', 'drained')]
  const [edited, full] = [member('edited', 'edited'), member('full', 'full')]

  describe('selected is', () => {
    test.each<[string, readonly GroupEndpoint[], readonly string[]]>([
      ['among those that are up', [up, ejected, down, draining, full], ['up']],
      ['among the ejected when none is up', [ejected, down, both, draining], ['ejected']],
      ['among those that are down when there is no other', [down, both, draining], ['down', 'both']],
      ['none when all drain', [draining], []],
      ['none that drains by now', [up, drained], ['up']],
      ['one that is out before one that drains by now', [ejected, drained, edited], ['ejected']],
      ['one that an edit drains where all drain by now', [drained, edited, draining], ['edited']],
      ['none that an edit drains while another is full', [edited, full], []],
      ['none when all are full', [full, draining], []],
    ])('%s', (_, members, names) => {
      expect(listCandidates(members)).toEqual(names)
    })

    test.each<[string, readonly GroupEndpoint[], readonly GroupEndpoint[], readonly string[]]>([
      ['one that is up and was not tried', [up, other, third, ejected], [up, other], ['third']],
      ['one that was tried, when none besides is up', [up, ejected, down, draining], [up], ['up']],
      ['all that are up, when all of them were tried', [up, other, ejected], [other, up], ['up', 'other']],
      ['one that is out and was not tried, when none is up', [ejected, both, down], [down], ['ejected']],
      ['one that was tried, when the other is full', [up, full], [up], ['up']],
      ['none that drains, tried or not', [draining], [up], []],
    ])('for another attempt %s', (_, members, tried, names) => {
      expect(listCandidates(members, tried)).toEqual(names)
    })

    test.each<[string, readonly GroupEndpoint[], readonly GroupEndpoint[], readonly string[]]>([
      ['one that is up', [up, other, ejected], [up], ['other']],
      ['one that is out, when none is up besides', [up, ejected], [up], ['ejected']],
      ['none, when all were tried', [up], [up], []],
      ['none, when the same endpoint stands there twice', [up, up], [up], []],
    ])('of the untried only, %s', (_, members, tried, names) => {
      expect(listCandidates(members, tried, true)).toEqual(names)
    })
  })

  test.each([
    ['overloaded', [full, draining]],
    ['overloaded', [member('edited', 'edited', 'full'), drained]],
    ['no-healthy-endpoint', [draining, drained]],
  ] as const)('without a candidate the failure is %s, with Retry-After', (kind, members) => {
    expect(noEndpointError(members)).toMatchObject({ kind, status: 503, fields: ['Retry-After', '1'] })
  })
})

describe('failover', () => {
  type Step = FailureKind | 'response'

  /** Creates members that behave as scripted, one after the other, and records which were tried. */
  const members = (...steps: readonly Step[]) => {
    const tried: number[] = []
    const all = steps.map((step, i) => ({
      name: `${i}`,
      send: async (exchange: Exchange): Promise<ProxyResponse> => {
        tried.push(i)
        exchange.attempts.last = attemptRecord({ endpoint: `${i}`, endedAt: 0, previous: exchange.attempts.last })
        if (step === 'response') return fakeResponse()
        throw new GatewayError(step)
      },
    })) as unknown as readonly GroupEndpoint[]
    const selectEndpoint: EndpointSelector = (last, untriedOnly) => {
      const already: string[] = []
      for (let each = last; each !== null; each = each.previous) already.push(each.endpoint)
      return all.find(({ name }) => !already.includes(name)) ?? (untriedOnly ? null : (all[0] ?? null))
    }
    return { tried, send: failover(selectEndpoint, () => new GatewayError('no-healthy-endpoint')) }
  }

  const outcome = (
    send: (exchange: Exchange) => Promise<ProxyResponse>,
    exchange = fakeExchange(),
  ): Promise<number | FailureKind> =>
    send(exchange).then(
      ({ status }) => status,
      ({ kind }: GatewayError) => kind,
    )

  const kinds = Object.entries(failureTable).filter(([, { fault }]) => fault === 'upstream')
  const unsent = kinds.filter(([, { retry }]) => retry === 'always').map(([kind]) => kind as FailureKind)
  const others = kinds.filter(([, { retry }]) => retry !== 'always').map(([kind]) => kind as FailureKind)

  describe.each(['market.insights', 'valuation.score'] as const)('of %s', (operation) => {
    test.each(unsent)('a request that failed with %s goes to another, each once', async (kind) => {
      const { send, tried } = members(kind, kind, 'response', 'response')

      expect(await outcome(send, fakeExchange({ operation }))).toBe(200)
      expect(tried).toEqual([0, 1, 2])
    })

    test.each(others)('a request that failed with %s does not', async (kind) => {
      const { send, tried } = members(kind, 'response')

      expect(await outcome(send, fakeExchange({ operation }))).toBe(kind)
      expect(tried).toEqual([0])
    })
  })

  test('when all have failed the last failure is the outcome', async () => {
    const { send, tried } = members('connect-failed', 'connect-timeout', 'tls-failed')

    expect(await outcome(send)).toBe('tls-failed')
    expect(tried).toEqual([0, 1, 2])
  })

  test('an exchange that is sent again goes to one that it has not tried while there is one', async () => {
    const { send, tried } = members('reset-before-headers', 'connect-failed', 'bad-response', 'response')
    const exchange = fakeExchange()

    const outcomes = [await outcome(send, exchange), await outcome(send, exchange), await outcome(send, exchange)]

    expect(outcomes).toEqual(['reset-before-headers', 'bad-response', 200])
    expect(tried).toEqual([0, 1, 2, 3])
    expect(await outcome(send, exchange)).toBe('reset-before-headers')
  })

  test('without an endpoint it fails as configured', async () => {
    expect(await outcome(members().send)).toBe('no-healthy-endpoint')
  })

  test('an exchange that has ended meanwhile goes to no other', async () => {
    const { send, tried } = members('connect-failed', 'response')
    const exchange = fakeExchange()
    exchange.abort(new GatewayError('deadline-exceeded'))

    expect(await outcome(send, exchange)).toBe('connect-failed')
    expect(tried).toEqual([0])
  })
})
