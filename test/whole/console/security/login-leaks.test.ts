import { expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { secretEncodings } from '../../../helpers/secret-leaks.ts'

// The attack: a token, a cookie or the token of a form comes out where others read: the log, the audit log, a response.
// An operator who has mistyped the token by a letter has written most of it.
const mistyped = 'a-token-of-an-operatro'

test('no token and no cookie stands in a log, in the audit log, or in a response', async () => {
  const audit = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({ admin: { token }, audit: audit.settings, log: { level: 'trace' } })
  const responses: string[] = []
  const say = async (response: ReturnType<typeof visitPage>) => {
    const { text, headers } = await response
    responses.push(text, headers.get('location') ?? '')
    return response
  }
  const login = await say(visitPage(`${live.admin}/login`))

  await say(submitForm(`${live.admin}/login`, { ...hiddenFields(login), token: mistyped }))
  await say(submitForm(`${live.admin}/login?token=${token}`, { token }))
  const session = await logIn(live.admin)
  const [, id = ''] = session.cookie.split('=')
  const form = hiddenFields(await visitPage(`${live.admin}/actions/reject?operation=market.insights`, session))
  await say(submitForm(`${live.admin}/actions/reject?formToken=${form.formToken}`, form, session))
  await say(visitPage(`${live.admin}/%zz?token=${token}`, session))
  await say(submitForm(`${live.admin}/actions/reject`, { ...form, token }, session))
  await say(visitPage(`${live.admin}/status`, session))
  await say(visitPage(`${live.admin}/config`, session))
  await say(submitForm(`${live.admin}/login`, { token, filled: 'x'.repeat(20_000) }, session))
  await say(submitForm(`${live.admin}/logout`, form, session))
  await live.line(({ msg }) => msg === 'logout')
  await live.gateway.close()

  const written = [JSON.stringify(live.lines), audit.text(), ...responses].join('\n')
  for (const secret of [token, mistyped, id])
    expect(secretEncodings(secret).filter((spelling) => written.includes(spelling))).toEqual([])
  expect([JSON.stringify(live.lines), audit.text()].join('\n')).not.toContain(form.formToken)
})

test('the audit log has logins, commands of a session, and wrong tokens', async () => {
  const audit = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({ admin: { token }, audit: audit.settings })
  const login = hiddenFields(await visitPage(`${live.admin}/login`))

  await submitForm(`${live.admin}/login`, { ...login, token: mistyped })
  const session = await logIn(live.admin)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/reject?operation=market.insights`, session))
  await submitForm(`${live.admin}/actions/reject`, form, session)
  await submitForm(`${live.admin}/logout`, form, session)
  await live.gateway.close()

  const from = { address: '127.0.0.1', config: live.gateway.config.hash }
  const of = { ...from, session: expect.stringMatching(/^[\da-f]{8}$/) }
  const lines = audit.lines().filter(({ event }) => event !== 'start' && event !== 'end')
  const request = (request: string, status: number, by: object) => ({ event: 'admin request', request, status, ...by })
  const expected = [
    ...[
      { event: 'login rejected', ...from },
      { event: 'login', ...of },
      { event: 'logout', ...of },
    ],
    { event: 'operation override', operation: 'market.insights', state: 'reject', until: expect.any(String) },
    ...[request('POST /login', 403, from), request('POST /login', 303, from)],
    ...[request('POST /actions/reject', 303, of), request('POST /logout', 303, of)],
  ]
  expect(lines).toHaveLength(expected.length)
  expect(lines).toEqual(expect.arrayContaining(expected.map((line) => expect.objectContaining(line))))
})
