import { expect, test } from 'vitest'
import { token } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'

// The attack: a web page has its own name resolve to the operator's machine (DNS rebinding). Its requests are of its
// own origin then, so it can read the login form and guess at the token from the operator's browser, or read pages that
// ask for no login.
const body = `token=${token}`

test.each([
  ['the form', 'GET /login', ''],
  ['a login', 'POST /login', body],
  ['the page', 'GET /', ''],
  ['an action', 'GET /actions/reload', ''],
  ['the stylesheet', 'GET /assets/page.css', ''],
])('%s is not for a Host that a web page can have', async (_, what, sent) => {
  const { gateway } = await bootLiveGateway({ admin: { token } })
  const origin = 'Origin: http://attacker.example:9901\r\nSec-Fetch-Site: same-origin\r\nAccept: text/html\r\n'

  const response = await exchangeRaw(
    gateway.adminAddress.port,
    `${what} HTTP/1.1\r\nHost: attacker.example:9901\r\n${origin}Content-Length: ${sent.length}\r\nConnection: close\r\n\r\n${sent}`,
  )

  expect(parseStatus(response)).toBe(421)
  expect(response).not.toMatch(/<form|set-cookie/i)
})
