/** Connections of HTTP/2 that are open while the file is edited: what it says of them holds from their next request. */
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { dialHttp2, listenHttp2, missing, readStreamResponse, requestHttp2 } from '../../../helpers/http2.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const bootHttp2Live = async () => {
  const upstream = await httpUpstream()
  const settings = (listen: object) => ({ upstream: upstream.url, listen: { ...listenHttp2(), ...listen } })
  const live = await bootLiveGateway(settings({}))
  const reload = async (listen: object): Promise<void> => {
    live.edit(settings(listen))
    await fetchAdmin(`${live.admin}/reload`, 'POST')
  }
  return { live, reload }
}

const dial = ({ gateway }: LiveGateway) => dialHttp2(gateway.address.port)

const insights = { ':path': '/market/insights' }
const manyFields = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, 'a']))

describe.skipIf(missing !== null)('over HTTP/2', () => {
  test('a shorter keepAlive ends a connection that was open before the edit', async () => {
    const { live, reload } = await bootHttp2Live()
    const session = dial(live)
    await requestHttp2(session, insights)

    await reload({ timeouts: { keepAlive: '50ms' } })
    const { status } = await requestHttp2(session, insights)
    await once(session, 'close')

    expect(status).toBe(200)
  })

  test('a client that was connected before is sent away when an edit allows more fields', async () => {
    const { live, reload } = await bootHttp2Live()
    const session = dial(live)
    await requestHttp2(session, insights)

    const away = once(session, 'goaway')
    await reload({ maxHeaderFields: 500 })
    await away
    const { status } = await requestHttp2(dial(live), { ...insights, ...manyFields })

    expect(status).toBe(200)
  })

  test('a request that is under way when an edit allows a longer target is served to its end', async () => {
    const { live, reload } = await bootHttp2Live()
    const session = dial(live)
    const upload = session.request({ ':method': 'POST', ':path': '/valuation/score' })
    const response = readStreamResponse(upload)
    upload.write('abc')

    const away = once(session, 'goaway')
    await reload({ maxTarget: '16KiB' })
    upload.end('def')

    expect(await response).toMatchObject({ status: 200, code: 0 })
    expect((await away)[0]).toBe(0)
  })

  test('an edit of something else leaves the connection open', async () => {
    const { live, reload } = await bootHttp2Live()
    const session = dial(live)
    await requestHttp2(session, insights)

    await reload({ timeouts: { headers: '7s' } })
    const { status } = await requestHttp2(session, insights)

    expect(status).toBe(200)
    expect(session.closed).toBe(false)
  })
})
