// CVE-2019-9514: the client has the gateway send RST_STREAM, and reads none.
import { expect } from 'vitest'
import { get, head } from '../../helpers/http2.ts'
import { attack, endedFor, test } from '../../helpers/http2-attack.ts'

test('unread replies to broken requests end their connection', async () => {
  const { outcome } = await attack(async (attacker) => {
    attacker.socket.pause()
    for (let first = 1; first < 2000; first += 200)
      await attacker.send(...Array.from({ length: 100 }, (_, n) => head(first + 2 * n, [...get(), 'X-A', 'b'])))
    attacker.socket.resume()
    await attacker.ended()
  })

  expect(outcome).toEqual(endedFor('broken-stream', 'too-many-rejected-heads'))
})
