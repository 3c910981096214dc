import { expect, test } from 'vitest'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'

const locked = await shareLiveGateway({ admin: { token } })
const open = await shareLiveGateway()
const session = await logIn(locked.admin)

// The attack (clickjacking): a foreign page frames a page of an action invisibly. Or a cache keeps a page with its form
// token, or a Referer sends it to another site.
test.each([
  ['/login', {}],
  ['/actions/reload', session],
])('%s may not be framed, kept, or run anything', async (path, cookie) => {
  const { headers } = await visitPage(locked.admin + path, cookie)

  const policy = (headers.get('content-security-policy') ?? '').split('; ')
  const strict = ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"]
  expect(policy).toEqual(expect.arrayContaining(strict))
  expect(policy.join()).not.toMatch(/script-src|unsafe|\*/)
  expect(Object.fromEntries(headers)).toMatchObject({
    ...{ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
    'referrer-policy': 'same-origin',
  })
})

test.each(['/status', '/configuration', '/', '/login', '/nowhere'])('%s is stored by no cache', async (path) => {
  for (const cookie of [{}, session])
    expect((await visitPage(locked.admin + path, cookie)).headers.get('cache-control')).toBe('no-store')
})

// The attack: markup instead of a name, in a link, a file, an endpoint or an edit, which the page would run.
const markup = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`
const encoded = encodeURIComponent(markup)

const isInjected = (text: string): boolean => /<(?:script|img)|"><\w|<[^>]*onerror/i.test(text)

test.each([
  `reload?force=${encoded}`,
  `reload?${encoded}=1`,
  `drain?group=${encoded}&url=x`,
  `drain?group=market&url=${encoded}`,
  `ready?group=market&url=sandbox&ttl=${encoded}`,
  `reject?operation=${encoded}`,
  'reject?operation=market.insights&ttl=15m%22%3E',
  `clear-cache?operation=${encoded}`,
])('what a link says is text, wherever the page shows it: %s', async (target) => {
  const page = await visitPage(`${open.admin}/actions/${target}`)

  expect(page.status).toBe(400)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(isInjected(page.text)).toBe(false)
})

test('what stands in the file is text: a problem quotes it', async () => {
  const live = await bootLiveGateway()
  live.edit(`upstreams:\n  ${JSON.stringify(markup)}: sandbox\n`)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/reload`))

  const { status, text } = await submitForm(`${live.admin}/actions/reload`, form)

  expect(status).toBe(422)
  expect(text).toContain('&#60;script&#62;')
  expect(isInjected(text)).toBe(false)
})

// The attack (DNS rebinding): a web page's name resolves to the operator's machine. Its requests have its own origin,
// so it could read pages that need no login, or guess tokens by the login form.
test.each([
  ['the form', 'GET /login', ''],
  ['a login', 'POST /login', `token=${token}`],
  ['an action', 'GET /actions/reload', ''],
  ['the stylesheet', 'GET /assets/page.css', ''],
])('%s is not for a Host that a web page can have', async (_, what, sent) => {
  const origin = 'Origin: http://attacker.example:9901\r\nSec-Fetch-Site: same-origin\r\nAccept: text/html\r\n'

  const head = `${what} HTTP/1.1\r\nHost: attacker.example:9901\r\n${origin}Content-Length: ${sent.length}\r\n`
  const response = await exchangeRaw(locked.gateway.adminAddress.port, `${head}Connection: close\r\n\r\n${sent}`)

  expect(parseStatus(response)).toBe(421)
  expect(response).not.toMatch(/<form|set-cookie/i)
})
