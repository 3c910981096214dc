import { describe, expect, test } from 'vitest'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'

const locked = await shareLiveGateway({ admin: { token } })
const open = await shareLiveGateway()
const session = await logIn(locked.admin)

// The attack: a page of another origin sends a form with everything it could know. To a browser, another port of the
// host is the same site: the cookie goes along, even with SameSite.
describe.each([{ origin: 'http://127.0.0.1:1' }, { 'sec-fetch-site': 'same-site' }])('%j', (headers) => {
  test('runs no command, logs no operator in and none out, though all else is right', async () => {
    const form = hiddenFields(await visitPage(`${locked.admin}/actions/reload`, session))
    const login = { ...hiddenFields(await visitPage(`${locked.admin}/login`)), token }

    const command = await submitForm(`${locked.admin}/actions/reload`, form, { ...session, ...headers })
    const loggedIn = await submitForm(`${locked.admin}/login`, login, headers)
    const loggedOut = await submitForm(`${locked.admin}/logout`, form, { ...session, ...headers })

    expect([command.status, loggedIn.status, loggedOut.status]).toEqual([403, 403, 403])
    expect(loggedIn.headers.get('set-cookie')).toBeNull()
    expect(locked.lines.map(({ msg }) => msg)).not.toContain('configuration unchanged')
    expect((await visitPage(`${locked.admin}/status`, session)).status).toBe(200)
  })

  test('reads nothing, and a link from there leads to a page that shows nothing but a link', async () => {
    const page = await visitPage(`${locked.admin}/actions/reload`, { ...session, ...headers })

    expect(page.status).toBe(403)
    expect(page.text).toContain('<a href="/">')
    expect(page.text).not.toContain('formToken')
    expect((await visitPage(`${locked.admin}/status`, { ...session, ...headers })).status).toBe(403)
  })
})

// The attack: a foreign page has an operator's browser send a form. The browser adds the cookie; the page does not know
// the token of the operator's forms.
test.each([
  ['with a session', locked, session],
  ['where no login is asked for', open, {}],
])('%s a form without its token does nothing', async (_, live, cookie) => {
  const drain = { group: 'market', url: 'sandbox' }
  const forms = { '/actions/reject': { operation: 'market.insights' }, '/actions/drain': drain, '/actions/reload': {} }
  for (const [target, fields] of Object.entries({ ...forms, '/logout': {} })) {
    const page = await submitForm(live.admin + target, fields, cookie)
    const problem = await submitForm(live.admin + target, { ...fields, formToken: '' }, { ...cookie, accept: '*/*' })

    expect([target, page.status, problem.status]).toEqual([target, 403, 403])
    expect(page.text).toContain('<p role="alert">Your session is over, or this form belongs')
    expect(JSON.parse(problem.text)).toMatchObject({ code: 'form-not-from-here' })
  }

  expect((await visitPage(`${live.admin}/status`, cookie)).status).toBe(200)
  expect(live.lines.map(({ msg }) => msg)).not.toContain('operation override')
})

test.each([
  ['changed in one letter', (made: string) => [`${made.slice(0, -1)}${made.endsWith('A') ? 'B' : 'A'}`]],
  ['cut', (made: string) => [made.slice(0, -1)]],
  ['there twice', (made: string) => [made, made]],
  ['right and wrong', (made: string) => [made, 'x']],
])('a token that is %s is none', async (_, given) => {
  const made = hiddenFields(await visitPage(`${open.admin}/actions/reload`)).formToken ?? ''

  const body = new URLSearchParams(given(made).map((each) => ['formToken', each] as [string, string]))
  const { status } = await fetch(`${open.admin}/actions/reload`, { method: 'POST', body, redirect: 'manual' })

  expect([made.length, status]).toEqual([43, 403])
})

test('one that stands in the query is none', async () => {
  const { formToken = '' } = hiddenFields(await visitPage(`${open.admin}/actions/reload`))

  expect((await submitForm(`${open.admin}/actions/reload?formToken=${formToken}`, {})).status).toBe(403)
})

test('a form for logging in needs its own as well: another page logs no operator in', async () => {
  const response = await submitForm(`${locked.admin}/login`, { token })

  expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
})

// The attack: an operator puts his own form token, or the one of the login form, into a form that another operator's
// browser sends: the command would be recorded as the other operator's.
test('the token of a form is good in its session alone', async () => {
  const [one, another] = [await logIn(locked.admin), await logIn(locked.admin)]
  const target = `${locked.admin}/actions/reject`
  const form = hiddenFields(await visitPage(`${target}?operation=market.insights`, one))

  const rejected = await submitForm(target, form, another)
  const taken = await submitForm(target, form, one)

  expect([rejected.status, taken.status]).toEqual([403, 303])
})

test('the token of the login form is good for nothing else', async () => {
  const form = hiddenFields(await visitPage(`${locked.admin}/login`))

  expect(form.formToken).toHaveLength(43)
  expect((await submitForm(`${locked.admin}/actions/reload`, form, session)).status).toBe(403)
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
