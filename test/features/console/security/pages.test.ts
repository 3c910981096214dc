/** Pages that are framed, injected into, or read by a name that a web page can have. */
import { expect, test } from 'vitest'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'

const locked = await shareLiveGateway({ admin: { token } })
const open = await shareLiveGateway()
const session = await logIn(locked.admin)

// The attack: a page of an action stands in a frame of another page, invisible, where the operator is made to click
// (clickjacking). Or a page, its form token among it, is kept by a cache, or sent to another site by a Referer.
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

// The attack: a link to a page of an action says markup where it should say a name, and the page runs it; or a file, an
// endpoint, an edit does.
const markup = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`
const encoded = encodeURIComponent(markup)

/** Returns whether a page holds something that it was not made with. */
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

// The attack: a web page has its own name resolve to the operator's machine (DNS rebinding). Its requests are of its
// own origin then, so it can read the login form and guess at the token from the operator's browser, or read pages that
// ask for no login.
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
