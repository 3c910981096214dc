import { expect, test } from 'vitest'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: an attacker who can plant a cookie in an operator's browser (a program at another port of localhost can)
// plants the id of a session, waits until the operator has logged in, and uses it as well.
test('a login never takes over an id that the browser came with', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const { port } = new URL(live.admin)
  const planted = { cookie: `__Host-lender-gateway-${port}=${'A'.repeat(43)}` }
  const page = await visitPage(`${live.admin}/login`, planted)

  const response = await submitForm(`${live.admin}/login`, { ...hiddenFields(page), token }, planted)

  expect(response.headers.get('set-cookie')).not.toContain('A'.repeat(43))
  expect((await visitPage(`${live.admin}/status`, planted)).status).toBe(401)
})

test('a login in a session that the attacker has ends that one', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const planted = await logIn(live.admin)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/reload`, planted))

  const response = await submitForm(`${live.admin}/login`, { ...form, token }, planted)

  const [own = ''] = (response.headers.get('set-cookie') ?? '').split(';')
  expect((await visitPage(`${live.admin}/status`, planted)).status).toBe(401)
  expect((await visitPage(`${live.admin}/status`, { cookie: own })).status).toBe(200)
})

test('of two cookies of the name neither is believed', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const { cookie } = await logIn(live.admin)
  const [name] = cookie.split('=')

  const statuses = await Promise.all(
    [`${cookie}; ${name}=x`, `${name}=x; ${cookie}`].map(
      async (both) => (await visitPage(`${live.admin}/status`, { cookie: both })).status,
    ),
  )

  expect(statuses).toEqual([401, 401])
})
