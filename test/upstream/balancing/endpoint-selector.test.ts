import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AttemptRecord } from '../../../src/exchange.ts'
import { createEndpointSelector, noEndpointError } from '../../../src/upstream/balancing/endpoint-selector.ts'
import type { GroupEndpoint } from '../../../src/upstream/endpoints/group-endpoint.ts'

interface Fake {
  readonly name: string
  readonly takesWork: boolean
  readonly full: boolean
  readonly down: boolean
  readonly ejected: boolean
}

const member = (given: Partial<Fake> & { readonly name: string }): GroupEndpoint => {
  const { takesWork = true, full = false, down = false, ejected = false } = given
  const standing = { isDown: down, isEjected: () => ejected }
  return {
    name: given.name,
    receivesTraffic: takesWork,
    endpoint: { pool: { isFull: full } },
    health: standing,
  } as unknown as GroupEndpoint
}

/** Makes the last of the attempts of an exchange that has tried these, one after the other. */
const attempts = (tried: readonly GroupEndpoint[]): AttemptRecord | null =>
  tried.reduce<AttemptRecord | null>(
    (before, { name }) => ({ endpoint: name, startedAt: 0, endedAt: 0, previous: before }),
    null,
  )

/** Tells among whom is picked, in order. */
const open = (
  members: readonly GroupEndpoint[],
  tried: readonly GroupEndpoint[] = [],
  elsewhere = false,
): readonly string[] => {
  const seen: string[] = []
  createEndpointSelector(members, (candidates) => {
    seen.push(...candidates.map(({ name }) => name))
    return candidates[0] as GroupEndpoint
  })(attempts(tried), elsewhere)
  return seen
}

const up = member({ name: 'up' })
const ejected = member({ name: 'ejected', ejected: true })
const down = member({ name: 'down', down: true })
const both = member({ name: 'both', ejected: true, down: true })
const draining = member({ name: 'draining', takesWork: false })
const full = member({ name: 'full', full: true })

describe('picked is', () => {
  test.each<[string, readonly GroupEndpoint[], readonly string[]]>([
    ['among those that are up', [up, ejected, down, draining, full], ['up']],
    ['among the ejected when none is up', [ejected, down, both, draining], ['ejected']],
    ['among those that are down when there is nobody else', [down, both, draining], ['down', 'both']],
    ['nobody when all drain', [draining], []],
    ['nobody when all are full', [full, draining], []],
  ])('%s', (_, members, names) => {
    expect(open(members)).toEqual(names)
  })

  const other = member({ name: 'other' })
  const third = member({ name: 'third' })

  test.each<[string, readonly GroupEndpoint[], readonly GroupEndpoint[], readonly string[]]>([
    ['one that is up and was not tried', [up, other, third, ejected], [up, other], ['third']],
    ['one that was tried, when none besides is up', [up, ejected, down, draining], [up], ['up']],
    ['all that are up, when all of them were tried', [up, other, ejected], [other, up], ['up', 'other']],
    ['one that is out and was not tried, when none is up', [ejected, both, down], [down], ['ejected']],
    ['one that was tried, when the other is full', [up, full], [up], ['up']],
    ['none that drains, tried or not', [draining], [up], []],
  ])('for another attempt %s', (_, members, tried, names) => {
    expect(open(members, tried)).toEqual(names)
  })

  test.each<[string, readonly GroupEndpoint[], readonly GroupEndpoint[], readonly string[]]>([
    ['one that is up', [up, other, ejected], [up], ['other']],
    ['one that is out, when none is up besides', [up, ejected], [up], ['ejected']],
    ['nobody, when all were tried', [up], [up], []],
    ['nobody, when the same endpoint stands there twice', [up, up], [up], []],
  ])('elsewhere, %s', (_, members, tried, names) => {
    expect(open(members, tried, true)).toEqual(names)
  })
})

test.each([
  ['overloaded', [full, draining]],
  ['no-healthy-endpoint', [draining]],
] as const)('without anybody to pick the failure is %s, with a time to come again', (kind, members) => {
  expect(noEndpointError(members)).toMatchObject({ kind, status: 503, fields: ['Retry-After', '1'] })
})

test('whatever the states, one that drains is never picked, and one that is up always when there is one', () => {
  const any = fc.record({ takesWork: fc.boolean(), full: fc.boolean(), down: fc.boolean(), ejected: fc.boolean() })
  fc.assert(
    fc.property(fc.array(any, { maxLength: 6 }), fc.nat(), (states, seed) => {
      const members = states.map((state, i) => member({ name: String(i), ...state }))
      const tried = members.filter((_, i) => (seed >> i) % 2 === 1)
      const left = members.filter((each) => !tried.includes(each) && each.receivesTraffic && !each.endpoint.pool.isFull)

      const pick = (candidates: readonly GroupEndpoint[]) => candidates[seed % candidates.length] as GroupEndpoint
      const chosen = createEndpointSelector(members, pick)(attempts(tried), true)

      const healthy = left.filter(({ health: standing }) => !standing.isDown && !standing.isEjected())
      if (healthy.length > 0) expect(healthy).toContain(chosen)
      else if (left.length > 0) expect(left).toContain(chosen)
      else expect(chosen).toBeNull()
    }),
  )
})
