import { describe, expect, test } from 'vitest'
import { logIn, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'

// The attack: a page that makes an operator's browser send a request makes it send the cookie too. So a cookie by
// itself must change nothing, under whatever spelling.
const commands = [
  ['POST', '/reload', ''],
  ['POST', '/reload?force', ''],
  ['POST', '/rollback', ''],
  ['POST', '/operations/refuse', '{"operation":"market.insights"}'],
  ['POST', '/operations/serve', '{"operation":"market.insights"}'],
  ['POST', '/endpoints/drain', '{"group":"market","url":"http://127.0.0.1:1"}'],
  ['POST', '/endpoints/ready', '{"group":"market","url":"http://127.0.0.1:1"}'],
  ['DELETE', '/cache', ''],
  ['POST', '/contract/learn', '{"for":"1h"}'],
] as const

const done = ['operation override', 'endpoint order', 'cache cleared', 'contract learning', 'configuration unchanged']
const market = { endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] }

describe('a session alone', () => {
  test.each(commands)('runs no command by %s %s', async (method, target, body) => {
    const live = await bootLiveGateway({ admin: { token }, upstreams: { market } })
    const { cookie } = await logIn(live.admin)
    const ask = (headers: Record<string, string>) =>
      fetch(live.admin + target, { method, headers, ...(body === '' ? {} : { body }) })

    const rejected = await ask({ cookie })
    const withLevel = await ask({ cookie, authorization: 'Bearer of-something-else' })

    expect([rejected.status, withLevel.status]).toEqual([401, 401])
    expect(live.lines.filter(({ msg }) => done.includes(msg))).toEqual([])
  })

  test.each([
    'POST /%72eload',
    'POST /actions/../reload',
    'POST //reload',
    'POST /reload/',
    'POST /status/../reload',
    'POST /actions/%2e%2e/reload',
    'POST /reload;/actions/',
    'POST /reload?/actions/reload',
    'POST /reload#/actions/reload',
    'POST http://localhost/reload',
    'POST http://localhost/actions/../reload',
    'PUT /actions/reload',
    'DELETE /actions/reload',
    'POST /status',
  ])('nor by %s', async (line) => {
    const live = await bootLiveGateway({ admin: { token } })
    const { cookie } = await logIn(live.admin)
    const { port } = live.gateway.adminAddress

    const response = await exchangeRaw(
      port,
      `${line} HTTP/1.1\r\nHost: localhost:${port}\r\nCookie: ${cookie}\r\nX-HTTP-Method-Override: POST\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    )

    expect([400, 401, 403, 404, 405]).toContain(parseStatus(response))
    expect(live.lines.filter(({ msg }) => done.includes(msg))).toEqual([])
  })

  test('gives none by any path that there is, but for the forms of the pages', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const session = await logIn(live.admin)
    const { text } = await visitPage(`${live.admin}/nowhere`, { authorization: `Bearer ${token}`, accept: '*/*' })
    const paths = [...String(JSON.parse(text).detail).matchAll(/\/[^, ]*/g)].map(([path]) => path)

    const commands = paths.flatMap((path) => ['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => ({ path, method })))
    const taken: string[] = []
    for (const { path, method } of commands) {
      const { status } = await fetch(live.admin + path, { method, headers: session, redirect: 'manual' })
      if (status !== 401) taken.push(`${method} ${path} ${status}`)
    }

    expect(paths).toEqual(expect.arrayContaining(['/reload', '/cache', '/operations/refuse']))
    expect(taken.filter((each) => !/^\w+ \/(?:live|ready|login) /.test(each))).toEqual([
      ...['reload', 'rollback', 'drain', 'ready', 'refuse', 'serve', 'clear-cache', 'learn-contract', 'shift'].map(
        (name) => `POST /actions/${name} 403`,
      ),
      'POST /logout 403',
    ])
  })

  test('reads what it may, by GET and HEAD', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const session = await logIn(live.admin)

    for (const path of ['/status', '/config', '/overview', '/refused']) {
      const head = await fetch(live.admin + path, { method: 'HEAD', headers: session })
      expect([path, (await visitPage(live.admin + path, session)).status, head.status]).toEqual([path, 200, 200])
    }
  })
})
