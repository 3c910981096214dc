import { expect, test } from 'vitest'
import { createShadowCopies } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import { createDeferredWork } from '../../../../src/features/contract/check-queue.ts'

test('a repeat that never began is not counted out', () => {
  const copies = createShadowCopies(
    createDeferredWork(() => {}),
    createDeferredWork(() => {}),
  )
  copies.applyBounds({ concurrency: 1, maxBytes: 0 })
  const [begun, refused] = [0, 1].map(() => ({ slot: -1, isRepeat: true, stop: () => {} }))
  if (begun === undefined || refused === undefined) throw new Error('no copies')

  const began = [copies.begin(begun), copies.begin(refused)]
  copies.end(refused)

  expect(began).toEqual([null, 'full'])
  expect(copies.repeating()).toBe(1)
})
