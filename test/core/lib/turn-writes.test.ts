import { describe, expect, test, vi } from 'vitest'
import { batchWrite, prepareWrite } from '../../../src/core/lib/turn-writes.ts'

describe('writes of one turn', () => {
  /** Waits for the end of the current turn of the event loop. */
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  test('the writes of one turn go out at its end, in their order', async () => {
    const written: number[] = []

    for (const n of [1, 2, 3]) batchWrite(() => written.push(n))
    await Promise.resolve()
    const before = [...written]
    await turn()

    expect(before).toEqual([])
    expect(written).toEqual([1, 2, 3])
  })

  test('prepareWrite calls come before all writes of the turn, and their writes go out with them', async () => {
    const order: string[] = []

    batchWrite(() => order.push('first write'))
    prepareWrite(() => {
      order.push('prepared')
      batchWrite(() => order.push('second write'))
    })
    await turn()

    expect(order).toEqual(['prepared', 'first write', 'second write'])
  })

  test('a write that is caused by another write goes out too', async () => {
    const written: string[] = []

    batchWrite(() => {
      written.push('first')
      batchWrite(() => written.push('second'))
    })
    await turn()
    await turn()

    expect(written).toEqual(['first', 'second'])
  })

  test('a write that throws does not hold up the others, and its error is thrown by itself', async () => {
    const written: string[] = []
    const thrown: unknown[] = []
    const soon = (call: () => void) =>
      void Promise.resolve()
        .then(call)
        .catch((error) => thrown.push(error))
    vi.spyOn(globalThis, 'setImmediate').mockImplementation(soon as never)
    const defect = new Error('a defect')

    batchWrite(() => {
      throw defect
    })
    batchWrite(() => written.push('other'))
    for (let n = 0; n < 5; n++) await Promise.resolve()
    vi.restoreAllMocks()

    expect([written, thrown]).toEqual([['other'], [defect]])
  })
})
