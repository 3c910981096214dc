import { expect, test } from 'vitest'
import { logIn, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: an operator has gone, or his token is known to others; it is replaced in the file. A session that it
// opened goes on by the cookie.
const next = 'another-token-of-operators'
const bearer = { headers: { Authorization: `Bearer ${token}` } }

test('a session ends when the token is replaced, and does not come back with the old one', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const session = await logIn(live.admin)
  expect((await visitPage(`${live.admin}/status`, session)).status).toBe(200)

  live.edit({ admin: { token: next } })
  await fetch(`${live.admin}/reload`, { method: 'POST', ...bearer })
  const replaced = await visitPage(`${live.admin}/status`, session)
  live.edit({ admin: { token } })
  await live.gateway.reload('signal')
  const again = await visitPage(`${live.admin}/status`, session)

  expect([replaced.status, again.status]).toEqual([401, 401])
})

test('not even without a request in between', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const session = await logIn(live.admin)

  for (const each of [next, token]) {
    live.edit({ admin: { token: each } })
    await live.gateway.reload('signal')
  }

  expect((await visitPage(`${live.admin}/status`, session)).status).toBe(401)
})

test('an edit of anything else leaves it', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const session = await logIn(live.admin)

  live.edit({ admin: { token, hosts: ['gateway.internal'] } })
  await live.gateway.reload('signal')

  expect((await visitPage(`${live.admin}/status`, session)).status).toBe(200)
})
