import { expect, test } from 'vitest'
import { BodyCopy } from '../../../src/shared/bodies/body-copy.ts'
import { BodyRoom, type BodyShare } from '../../../src/shared/bodies/body-room.ts'

const mib = 1024 ** 2

/** Takes all that a share gives, in MiB. */
const fill = (share: BodyShare): number => {
  let taken = 0
  while (share.reserve(mib)) taken++
  return taken
}

test('clients that take all that they can leave room for one more', () => {
  const room = new BodyRoom()

  expect(fill(room.shareOf('a'))).toBe(32)
  expect(fill(room.shareOf('a'))).toBe(0)
  expect(fill(room.shareOf('b'))).toBe(16)
  expect(fill(room.shareOf('c'))).toBe(8)
  expect(room.bytes).toBe(56 * mib)
})

test('what a client gives back is its own again, and the room remembers no client without any', () => {
  const room = new BodyRoom()
  const copy = new BodyCopy(32 * mib, room.shareOf('a'), 128 * 1024)
  copy.push(Buffer.alloc(20 * mib))
  expect([room.bytes, room.shareOf('a').reserve(20 * mib), room.shareOf('b').reserve(20 * mib)]).toEqual([
    20 * mib,
    false,
    true,
  ])

  copy.free()
  room.shareOf('b').release(20 * mib)

  expect([room.bytes, room.clients]).toEqual([0, 0])
  expect(fill(room.shareOf('a'))).toBe(32)
})

test('clients that come once are not remembered for ever', () => {
  const room = new BodyRoom()
  room.shareOf('stays').reserve(mib)

  for (let nth = 0; nth < 5000; nth++) {
    const share = room.shareOf(`client ${nth}`)
    share.reserve(10)
    share.release(10)
  }

  expect([room.bytes, room.clients]).toEqual([mib, 1])
  expect(room.remembered).toBeLessThanOrEqual(1001)
})

test('a copy that was closed takes nothing any more', () => {
  const room = new BodyRoom()
  const copy = new BodyCopy(mib, room)
  copy.close()

  expect([copy.push(Buffer.from('a')), copy.bytes.length, room.bytes]).toEqual([false, 0, 0])
})
