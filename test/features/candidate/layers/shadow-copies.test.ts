import { expect, test } from 'vitest'
import { ShadowCopies } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import { DeferredWork } from '../../../../src/features/contract/check-queue.ts'

test('a repeat that never began is not counted out', () => {
  const copies = new ShadowCopies(new DeferredWork(() => {}), new DeferredWork(() => {}))
  copies.bounds = { concurrency: 1, maxBytes: 0 }
  const [begun, refused] = [0, 1].map(() => ({ slot: -1, isRepeat: true, stop: () => {} }))
  if (begun === undefined || refused === undefined) throw new Error('no copies')

  const began = [copies.begin(begun), copies.begin(refused)]
  copies.end(refused)

  expect(began).toEqual([null, 'full'])
  expect(copies.repeating).toBe(1)
})
