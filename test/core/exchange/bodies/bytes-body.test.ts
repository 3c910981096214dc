import { expect, test } from 'vitest'
import { BytesBody } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { ResponseBody } from '../../../../src/core/exchange/body.ts'
import { sliceBytes } from '../../../../src/core/lib/buffers.ts'
import { pseudoRandomBytes } from '../../../helpers/wire.ts'

const read = (body: ResponseBody, takes: number) => {
  const pieces: Buffer[] = []
  let [left, ended] = [takes, 0]
  body.consume({
    data: (piece) => {
      pieces.push(piece)
      return --left > 0
    },
    end: () => void ended++,
    fail: () => {},
  })
  return { pieces, ended: () => ended }
}

test('a body is handed on in slices, as they are taken, and ends once', () => {
  const whole = pseudoRandomBytes(sliceBytes * 3 + 1)
  const body = new BytesBody(whole)

  const { pieces, ended } = read(body, 2)
  const before = [pieces.length, ended()]
  for (let i = 0; i < 5; i++) body.resume()

  expect(before).toEqual([2, 0])
  expect([Buffer.concat(pieces).equals(whole), ended()]).toEqual([true, 1])
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(sliceBytes)
})

test('a discarded body is not handed on', () => {
  const body = new BytesBody(pseudoRandomBytes(sliceBytes * 3))
  const { pieces, ended } = read(body, 1)

  body.discard()
  body.resume()

  expect([pieces.length, ended()]).toEqual([1, 0])
})
