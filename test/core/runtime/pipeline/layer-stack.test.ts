import { expect, test } from 'vitest'
import { inOrder, type LayerRow, layerRow } from '../../../../src/core/runtime/pipeline/layer-stack.ts'

const row = (name: LayerRow['name']): LayerRow => layerRow(name, 'key', 1, String, () => null)

test('layers stand in the order of the places, whatever the order of those that bring them', () => {
  expect(inOrder([row('retry'), row('metrics'), row('cache')]).map(({ name }) => name)).toEqual([
    'metrics',
    'cache',
    'retry',
  ])
})

test('a place has one taker', () => {
  expect(() => inOrder([row('cache'), row('retry'), row('cache')])).toThrow('one place')
})
