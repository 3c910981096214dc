/**
 * What a reload does to a gateway that serves, over real sockets. The other tests of this folder cover the reloader,
 * and test/config the watch of the file.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { isWholeResponse, rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream, openHttpUpstream, type Responder } from '../../../helpers/upstream.ts'

/** Responds with a name. */
const naming =
  (name: string): Responder =>
  (_, response) =>
    void response.end(name)

const upstreamName = async ({ url }: LiveGateway, path = '/market/insights'): Promise<string> => {
  const response = await fetch(url + path)
  return response.ok ? response.text() : String(response.status)
}

const status = async ({ admin }: LiveGateway) => (await fetchAdmin(`${admin}/status`)).body

/** Writes the file, and has it read. */
const reload = async (live: LiveGateway, settings: Settings | string) => {
  live.edit(settings)
  return fetchAdmin(`${live.admin}/reload`, 'POST')
}

describe('POST /reload', async () => {
  const [one, two] = [await openHttpUpstream(naming('one')), await openHttpUpstream(naming('two'))]
  afterAll(() => Promise.all([one.close(), two.close()]))
  // Those that reject an edit come first; each of the others says all that it needs.
  const live = await shareLiveGateway({ upstream: one.url })

  test('rejects a broken file with every problem and its place, and what ran runs on', async () => {
    const { status: code, body, headers } = await reload(live, `upstreams:\n  market: ${two.url}\n  risc: sandbox\n`)

    expect([code, headers.get('content-type')]).toEqual([422, 'application/problem+json'])
    expect(body).toMatchObject({ code: 'configuration-rejected' })
    expect(body.problems).toContainEqual(expect.objectContaining({ line: 3, column: 3, path: 'upstreams.risc' }))
    expect(await upstreamName(live)).toBe('one')
    expect(await status(live)).toMatchObject({
      config: { hash: body.hash, fileDiffers: true, lastRejection: { problems: body.problems } },
    })
    expect(live.lines).toContainEqual(expect.objectContaining({ level: 50, msg: 'configuration problem', line: 3 }))
  })

  test('rejects, whole, an edit that needs a restart, and says so', async () => {
    const { status: code, body } = await reload(live, { upstream: two.url, listen: { port: 1 } })

    expect(code).toBe(422)
    expect(body.problems).toEqual([
      expect.objectContaining({ path: 'listen.port', line: 1, message: expect.stringContaining('restart') }),
    ])
    expect(await upstreamName(live)).toBe('one')
  })

  test('puts an edit into effect before it responds, and reports what changed', async () => {
    const { status: code, body } = await reload(live, { upstream: one.url, upstreams: { market: two.url } })

    expect([await upstreamName(live), await upstreamName(live, '/leads/pipeline')]).toEqual(['two', 'one'])
    expect(code).toBe(200)
    expect(body).toMatchObject({
      ...{ result: 'applied', groups: ['market'] },
      changes: [{ group: 'market', path: 'upstreams.market.endpoints', from: [one.url], to: [two.url] }],
    })
    expect(await status(live)).toMatchObject({
      config: { hash: body.to, previous: body.from, loadedBy: 'request', fileDiffers: false, lastRejection: null },
      upstreams: { market: { endpoints: [{ url: two.url, weight: 100, sandbox: false, inFlight: 0 }] } },
    })
  })

  test('reroutes to the sandbox, which was not open before', async () => {
    await reload(live, { upstream: one.url, upstreams: { market: 'sandbox' } })

    const response = await fetch(`${live.url}/market/insights?full`)
    expect(response.headers.get('x-sandbox')).toBe('1')
    expect(await response.json()).toMatchObject({ operation: 'market.insights', query: 'full', bytes: 0 })
    expect(await status(live)).toMatchObject({ upstreams: { market: { endpoints: [{ sandbox: true }] } } })
  })

  test('reads a secret again, and shows it nowhere', async () => {
    const { url } = await httpUpstream(({ rawHeaders }, response) => {
      response.end(rawHeaders[rawHeaders.findIndex((name) => name.toLowerCase() === 'x-api-key') + 1])
    })
    const settings = { upstreams: { market: { endpoints: [url], request: { set: { 'X-Api-Key': 'file:secret' } } } } }
    writeFileSync(join(live.folder, 'secret'), 'swordfish')
    await reload(live, settings)
    const before = await upstreamName(live)

    writeFileSync(join(live.folder, 'secret'), 'mackerel')
    const { body } = await reload(live, settings)

    expect([before, await upstreamName(live)]).toEqual(['swordfish', 'mackerel'])
    expect(body).toMatchObject({ result: 'applied', groups: ['market'] })
    const shown = JSON.stringify([body, (await fetchAdmin(`${live.admin}/config`)).body, live.lines])
    expect(shown).not.toMatch(/swordfish|mackerel/)
  })

  test('keeps connections to endpoints that it does not change, and closes the others', async () => {
    const [kept, left] = [await httpUpstream(naming('kept')), await httpUpstream(naming('left'))]
    const defaults = { keepAlive: '1h' } // else none is kept where a reload takes longer than a second
    await reload(live, { upstream: kept.url, defaults, upstreams: { market: left.url } })
    await upstreamName(live)
    await upstreamName(live, '/leads/pipeline')

    await reload(live, { upstream: kept.url, defaults, upstreams: { market: two.url } })
    await upstreamName(live)
    await upstreamName(live, '/leads/pipeline')

    await expect.poll(() => left.connections()).toBe(0)
    expect(kept.accepted()).toBe(1)
  })

  test('gives the public listener the limits of the file, also on the connections that are open', async () => {
    const long = `/market/insights?${'q'.repeat(100)}`
    await reload(live, { upstream: one.url, listen: { maxTarget: '64B', maxHeaders: '1KiB' } })
    const client = await rawClient(Number(new URL(live.url).port))
    const send = async (length: number): Promise<string> => {
      const before = client.received().length
      client.send(`GET /none HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(length)}\r\n\r\n`)
      return (await client.until((text) => isWholeResponse(text.slice(before)))).slice(before + 9, before + 12)
    }
    const before = [await upstreamName(live, long), await send(900)]

    await reload(live, { upstream: one.url, listen: { maxTarget: '1KiB', maxHeaders: '64KiB', basePath: '/v1' } })

    expect(before).toEqual(['414', '404'])
    expect(await Promise.all([upstreamName(live, long), upstreamName(live, `/v1${long}`)])).toEqual(['404', 'one'])
    expect(await send(9000)).toBe('404')
  })

  test('gives the log the level of the file, and /status says so', async () => {
    const exchanges = () => live.lines.filter(({ msg }) => msg === 'exchange').length
    await reload(live, { log: { level: 'warn' } })
    const from = exchanges()
    await upstreamName(live)
    const before = (await status(live)).log // after a line of the request, had there been one
    const quiet = exchanges() - from

    await reload(live, { log: { level: 'info' } })
    await upstreamName(live)
    await expect.poll(exchanges).toBe(from + 1)

    expect([before, quiet]).toEqual([{ level: 'warn', dropped: 0 }, 0])
    expect((await status(live)).log).toEqual({ level: 'info', dropped: 0 })
  })
})

