import { describe, expect, test } from 'vitest'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: another page makes an operator's browser send a form here. The browser may add the cookie; what it cannot
// add is the token that stands in the forms of the operator's own pages.
const forms = [
  ['/actions/refuse', { operation: 'market.insights' }],
  ['/actions/serve', { operation: 'market.insights' }],
  ['/actions/drain', { group: 'market', url: 'sandbox' }],
  ['/actions/ready', { group: 'market', url: 'sandbox' }],
  ['/actions/reload', {}],
  ['/actions/rollback', {}],
  ['/actions/clear-cache', {}],
  ['/logout', {}],
] as const

describe.each([
  ['with a session', { token }],
  ['where no login is asked for', {}],
])('%s', (_, admin) => {
  test.each(forms)('a form to %s without its token does nothing', async (target, fields) => {
    const live = await bootLiveGateway({ admin })
    const cookie = 'token' in admin ? await logIn(live.admin) : {}

    const page = await submitForm(live.admin + target, fields, cookie)
    const problem = await submitForm(live.admin + target, { ...fields, formToken: '' }, { ...cookie, accept: '*/*' })

    expect([page.status, problem.status]).toEqual([403, 403])
    expect(page.text).toContain('<p role="alert">This form was not made for your session')
    expect(JSON.parse(problem.text)).toMatchObject({ code: 'form-not-from-here' })
    expect((await visitPage(`${live.admin}/status`, cookie)).status).toBe(200)
    expect(live.lines.map(({ msg }) => msg)).not.toContain('operation override')
  })
})

test.each([
  ['changed in one letter', (made: string) => [`${made.slice(0, -1)}${made.endsWith('A') ? 'B' : 'A'}`]],
  ['cut', (made: string) => [made.slice(0, -1)]],
  ['there twice', (made: string) => [made, made]],
  ['right and wrong', (made: string) => [made, 'x']],
])('a token that is %s is none', async (_, given) => {
  const { admin } = await bootLiveGateway()
  const made = hiddenFields(await visitPage(`${admin}/actions/reload`)).formToken ?? ''

  const body = new URLSearchParams(given(made).map((each) => ['formToken', each] as [string, string]))
  const { status } = await fetch(`${admin}/actions/reload`, { method: 'POST', body, redirect: 'manual' })

  expect(made).toHaveLength(43)
  expect(status).toBe(403)
})

test('one that stands in the query is none', async () => {
  const { admin } = await bootLiveGateway()
  const { formToken = '' } = hiddenFields(await visitPage(`${admin}/actions/reload`))

  expect((await submitForm(`${admin}/actions/reload?formToken=${formToken}`, {})).status).toBe(403)
})

test('a form for logging in needs its own as well: another page logs no operator in', async () => {
  const { admin } = await bootLiveGateway({ admin: { token } })

  const response = await submitForm(`${admin}/login`, { token })

  expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
})
