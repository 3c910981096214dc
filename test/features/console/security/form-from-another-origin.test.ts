import { describe, expect, test } from 'vitest'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: a page of another origin sends a form, with all that it could come to know. One at another port of the
// same host is the same site to a browser: it sends the cookie along, SameSite or not.
const foreign: readonly Readonly<Record<string, string>>[] = [
  { origin: 'http://attacker.example' },
  { origin: 'http://127.0.0.1:1' },
  { origin: 'null' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site' },
]

describe.each(foreign)('%j', (headers) => {
  test('runs no command, though all else is right', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const session = await logIn(live.admin)
    const form = hiddenFields(await visitPage(`${live.admin}/actions/reload`, session))

    const response = await submitForm(`${live.admin}/actions/reload`, form, { ...session, ...headers })

    expect(response.status).toBe(403)
    expect(live.lines.map(({ msg }) => msg)).not.toContain('configuration unchanged')
  })

  test('logs no operator in, and none out', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const session = await logIn(live.admin)
    const form = hiddenFields(await visitPage(`${live.admin}/actions/reload`, session))

    const login = await submitForm(
      `${live.admin}/login`,
      { ...hiddenFields(await visitPage(`${live.admin}/login`)), token },
      headers,
    )
    const logout = await submitForm(`${live.admin}/logout`, form, { ...session, ...headers })

    expect([login.status, login.headers.get('set-cookie')]).toEqual([403, null])
    expect([logout.status, (await visitPage(`${live.admin}/status`, session)).status]).toEqual([403, 200])
  })

  test('reads nothing, and a link from there leads to a page that shows nothing but a link', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const session = await logIn(live.admin)

    const [page, status] = [
      await visitPage(`${live.admin}/actions/reload`, { ...session, ...headers }),
      await visitPage(`${live.admin}/status`, { ...session, ...headers }),
    ]

    expect([page.status, status.status]).toEqual([403, 403])
    expect(page.text).toContain('<a href="/">')
    expect(page.text).not.toContain('formToken')
  })
})
