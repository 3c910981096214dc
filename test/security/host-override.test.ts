import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { findProblemFault } from '../helpers/raw-response.ts'
import { receivedValues, roundTrip } from '../helpers/round-trip.ts'
import { httpUpstream, type TestUpstream } from '../helpers/upstream.ts'

// The attack: two names for one request, of which the gateway believes one and the upstream the other.
const boot = async (
  host: 'endpoint' | 'client',
): Promise<{ port: number; upstream: TestUpstream; endpoint: string }> => {
  const upstream = await httpUpstream()
  const market = { endpoints: [upstream.url], host }
  const { port } = await bootGateway({ upstream: upstream.url, upstreams: { market } })
  return { port, upstream, endpoint: `127.0.0.1:${upstream.port}` }
}

const get = (target: string, fields: string): string => `GET ${target} HTTP/1.1\r\n${fields}\r\n`

describe('the host that an upstream sees', () => {
  test('is its own, whatever the client asks for', async () => {
    const { port, upstream, endpoint } = await boot('endpoint')

    const plain = await roundTrip(port, upstream, get('/market/insights', 'Host: evil\r\n'))
    const absolute = await roundTrip(port, upstream, get('http://evil/market/insights', 'Host: worse\r\n'))

    expect(receivedValues(plain.arrived[0], 'host')).toEqual([endpoint])
    expect(receivedValues(absolute.arrived[0], 'host')).toEqual([endpoint])
  })

  test('is that of the absolute-form, never the Host beside it, when it is the client’s', async () => {
    const { port, upstream } = await boot('client')

    const { arrived } = await roundTrip(port, upstream, get('http://one:81/market/insights', 'Host: two\r\n'))

    expect(receivedValues(arrived[0], 'host')).toEqual(['one:81'])
    expect(receivedValues(arrived[0], 'x-forwarded-host')).toEqual(['one:81'])
    expect(arrived[0]?.url).toBe('/market/insights')
  })

  test('is one, and no field can add another', async () => {
    const { port, upstream } = await boot('client')
    const forged = 'X-Forwarded-Host: evil\r\nX_Forwarded_Host: evil\r\nForwarded: host=evil\r\nConnection: host\r\n'

    const { arrived } = await roundTrip(port, upstream, get('/market/insights', `Host: one\r\n${forged}`))

    expect(receivedValues(arrived[0], 'host')).toEqual(['one'])
    expect(receivedValues(arrived[0], 'x-forwarded-host')).toEqual(['one'])
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('evil')
  })
})

describe('is rejected and not forwarded:', () => {
  test.each([
    ['two Hosts', get('/market/insights', 'Host: one\r\nHost: two\r\n')],
    ['two Hosts that are the same', get('/market/insights', 'Host: one\r\nHost: one\r\n')],
    ['two Hosts beside an absolute-form', get('http://one/market/insights', 'Host: one\r\nHost: two\r\n')],
    ['two Hosts joined by a comma', get('/market/insights', 'Host: one, two\r\n')],
    ['userinfo that looks like the host', get('http://one@two/market/insights', 'Host: one\r\n')],
    ['userinfo in Host', get('/market/insights', 'Host: one@two\r\n')],
    ['a backslash that some take for a slash', get('http://one\\@two/market/insights', 'Host: one\r\n')],
    ['a path in Host', get('/market/insights', 'Host: one/two\r\n')],
    ['a space before the colon of Host', get('/market/insights', 'Host : one\r\n')],
    ['a folded Host', get('/market/insights', 'Host: one\r\n two\r\n')],
    ['no Host beside an absolute-form', get('http://one/market/insights', '')],
    ['an invalid Host beside a valid absolute-form', get('http://one/market/insights', 'Host: a b\r\n')],
  ])('%s', async (_, bytes) => {
    const { port, upstream } = await boot('client')

    const { response, arrived } = await roundTrip(port, upstream, bytes)

    expect(findProblemFault(response, 400)).toBeNull()
    expect(arrived).toEqual([])
  })
})