describe('POST /rollback', () => {
  test('with nothing before says that an edit which was rejected or held back never ran, and is tried no more', async () => {
    const live = await bootLiveGateway({ reload: { preflight: 'connect' } })
    const rollback = async () => (await fetchAdmin(`${live.admin}/rollback`, 'POST')).body.detail
    const { status: code, body } = await fetchAdmin(`${live.admin}/rollback`, 'POST')

    live.edit('upstreams: 1\n')
    await live.gateway.reload('request')
    const afterRejection = await rollback()
    live.edit({ upstream: `http://127.0.0.1:${await freePort()}` })
    await live.gateway.reload('request')
    const whileHeldBack = await rollback()

    expect([code, body.code, body.detail]).toEqual([
      409,
      'nothing-to-roll-back',
      'nothing to roll back: the running configuration is the first since the start',
    ])
    expect(afterRejection).toMatch(
      /since the start; the edit that was rejected at \S+Z never took effect, so there is nothing to undo/,
    )
    expect(whileHeldBack).toMatch(
      /since the start; the edit that was held back never took effect, and is not tried again: /,
    )
    expect((await status(live)).config).toMatchObject({ fileDiffers: true, nextTry: null })
  })

  test('is a conflict when the one before differs only in what is kept, and says so', async () => {
    const as = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })
    const [old, fresh] = ['a-token-of-an-operator', 'another-token-of-an-operator']
    const live = await bootLiveGateway({ admin: { token: old } })
    live.edit({ admin: { token: fresh } })
    await live.gateway.reload('request')

    const { status: code, body } = await fetchAdmin(`${live.admin}/rollback`, 'POST', as(fresh))

    expect([code, body.code]).toEqual([409, 'nothing-to-roll-back'])
    expect(body.detail).toBe(
      'nothing to roll back: the configuration before differs only in clients, certificates, keys and tokens, which a rollback does not change',
    )
  })
})
