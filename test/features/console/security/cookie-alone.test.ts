import { expect, test } from 'vitest'
import { logIn, token, visitPage } from '../../../helpers/form-browser.ts'
import { shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'

// The attack (CSRF): a foreign page has the operator's browser send a request, with the cookie. A cookie alone must
// change nothing, however the request is spelled.
const live = await shareLiveGateway({
  admin: { token },
  upstreams: { market: { endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] } },
})
const session = await logIn(live.admin)

const done = [
  'operation override',
  'endpoint override',
  'cache cleared',
  'contract learning',
  'configuration unchanged',
]
const changes = (): readonly object[] => live.lines.filter(({ msg }) => done.includes(msg))

test('a session alone runs no command, nor beside another proof that is wrong', async () => {
  for (const [method, target, body] of [
    ['POST', '/reload?force', null],
    ['POST', '/operations/reject', '{"operation":"market.insights"}'],
    ['POST', '/endpoints/drain', '{"group":"market","url":"http://127.0.0.1:1"}'],
    ['DELETE', '/cache', null],
    ['POST', '/contract/learn', '{"for":"1h"}'],
  ] as const) {
    const ask = (headers: Record<string, string>) => fetch(live.admin + target, { method, headers, body })
    const rejected = await ask(session)
    const withLevel = await ask({ ...session, authorization: 'Bearer of-something-else' })
    expect([target, rejected.status, withLevel.status]).toEqual([target, 401, 401])
  }

  expect(changes()).toEqual([])
})

test('nor by another spelling of the target or the method', async () => {
  const { port } = live.gateway.adminAddress
  const targets =
    '/%72eload /actions/../reload //reload /reload/ /actions/%2e%2e/reload /reload;/actions/ /reload?/actions/reload ' +
    '/reload#/actions/reload http://localhost/actions/../reload /status'

  for (const line of [...targets.split(' ').map((target) => `POST ${target}`), 'PUT /actions/reload']) {
    const fields = `Host: localhost:${port}\r\nCookie: ${session.cookie}\r\nX-HTTP-Method-Override: POST`
    const head = `${line} HTTP/1.1\r\n${fields}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`
    expect([line, parseStatus(await exchangeRaw(port, head))]).toEqual([line, expect.toSatisfy(isRejection)])
  }
  expect(changes()).toEqual([])
})

const isRejection = (status: number) => [400, 401, 403, 404, 405].includes(status)

test('gives none by any path that there is, but for the forms of the pages', async () => {
  const { text } = await visitPage(`${live.admin}/nowhere`, { authorization: `Bearer ${token}`, accept: '*/*' })
  const paths = [...String(JSON.parse(text).detail).matchAll(/\/[^, ]*/g)].map(([path]) => path)

  const taken: string[] = []
  for (const path of paths) {
    const { status } = await fetch(live.admin + path, { method: 'POST', headers: session, redirect: 'manual' })
    if (status !== 401) taken.push(`${path} ${status}`)
  }

  expect(paths).toEqual(expect.arrayContaining(['/reload', '/cache', '/operations/reject']))
  const forms = ['reload', 'rollback', 'drain', 'ready', 'reject', 'serve', 'clear-cache', 'learn-contract', 'shift']
  expect(taken.filter((each) => !/^\/(?:live|ready|login) /.test(each))).toEqual([
    ...forms.map((name) => `/actions/${name} 403`),
    '/logout 403',
  ])
})

test.each(['GET', 'HEAD'])('reads what it may, by %s', async (method) => {
  expect((await fetch(`${live.admin}/status`, { method, headers: session })).status).toBe(200)
})
