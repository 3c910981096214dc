import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSlotList, type SlotEntry } from '../../../../src/features/candidate/layers/slot-list.ts'

interface Numbered extends SlotEntry {
  readonly id: number
}

test('holds what a Set would, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), fc.boolean())), (turns) => {
      const all = Array.from({ length: 10 }, (_, id): Numbered => ({ id, slot: -1 }))
      const [list, model] = [createSlotList<Numbered>(), new Set<number>()]

      for (const [id, isAdded] of turns) {
        const entry = all[id] as Numbered
        if (!isAdded) expect(list.delete(entry)).toBe(model.delete(id))
        else if (!model.has(id)) {
          list.add(entry)
          model.add(id)
        }
      }

      expect(list.size()).toBe(model.size)
      expect(
        list
          .all()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual([...model].toSorted())
      expect(list.all().map(({ slot }) => slot)).toEqual([...list.all().keys()])
    }),
  )
})
