import { expect, onTestFinished, test } from 'vitest'
import { auditLog } from '../helpers/audit-log.ts'
import { bootLive } from '../helpers/live-gateway.ts'
import { hidden, logIn, send, token, visit } from '../helpers/page.ts'
import { spellings } from '../helpers/planted.ts'

// The attack: a token, a cookie or the token of a form comes out where others read: the log, the audit log, an answer. Whoever has mistyped the token by a letter has written
// most of it.
const mistyped = 'a-token-of-an-operatro'

test('no token and no cookie stands in a log, in the audit log, or in an answer', async () => {
  const audit = auditLog(onTestFinished)
  const live = await bootLive({ admin: { token }, audit: audit.settings, log: { level: 'trace' } })
  const answers: string[] = []
  const say = async (answer: ReturnType<typeof visit>) => {
    const { text, headers } = await answer
    answers.push(text, headers.get('location') ?? '')
    return answer
  }
  const login = await say(visit(`${live.admin}/login`))

  await say(send(`${live.admin}/login`, { ...hidden(login), token: mistyped }))
  await say(send(`${live.admin}/login?token=${token}`, { token }))
  const session = await logIn(live.admin)
  const [, id = ''] = session.cookie.split('=')
  const form = hidden(await visit(`${live.admin}/actions/refuse?operation=market.insights`, session))
  await say(send(`${live.admin}/actions/refuse?formToken=${form.formToken}`, form, session))
  await say(visit(`${live.admin}/%zz?token=${token}`, session))
  await say(send(`${live.admin}/actions/refuse`, { ...form, token }, session))
  await say(visit(`${live.admin}/status`, session))
  await say(visit(`${live.admin}/config`, session))
  await say(send(`${live.admin}/login`, { token, filled: 'x'.repeat(20_000) }, session))
  await say(send(`${live.admin}/logout`, form, session))
  await live.line(({ msg }) => msg === 'logout')
  await live.gateway.close()

  const written = [JSON.stringify(live.lines), audit.text(), ...answers].join('\n')
  for (const secret of [token, mistyped, id])
    expect(spellings(secret).filter((spelling) => written.includes(spelling))).toEqual([])
  expect([JSON.stringify(live.lines), audit.text()].join('\n')).not.toContain(form.formToken)
})

test('the audit log tells of logins, of what was done in a session, and of tokens that were none', async () => {
  const audit = auditLog(onTestFinished)
  const live = await bootLive({ admin: { token }, audit: audit.settings })
  const login = hidden(await visit(`${live.admin}/login`))

  await send(`${live.admin}/login`, { ...login, token: mistyped })
  const session = await logIn(live.admin)
  const form = hidden(await visit(`${live.admin}/actions/refuse?operation=market.insights`, session))
  await send(`${live.admin}/actions/refuse`, form, session)
  await send(`${live.admin}/logout`, form, session)
  await live.gateway.close()

  const config = live.gateway.config.hash
  const from = { address: '127.0.0.1', config }
  const of = { ...from, session: expect.stringMatching(/^[\da-f]{8}$/) }
  const lines = audit.lines().filter(({ event }) => event !== 'start' && event !== 'end')
  const expected = [
    { event: 'login refused', ...from },
    { event: 'login', ...of },
    { event: 'operation override', operation: 'market.insights', state: 'refuse', until: expect.any(String) },
    { event: 'logout', ...of },
    { event: 'admin request', order: 'POST /login', status: 403, ...from },
    { event: 'admin request', order: 'POST /login', status: 303, ...from },
    { event: 'admin request', order: 'POST /actions/refuse', status: 303, ...of },
    { event: 'admin request', order: 'POST /logout', status: 303, ...of },
  ]
  expect(lines).toHaveLength(expected.length)
  expect(lines).toEqual(expect.arrayContaining(expected.map((line) => expect.objectContaining(line))))
})
