/**
 * What a reload does to a gateway that serves, over real sockets. The other tests of this folder cover the reloader,
 * and test/config the watch of the file.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { groups } from '../../../../src/operations.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { isWholeResponse, rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

/** Opens an upstream that responds with its name. */
const namedUpstream = (name: string) => httpUpstream((_, response) => void response.end(name))

const upstreamName = async ({ url }: LiveGateway, path = '/market/insights'): Promise<string> => {
  const response = await fetch(url + path)
  return response.ok ? response.text() : String(response.status)
}

const status = async ({ admin }: LiveGateway) => (await fetchAdmin(`${admin}/status`)).body

describe('POST /reload', () => {
  test('puts an edit into effect before it responds, and reports what changed', async () => {
    const [one, two] = [await namedUpstream('one'), await namedUpstream('two')]
    const live = await bootLiveGateway({ upstream: one.url })
    const before = await upstreamName(live)

    live.edit({ upstream: one.url, upstreams: { market: two.url } })
    const { status: code, body } = await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect([before, await upstreamName(live), await upstreamName(live, '/leads/pipeline')]).toEqual([
      'one',
      'two',
      'one',
    ])
    expect(code).toBe(200)
    expect(body).toMatchObject({
      result: 'applied',
      groups: ['market'],
      changes: [{ group: 'market', path: 'upstreams.market.endpoints', from: [one.url], to: [two.url] }],
    })
    expect(await status(live)).toMatchObject({
      config: { hash: body.to, previous: body.from, loadedBy: 'request', fileDiffers: false, lastRefusal: null },
      upstreams: { market: { endpoints: [{ url: two.url, weight: 100, sandbox: false, inFlight: 0 }] } },
    })
  })

  test('rejects a broken file with every problem and its place, and what ran runs on', async () => {
    const [one, two] = [await namedUpstream('one'), await namedUpstream('two')]
    const live = await bootLiveGateway({ upstream: one.url })

    live.edit(`upstreams:\n  market: ${two.url}\n  risc: sandbox\n`)
    const { status: code, body, headers } = await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect(code).toBe(422)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({ code: 'configuration-refused' })
    expect(body.problems).toContainEqual(expect.objectContaining({ line: 3, column: 3, path: 'upstreams.risc' }))
    expect(await upstreamName(live)).toBe('one')
    expect(await status(live)).toMatchObject({
      config: { hash: body.hash, fileDiffers: true, lastRefusal: { problems: body.problems } },
    })
    expect(live.lines).toContainEqual(expect.objectContaining({ level: 50, msg: 'configuration problem', line: 3 }))
  })

  test('rejects, whole, an edit that needs a restart, and says so', async () => {
    const [one, two] = [await namedUpstream('one'), await namedUpstream('two')]
    const live = await bootLiveGateway({ upstream: one.url })

    live.edit({ upstream: two.url, listen: { port: 1 } })
    const { status: code, body } = await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect(code).toBe(422)
    expect(body.problems).toEqual([
      expect.objectContaining({ path: 'listen.port', line: 1, message: expect.stringContaining('restart') }),
    ])
    expect(await upstreamName(live)).toBe('one')
  })

  test('reads a secret again', async () => {
    const one = await httpUpstream(({ rawHeaders }, response) => {
      response.end(rawHeaders[rawHeaders.findIndex((name) => name.toLowerCase() === 'x-api-key') + 1])
    })
    const live = await bootLiveGateway({ upstream: one.url })
    const secret = join(live.folder, 'secret')
    writeFileSync(secret, 'first')
    const market = { endpoints: [one.url], request: { set: { 'X-Api-Key': 'file:secret' } } }
    live.edit({ upstream: one.url, upstreams: { market } })
    await fetchAdmin(`${live.admin}/reload`, 'POST')
    const before = await upstreamName(live)

    writeFileSync(secret, 'second')
    const { body } = await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect([before, await upstreamName(live)]).toEqual(['first', 'second'])
    expect(body).toMatchObject({ result: 'applied', groups: ['market'] })
    expect(JSON.stringify([body, (await fetchAdmin(`${live.admin}/config`)).body])).not.toMatch(/first|second/)
    expect(JSON.stringify(live.lines)).not.toMatch(/"first|second"/)
  })

  test('reroutes to the sandbox, which was not open before', async () => {
    const one = await namedUpstream('one')
    const live = await bootLiveGateway({ upstream: one.url })

    live.edit({ upstream: one.url, upstreams: { market: 'sandbox' } })
    await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect(JSON.parse(await upstreamName(live))).toMatchObject({ operation: 'market.insights' })
    expect(await status(live)).toMatchObject({ upstreams: { market: { endpoints: [{ sandbox: true }] } } })
  })
})

