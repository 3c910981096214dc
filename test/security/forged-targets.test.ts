/**
 * The target and the host of a request, in a spelling that only the next hop understands. `validate-request.test.ts`
 * shows which hosts, targets and Via are rejected.
 */
import { describe, expect, test } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../helpers/raw-client.ts'
import { findProblemFault } from '../helpers/raw-response.ts'
import { receivedValues, roundTrip } from '../helpers/round-trip.ts'

const site = liveGatewayForAll((url) => ({ upstreams: { market: { endpoints: [url], host: 'client' } } }))

const get = (target: string, fields: string): string => `GET ${target} HTTP/1.1\r\n${fields}\r\n`
const send = (bytes: string) => roundTrip(site.port, site.server, bytes)

// The attack: a spelling that the rules of one hop (an allow-list, a limit, an audit) do not know, and the next hop
// decodes.
test.each([
  ...['/%76aluation/score', '/valuation%2fscore', '/valuation/score%00', '/valuation/score/', '/valuation//score'],
  ...['//valuation/score', '/./valuation/score', '/x/../valuation/score', '/x/%2e%2e/valuation/score'],
  ...['/x/..;/valuation/score', '/valuation/score;a=b', '/valuation\\score', '/Valuation/score'],
  ...['/%2576aluation/score'],
  ...['http://a//valuation/score', 'http://a/%76aluation/score'],
])('an alias, %s, is not found, and nothing is forwarded', async (target) => {
  const { response, arrived } = await send(`POST ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)

  expect([findProblemFault(response, 404), arrived]).toEqual([null, []])
})

// The attack: two hosts in one request, of which the gateway believes one and the upstream the other.
describe('the host that an upstream sees', () => {
  test.each([
    ['the one of the absolute-form, never the Host beside it', 'http://one:81/market/insights', 'two', 'one:81'],
    ['the one of Host, and no field adds another', '/market/insights', 'one', 'one'],
  ])('the upstream gets the host of the client: %s', async (_, target, host, seen) => {
    const forged = 'X-Forwarded-Host: evil\r\nX_Forwarded_Host: evil\r\nForwarded: host=evil\r\nConnection: host\r\n'

    const { arrived } = await send(get(target, `Host: ${host}\r\n${forged}`))

    expect(receivedValues(arrived[0], 'host')).toEqual([seen])
    expect(receivedValues(arrived[0], 'x-forwarded-host')).toEqual([seen])
    expect(arrived[0]?.url).toBe('/market/insights')
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('evil')
  })

  test.each([
    ['two Hosts that are the same', get('/market/insights', 'Host: one\r\nHost: one\r\n')],
    ['two Hosts beside an absolute-form', get('http://one/market/insights', 'Host: one\r\nHost: two\r\n')],
    ['userinfo that looks like the host', get('http://one@two/market/insights', 'Host: one\r\n')],
    ['a backslash that some take for a slash', get('http://one\\@two/market/insights', 'Host: one\r\n')],
    ['no Host beside an absolute-form', get('http://one/market/insights', '')],
    ['an invalid Host beside a valid absolute-form', get('http://one/market/insights', 'Host: a b\r\n')],
  ])('a request with %s is rejected, and not forwarded', async (_, bytes) => {
    const { response, arrived } = await send(bytes)

    expect([findProblemFault(response, 400), arrived]).toEqual([null, []])
  })
})

// The attack: a gateway that is led back to itself sends a request until its connections are used up.
test('a request that another gateway leads back to this one ends there, once', async () => {
  const port = await freePort()
  const second = await bootGateway({ upstream: `http://127.0.0.1:${port}` })
  const first = await bootGateway({ upstream: second.url, listen: { port } })

  const text = await exchangeRaw(first.port, get('/market/insights', 'Host: a\r\n'))

  expect(parseStatus(text)).toBe(508)
  await second.line(({ status }) => status === 508)
  expect(second.lines.filter(({ operation }) => operation !== undefined)).toHaveLength(1)
})
