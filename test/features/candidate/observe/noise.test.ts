import { expect, test } from 'vitest'
import { createNoise } from '../../../../src/features/candidate/observe/comparison-report.ts'

test('nothing is learnt from a pair in which the primary failed, whatever else differs', () => {
  const noise = createNoise('valuation.score')
  const at = { pointer: '/a', primary: '1', candidate: '2', isSafe: false }

  noise.learn([
    { ...at, kind: 'value' },
    { ...at, kind: 'content-type', pointer: '' },
  ])

  expect([noise.pairs(), noise.rows()]).toEqual([0, []])
})
