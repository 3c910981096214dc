import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AgingQueue } from '../../../src/shared/idempotency/aging-queue.ts'

test('the first text is the one that was added before all others, whatever was moved and removed', () => {
  const step = fc.record({ type: fc.constantFrom('add', 'delete', 'first'), text: fc.constantFrom(...'abcdefgh') })

  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const queue = new AgingQueue()
      let expected: string[] = []
      for (const { type, text } of steps) {
        if (type !== 'first') expected = expected.filter((each) => each !== text)
        if (type === 'add') {
          expected.push(text)
          queue.add(text)
        } else if (type === 'delete') queue.delete(text)
        expect([queue.first(), queue.size]).toEqual([expected[0] ?? null, expected.length])
      }
    }),
  )
})

test('to ask for the first text does not pass over what was removed', () => {
  const queue = new AgingQueue()
  for (let n = 0; n < 1000; n++) queue.add(`${n}`)

  for (let n = 0; n < 999; n++) {
    expect(queue.first()).toBe(`${n}`)
    queue.delete(`${n}`)
  }

  expect(queue.first()).toBe('999')
})
