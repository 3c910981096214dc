import { expect, test } from 'vitest'
import { faults } from './plant.ts'
import { symptoms } from './symptom.ts'

test('docs/operating.md has fourteen symptoms, each with a sentence that a test has read of a real fault', () => {
  const numbers = symptoms.map(({ heading }) => Number.parseInt(heading, 10))

  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
  expect(symptoms.filter(({ severity, about }) => severity === '' || about === '')).toEqual([])
  expect(faults.map(({ number }) => number)).toEqual(numbers)
})

test('an example stands for others of its kind, and for nothing else', () => {
  const cause = symptoms[0]?.cause
  const start = 'no endpoint of market serves since 23:59:59; every request to market.insights fails'

  expect(cause?.test(`${start}: ECONNREFUSED at http://10.0.0.7:81`)).toBe(true)
  expect(cause?.test(`${start}: ECONNRESET at http://10.0.0.7:81`)).toBe(false)
})
