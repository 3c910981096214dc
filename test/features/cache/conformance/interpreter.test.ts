import { describe, expect, test } from 'vitest'
import { readsCarelessly, storesEverything, storesNothing } from './benches/stand-ins.ts'
import { type Bench, play } from './play.ts'
import { getRowName, type Row } from './row.ts'
import { rows, sections } from './rows/all.ts'

const getRedRows = async (bench: Bench): Promise<readonly Row[]> => {
  const red: Row[] = []
  for (const row of rows) if ((await play(row, bench)).length > 0) red.push(row)
  return red
}

const isRequired = ({ level }: Row): boolean => level === 'MUST' || level === 'MUST NOT'

test('there are at least 250 rows, each with a name of its own', () => {
  const names = rows.map(getRowName)

  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(250)
})

test('a cache that stores nothing breaks no prohibition, and every row that needs a stored response', async () => {
  const red = await getRedRows(storesNothing())

  expect(red.filter(({ level }) => level === 'MAY').length).toBeGreaterThan(100)
  expect(red.length).toBeLessThan(rows.length)
})

test('a cache that stores everything for ever breaks most of what is required', async () => {
  const red = await getRedRows(storesEverything())

  expect(red.filter(isRequired).length).toBeGreaterThan(rows.filter(isRequired).length / 2)
})

describe('every section has rows that', () => {
  for (const [name, own] of Object.entries(sections))
    test(`${name}: detect both of them`, async () => {
      for (const bench of [storesNothing(), storesEverything()]) {
        const red = await Promise.all(own.map((row) => play(row, bench)))

        expect(red.some((faults) => faults.length > 0)).toBe(true)
      }
    })
})

test('no row is green whatever a cache does', async () => {
  const red = await Promise.all([storesNothing(), storesEverything(), readsCarelessly()].map(getRedRows))
  const found = new Set(red.flat())

  expect(rows.filter((row) => !found.has(row)).map(getRowName)).toEqual([])
})
