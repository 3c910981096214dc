import { expect, test } from 'vitest'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: an operator puts the token of a form of his own into one that he makes another operator's browser send:
// the command is then recorded as the other's. Or he takes the one that every visitor finds in the login form.
test('the token of a form is good in its session alone', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const [one, another] = [await logIn(live.admin), await logIn(live.admin)]
  const target = '/actions/refuse?operation=market.insights'
  const form = hiddenFields(await visitPage(live.admin + target, one))

  const rejected = await submitForm(`${live.admin}/actions/refuse`, form, another)
  const taken = await submitForm(`${live.admin}/actions/refuse`, form, one)

  expect([rejected.status, taken.status]).toEqual([403, 303])
})

test('the token of the login form is good for nothing else', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const session = await logIn(live.admin)
  const form = hiddenFields(await visitPage(`${live.admin}/login`))

  const response = await submitForm(`${live.admin}/actions/reload`, form, session)

  expect(form.formToken).toHaveLength(43)
  expect(response.status).toBe(403)
})

test('the token of a session that is over is good for nothing, not even for the next session', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const first = await logIn(live.admin)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/reload`, first))
  await submitForm(`${live.admin}/logout`, form, first)
  const second = await logIn(live.admin)

  expect((await submitForm(`${live.admin}/actions/reload`, form, first)).status).toBe(401)
  expect((await submitForm(`${live.admin}/actions/reload`, form, second)).status).toBe(403)
})