test('connections to endpoints that an edit does not change are kept, the others are closed', async () => {
  const [one, two, three] = [await namedUpstream('one'), await namedUpstream('two'), await namedUpstream('three')]
  const defaults = { keepAlive: '1h' } // else none is kept where a reload takes longer than a second
  const live = await bootLiveGateway({ upstream: one.url, defaults, upstreams: { market: two.url } })
  await upstreamName(live)
  await upstreamName(live, '/leads/pipeline')

  live.edit({ upstream: one.url, defaults, upstreams: { market: three.url } })
  await fetchAdmin(`${live.admin}/reload`, 'POST')
  await upstreamName(live)
  await upstreamName(live, '/leads/pipeline')

  await expect.poll(() => two.connections()).toBe(0)
  expect([one.accepted(), three.accepted()]).toEqual([1, 1])
})

test('limits of the public listener are those of the file now', async () => {
  const one = await namedUpstream('one')
  const live = await bootLiveGateway({ upstream: one.url, listen: { maxTarget: '64B' } })
  const long = `/market/insights?${'q'.repeat(100)}`
  const before = await upstreamName(live, long)

  live.edit({ upstream: one.url, listen: { maxTarget: '1KiB', basePath: '/v1' } })
  await fetchAdmin(`${live.admin}/reload`, 'POST')

  expect([before, await upstreamName(live, long), await upstreamName(live, `/v1${long}`)]).toEqual([
    '414',
    '404',
    'one',
  ])
})

test('the level of the log is that of the file now, and /status says so', async () => {
  const live = await bootLiveGateway({ log: { level: 'warn' } })
  await upstreamName(live)
  const before = (await status(live)).log // after a line of the request, had there been one
  const quiet = live.lines.filter(({ msg }) => msg === 'exchange')

  live.edit({ log: { level: 'info' } })
  await fetchAdmin(`${live.admin}/reload`, 'POST')
  await upstreamName(live)
  await live.line(({ msg }) => msg === 'exchange')

  expect([before, quiet]).toEqual([{ level: 'warn', dropped: 0 }, []])
  expect((await status(live)).log).toEqual({ level: 'info', dropped: 0 })
})

describe('POST /rollback', () => {
  test('restores the previous configuration, until the file changes', async () => {
    const [one, two, three] = [await namedUpstream('one'), await namedUpstream('two'), await namedUpstream('three')]
    const live = await bootLiveGateway({ upstream: one.url, reload: { poll: '50ms' } })
    live.edit({ upstream: two.url })
    await live.line(({ msg }) => msg === 'configuration applied')

    const { body } = await fetchAdmin(`${live.admin}/rollback`, 'POST')
    const back = await upstreamName(live)
    const { config } = await status(live)
    live.edit({ upstream: three.url })
    await live.line(({ from, to }) => from === body.to && to !== body.from)

    expect([back, await upstreamName(live)]).toEqual(['one', 'three'])
    expect(body).toMatchObject({ result: 'applied', groups: [...groups] })
    expect(config).toMatchObject({ loadedBy: 'rollback', fileDiffers: true })
  })

  test('with nothing before says that an edit which was refused or held back never ran, and is tried no more', async () => {
    const live = await bootLiveGateway({ reload: { preflight: 'connect' } })
    const rollback = async () => (await fetchAdmin(`${live.admin}/rollback`, 'POST')).body.detail
    const { status: code, body } = await fetchAdmin(`${live.admin}/rollback`, 'POST')

    live.edit('upstreams: 1\n')
    await live.gateway.reload('request')
    const afterRefusal = await rollback()
    live.edit({ upstream: `http://127.0.0.1:${await freePort()}` })
    await live.gateway.reload('request')
    const whileHeldBack = await rollback()

    expect([code, body.code, body.detail]).toEqual([
      409,
      'nothing-to-roll-back',
      'nothing to roll back: what runs is the first configuration since the start',
    ])
    expect(afterRefusal).toMatch(/since the start; the edit that was refused at \S+Z never ran, so nothing of it is/)
    expect(whileHeldBack).toMatch(/since the start; the edit that was held back never ran, and is tried no more: /)
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
      'nothing to roll back: the configuration before differs only in what a rollback leaves as it is: clients, certificates, keys and tokens',
    )
  })
})

test('other limits on heads hold for the connections that are open', async () => {
  const live = await bootLiveGateway({ listen: { maxHeaders: '1KiB', maxTarget: '64B' } })
  const client = await rawClient(Number(new URL(live.url).port))
  const send = async (length: number): Promise<string> => {
    const before = client.received().length
    client.send(`GET /none HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(length)}\r\n\r\n`)
    return (await client.until((text) => isWholeResponse(text.slice(before)))).slice(before + 9, before + 12)
  }

  const before = await send(900)
  live.edit({ listen: { maxHeaders: '64KiB' } })
  await fetchAdmin(`${live.admin}/reload`, 'POST')

  expect([before, await send(9000)]).toEqual(['404', '404'])
})
