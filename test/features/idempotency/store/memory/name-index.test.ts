import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createNameIndex } from '../../../../../src/features/idempotency/store/memory/name-index.ts'

const openIndex = () => {
  const names: string[] = ['']
  return { index: createNameIndex((place, name) => names[place] === name), names }
}

test('a name is found where it was added, whatever else was added and removed', () => {
  const step = fc.record({ type: fc.constantFrom('add', 'delete'), from: fc.nat(2000), count: fc.nat(800) })

  fc.assert(
    fc.property(fc.array(step, { maxLength: 12, size: 'max' }), (steps) => {
      const { index, names } = openIndex()
      const expected = new Map<string, number>()
      for (const { type, from, count } of steps)
        for (let nth = from; nth < from + count; nth++) {
          const name = `name ${nth}`
          if (type === 'delete') {
            index.delete(name)
            expected.delete(name)
          } else if (!expected.has(name)) {
            expected.set(name, names.push(name) - 1)
            index.add(name, names.length - 1)
          }
        }
      expect(index.size).toBe(expected.size)
      for (let nth = 0; nth <= 2800; nth++) expect(index.find(`name ${nth}`)).toBe(expected.get(`name ${nth}`) ?? null)
    }),
    { numRuns: 15 },
  )
})

test('a name is found where it was moved to', () => {
  const { index, names } = openIndex()
  for (let nth = 0; nth < 1000; nth++) index.add(`name ${nth}`, names.push(`name ${nth}`) - 1)

  for (let nth = 0; nth < 1000; nth++) {
    names[nth + 1] = ''
    index.move(`name ${nth}`, nth + 1, names.push(`name ${nth}`) - 1)
  }

  const found = Array.from({ length: 1000 }, (_, nth) => index.find(`name ${nth}`))
  expect(found).toEqual(Array.from({ length: 1000 }, (_, nth) => 1001 + nth))
})

test('an index that has become empty takes as little as a new one', () => {
  const { index, names } = openIndex()

  for (let nth = 0; nth < 50_000; nth++) index.add(`name ${nth}`, names.push(`name ${nth}`) - 1)
  const full = index.slots
  for (let nth = 0; nth < 50_000; nth++) index.delete(`name ${nth}`)

  expect([full, index.size, index.slots]).toEqual([131_072, 0, openIndex().index.slots])
})
