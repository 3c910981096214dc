import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { configFileWith, jsonResponse, runCommand, scriptedAdmin } from '../../core/cli/scripted-admin.ts'
import { endpointStatusWith, healthyStatus, upstreamStatusWith } from '../../core/cli/status-fixtures.ts'
import { freePort } from '../../helpers/free-port.ts'
import { configText } from '../../helpers/gateway.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { below, explain } from './live.ts'

/** Explains by what a gateway says of itself that is healthy but for this. */
const explainAs = async (more: object) => {
  const admin = await scriptedAdmin(jsonResponse({ ...healthyStatus, rejections: [], total: 0, ...more }))
  return explain(admin.url, configFileWith(configText()))
}

describe('explain --live', () => {
  test("explain --live counts no error for an upstream's own error response", async () => {
    const upstream = await httpUpstream((_, response) => void response.writeHead(503).end())
    const live = await bootLiveGateway({ upstreams: { market: upstream.url } })
    await (await fetch(`${live.url}/market/insights`)).text()

    const { out } = await explain(live.admin, live.file)

    expect(below(out)).toContain('\nno error of the gateway’s own in the last 15 minutes\n')
    expect(below(out)).toMatch(/ up, 1 of 1 requests failed since \S+Z, \d+s ago$/m)
  })

  test.each([
    ['draining', 'no new client is served just now: draining'],
    ['audit-unavailable', 'rejected with 503 audit-unavailable'],
  ])('a gateway that is not ready, %s, forwards nothing', async (notReady, headline) => {
    const { code, out } = await explainAs({ notReady })

    expect(code).toBe(1)
    expect(out).toMatch(new RegExp(`^GET /market/insights: ${headline}\n`))
  })

  test.each([
    ['reject', 'serve', 'forwarded'],
    ['serve', 'reject', 'rejected with 503 rejected-by-operator'],
  ])('a file that says %s is not what runs while a gateway runs %s', async (written, runs, headline) => {
    const settings = (state: string) => ({ operations: { 'market.insights': { state } } })
    const live = await bootLiveGateway(settings(runs))
    live.edit(settings(written))

    const { out } = await explain(live.admin, live.file)

    expect(out).toMatch(new RegExp(`^GET /market/insights: ${headline}\n`))
  })

  test('explain --live shows the running configuration, also beside a file with problems', async () => {
    const live = await bootLiveGateway()
    const { hash } = live.gateway.config
    const at = expect.stringMatching(/Z$/)
    const asJson = await explain(live.admin, live.file, '--format', 'json')
    writeFileSync(live.file, configText({ upstream: 'http://127.0.0.1:1' }))
    const other = await explain(live.admin, live.file)
    writeFileSync(live.file, 'bogus: 1')

    const text = await explain(live.admin, live.file)
    const json = await explain(live.admin, live.file, '--format', 'json')
    const offline = await runCommand(['explain', 'GET', '/market/insights', '--config', live.file])

    const upstream = { endpoints: [{ url: 'sandbox', state: 'up' }] }
    expect(JSON.parse(asJson.out)).toMatchObject({
      forwarded: true,
      live: { url: live.admin, at, hash, operation: null, upstream, findings: expect.any(Array), failures: [] },
    })
    expect(other.out).toContain(`it runs ${hash}, which is NOT WHAT THE FILE SAYS: diff shows it\n`)
    expect([text.code, json.code, offline.code]).toEqual([1, 1, 1])
    expect(text.out).toMatch(/bogus: unknown key/)
    expect(text.out).toContain(`it runs ${hash}, which is NOT WHAT THE FILE SAYS: check shows why\n`)
    expect(JSON.parse(json.out)).toMatchObject({ forwarded: null, problems: expect.any(Array), live: { hash, at } })
    expect(offline.err).toContain('nothing is explained while the file has problems')
  })

  test('the explanation of the file is printed although no gateway can be asked', async () => {
    const { code, out, err } = await explain(`http://127.0.0.1:${await freePort()}`, configFileWith(configText()))

    expect(code).toBe(2)
    expect(out).toMatch(/^GET \/market\/insights: forwarded\n/)
    expect(err).toMatch(/^lender-gateway: nothing listens at .*\n$/)
  })

  test('explain --live shows findings of the operation, its group and the whole gateway', async () => {
    const finding = (about: string, alsoAbout: readonly string[] = []) => ({
      ...{ severity: 'critical', about, alsoAbout, cause: `of ${about}` },
      ...{ details: [], since: null, command: null },
    })
    const findings = [
      ...['audit', 'listen.proxyProtocol', 'upstreams.leads', 'config', 'tracing'].map((about) => finding(about)),
      finding('upstreams.risk', ['upstreams.market']),
    ]
    const market = upstreamStatusWith(endpointStatusWith('http://a'))

    const { out } = await explainAs({ upstreams: { market }, findings })

    expect(out.match(/(?<=^CRITICAL {2}.*: of ).*$/gm)).toEqual(['audit', 'listen.proxyProtocol', 'upstreams.risk'])
  })

  test('a listener cannot control the terminal', async () => {
    const evil = '\u001b]0;owned\u0007\u202e'
    const rejection = {
      ...{ at: '2026-11-21T02:04:58.000Z', requestId: evil, client: evil, clientId: null, method: 'GET' },
      ...{ operation: 'market.insights', endpoint: evil, side: null, fellBack: false, status: 502 },
      ...{ kind: evil, reason: evil, traceId: null },
    }
    const said = { severity: evil, cause: evil, since: evil, command: evil }
    const finding = { ...said, about: 'upstreams.market', details: [], alsoAbout: [] }
    const market = upstreamStatusWith(endpointStatusWith(evil, { state: evil, since: evil, reason: evil }))

    const { code, out } = await explainAs({
      upstreams: { market },
      findings: [finding],
      rejections: [rejection],
      total: 1,
    })

    expect(code).toBe(0)
    expect(below(out)).toContain('502 ')
    expect(below(out)).toContain(String.raw`\x1b]0;owned\x07\u202e`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
    expect(out).not.toMatch(/[\u001b\u0007\u202e]/)
  })
})
