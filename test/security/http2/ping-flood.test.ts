// CVE-2019-9512: each PING has to get a reply, and a client that does not read lets the replies pile up.
import { expect } from 'vitest'
import { attack, endedFor, floodOf, ping, test } from '../../helpers/http2-attack.ts'

test('a flood of PING ends its connection', async () => {
  const { outcome } = await attack(floodOf(() => [ping]))

  expect(outcome).toEqual(endedFor('too-many-pings'))
})

test('a flood of PING by a client that reads nothing ends its connection', async () => {
  const { outcome } = await attack(async (attacker) => {
    attacker.socket.pause()
    for (let nth = 0; nth < 10; nth++) await attacker.send(...Array.from({ length: 100 }, () => ping))
    attacker.socket.resume()
    await attacker.ended()
  })

  expect(outcome).toEqual(endedFor('too-many-pings'))
})
