/** An edit of the file reaches HTTP/2 connections that are open, from their next request on. */
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { dialHttp2, listenHttp2, missing, requestHttp2 } from '../../../helpers/http2.ts'
import { fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'

const insights = { ':path': '/market/insights' }
const manyFields = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, 'a']))

describe.skipIf(missing !== null)('over HTTP/2', () => {
  const gateway = liveGatewayForAll(() => ({ listen: listenHttp2() }))
  const reload = async (listen: object): Promise<void> => {
    gateway.live.edit({ upstream: gateway.upstream, listen: { ...listenHttp2(), ...listen } })
    await fetchAdmin(`${gateway.live.admin}/reload`, 'POST')
  }
  /** Opens a connection that has served a request. */
  const connect = async () => {
    const session = dialHttp2(gateway.port)
    await requestHttp2(session, insights)
    return session
  }

  test('an edit of other keys leaves an HTTP/2 connection open', async () => {
    const session = await connect()

    await reload({ timeouts: { headers: '7s' } })
    const { status } = await requestHttp2(session, insights)

    expect([status, session.closed]).toEqual([200, false])
  })

  test('a connected HTTP/2 client gets GOAWAY when an edit allows more fields', async () => {
    const away = once(await connect(), 'goaway')
    await reload({ maxHeaderFields: 500 })
    await away

    const { status } = await requestHttp2(dialHttp2(gateway.port), { ...insights, ...manyFields })

    expect(status).toBe(200)
  })

  test('a shorter keepAlive ends a connection that was open before the edit', async () => {
    const session = await connect()

    await reload({ maxHeaderFields: 500, timeouts: { keepAlive: '50ms' } })
    const { status } = await requestHttp2(session, insights)
    await once(session, 'close')

    expect(status).toBe(200)
  })
})
