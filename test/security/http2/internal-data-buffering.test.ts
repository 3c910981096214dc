// CVE-2019-9517: the windows of HTTP/2 are wide open, and the client reads nothing of its socket.
import { expect } from 'vitest'
import { frame, head } from '../../helpers/http2.ts'
import { type Attack, attack, endlessUpstream, test, wentOn } from '../../helpers/http2-attack.ts'
import { eventually } from '../../helpers/wire.ts'

const open = [frame(4, 0, 0, Buffer.from([0, 4, 127, 255, 255, 255])), frame(8, 0, 0, Buffer.from([127, 0, 0, 0]))]
const heads = Array.from({ length: 100 }, (_, n) => head(2 * n + 1))

test('a hundred endless responses wait at their upstream, not in the gateway', async () => {
  const { url, written } = await endlessUpstream()
  const unread: Attack = async ({ socket, send }) => {
    socket.pause()
    await send(...open, ...heads)
    let before = -1
    await eventually(() => {
      const isStill = written() > 0 && written() === before
      before = written()
      return isStill
    })
  }

  const { outcome, grownBytes } = await attack(unread, { upstreams: { market: url }, measures: true })

  expect(outcome).toEqual(wentOn)
  expect(grownBytes).toBeLessThan(64 * 1024 * 1024)
})
