import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chooser, nobody } from '../../src/upstream/choose.ts'
import type { Member } from '../../src/upstream/member.ts'

interface Fake {
  readonly name: string
  readonly takesWork: boolean
  readonly full: boolean
  readonly down: boolean
  readonly ejected: boolean
}

const member = (given: Partial<Fake> & { readonly name: string }): Member => {
  const { takesWork = true, full = false, down = false, ejected = false } = given
  const standing = { isDown: down, isEjected: () => ejected }
  return { name: given.name, takesWork, endpoint: { full }, standing } as unknown as Member
}

/** Tells among whom is picked, in order. */
const open = (members: readonly Member[], tried: readonly Member[] = []): readonly string[] => {
  const seen: string[] = []
  chooser(members, (candidates) => {
    seen.push(...candidates.map(({ name }) => name))
    return candidates[0] as Member
  })(tried)
  return seen
}

const up = member({ name: 'up' })
const ejected = member({ name: 'ejected', ejected: true })
const down = member({ name: 'down', down: true })
const both = member({ name: 'both', ejected: true, down: true })
const draining = member({ name: 'draining', takesWork: false })
const full = member({ name: 'full', full: true })

describe('picked is', () => {
  test.each<[string, readonly Member[], readonly string[]]>([
    ['among those that are up', [up, ejected, down, draining, full], ['up']],
    ['among the ejected when none is up', [ejected, down, both, draining], ['ejected']],
    ['among those that are down when there is nobody else', [down, both, draining], ['down', 'both']],
    ['nobody when all drain', [draining], []],
    ['nobody when all are full', [full, draining], []],
  ])('%s', (_, members, names) => {
    expect(open(members)).toEqual(names)
  })

  test('nobody twice', () => {
    const other = member({ name: 'other' })

    expect(open([up, other, ejected], [up])).toEqual(['other'])
    expect(open([up, ejected], [up])).toEqual(['ejected'])
    expect(open([up], [up])).toEqual([])
  })
})

test.each([
  ['overloaded', [full, draining]],
  ['no-healthy-endpoint', [draining]],
] as const)('without anybody to pick the failure is %s, with a time to come again', (kind, members) => {
  expect(nobody(members)).toMatchObject({ kind, status: 503, fields: ['Retry-After', '1'] })
})

test('whatever the states, one that drains is never picked, and one that is up always when there is one', () => {
  const any = fc.record({ takesWork: fc.boolean(), full: fc.boolean(), down: fc.boolean(), ejected: fc.boolean() })
  fc.assert(
    fc.property(fc.array(any, { maxLength: 6 }), fc.nat(), (states, seed) => {
      const members = states.map((state, i) => member({ name: String(i), ...state }))
      const tried = members.filter((_, i) => (seed >> i) % 2 === 1)
      const left = members.filter((each) => !tried.includes(each) && each.takesWork && !each.endpoint.full)

      const chosen = chooser(members, (candidates) => candidates[seed % candidates.length] as Member)(tried)

      const healthy = left.filter(({ standing }) => !standing.isDown && !standing.isEjected())
      if (healthy.length > 0) expect(healthy).toContain(chosen)
      else if (left.length > 0) expect(left).toContain(chosen)
      else expect(chosen).toBeNull()
    }),
  )
})
