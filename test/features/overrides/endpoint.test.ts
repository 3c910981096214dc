import { describe, expect, test } from 'vitest'
import { jsonResponse, runCommand, scriptedAdmin } from '../../core/cli/scripted-admin.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const bootTwoEndpoints = async () => {
  const [one, two] = [await httpUpstream(), await httpUpstream()]
  const live = await bootLiveGateway({ upstreams: { market: { endpoints: [one.url, two.url] } } })
  const runEndpoint = (...args: readonly string[]) => runCommand(['endpoint', ...args, '--admin', live.admin])
  return { one, two, live, runEndpoint }
}

describe('endpoint', () => {
  test('drains one for a while, and puts it back', async () => {
    const { one, two, live, runEndpoint } = await bootTwoEndpoints()
    const calls = async () => {
      for (let i = 0; i < 10; i++) await (await fetch(`${live.url}/market/insights`)).text()
      return one.requests.length
    }

    const drained = await runEndpoint('drain', 'market', one.url, '--ttl', '30m')
    const during = await calls()
    const again = await runEndpoint('drain', 'market', one.url, '--format', 'json')
    const ready = await runEndpoint('ready', 'market', one.url)

    expect(drained).toMatchObject({ code: 0, err: '' })
    expect(drained.out).toMatch(/^http:\S+ of market takes no new requests until 2\d{3}-.*Z, then as the file says\n$/)
    const order = { group: 'market', url: one.url, reason: null, state: 'drain', until: expect.any(String) }
    expect(JSON.parse(again.out)).toEqual(order)
    expect([during, two.requests.length]).toEqual([0, 10])
    expect(ready).toEqual({ code: 0, err: '', out: `${one.url} of market takes requests as the file says\n` })
    expect(await calls()).toBeGreaterThan(0)
  })

  test('prints why a command is rejected', async () => {
    const { one, two, runEndpoint } = await bootTwoEndpoints()
    await runEndpoint('drain', 'market', one.url)

    const unknown = await runEndpoint('drain', 'market', 'http://nobody')
    const last = await runEndpoint('drain', 'market', two.url)

    expect([unknown.code, last.code]).toEqual([1, 1])
    expect(unknown.err).toContain(`url is expected to be one of ${one.url}, ${two.url}`)
    expect(last.err).toContain('no other endpoint of market takes work')
    expect(last.err).toContain(`make another one ready first (endpoint ready market ${one.url})`)
    expect(last.err).toContain('out of service (operation reject market.insights)')
  })

  test('ends with 2 when the response is not a gateway’s, though it is JSON', async () => {
    const admin = await scriptedAdmin(jsonResponse({ ok: true }))

    const { code, out, err } = await runCommand(['endpoint', 'drain', 'market', 'http://a', '--admin', admin.url])

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('responds in a form that this version does not know: text is expected at state')
  })

  test.each([
    ['an unknown group', ['drain', 'markets', 'http://a']],
    ['an unknown state', ['stop', 'market', 'http://a']],
  ])('%s is wrong usage, and no gateway is asked', async (_, args) => {
    const admin = await scriptedAdmin(jsonResponse({}))

    const { code, err } = await runCommand(['endpoint', ...args, '--admin', admin.url])

    expect(code).toBe(2)
    expect(err).toContain('Allowed choices are')
    expect(admin.received).toEqual([])
  })
})
