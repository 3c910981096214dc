/** The expiry of an upstream's certificate, as an operator learns of it: by traffic, by probes, and by an edit. */
import { describe, expect } from 'vitest'
import { runCommand } from '../core/cli/scripted-admin.ts'
import { needCertificates } from '../helpers/certificates.ts'
import { withoutLateness } from '../helpers/findings.ts'
import { httpsUpstream } from '../helpers/https-upstream.ts'
import { bootLiveGateway, type LiveGateway } from '../helpers/live-gateway.ts'
import { drill, test } from '../helpers/speed.ts'

interface CertificateReport {
  readonly findings: readonly { readonly cause: string }[]
  readonly upstreams: { readonly market: { readonly endpoints: readonly { readonly certificate: object | null }[] } }
}

const { made, missing } = await needCertificates()

describe.skipIf(missing !== null)('the certificate of an endpoint that ends in ten days', () => {
  const tls = { verify: false, insecure: true }
  const tlsTo = (port: number, more = {}) => ({
    market: { endpoints: [`https://localhost:${port}`], tls, keepAlive: '0s', ...more },
  })
  const statusOf = async ({ admin }: LiveGateway) =>
    (await (await fetch(`${admin}/status`)).json()) as CertificateReport
  const certificateIn = async (live: LiveGateway) => (await statusOf(live)).upstreams.market.endpoints[0]?.certificate
  const findingsIn = async (live: LiveGateway): Promise<readonly string[]> =>
    withoutLateness((await statusOf(live)).findings).map(({ cause }) => cause)
  const ask = async ({ url }: LiveGateway) => (await fetch(`${url}/market/insights`)).status
  const healthCheck = { path: '/', interval: '1s' }
  const ending = { daysLeft: expect.toBeOneOf([9, 10]), endsSoon: true }

  test('a certificate that expires in ten days is reported after a request, in /status, as a metric and by the command, until its renewal', async () => {
    const upstream = await httpsUpstream(made.ending)
    const live = await bootLiveGateway({ upstreams: tlsTo(upstream.port) })
    const before = await certificateIn(live)

    expect(await ask(live)).toBe(200)

    expect(before).toBeNull()
    expect(await certificateIn(live)).toMatchObject(ending)
    const [cause] = await findingsIn(live)
    expect(cause).toMatch(/^the certificate of https:\/\/localhost:\d+ expires at 2/)
    const shown = await runCommand(['status', '--admin', live.admin])
    expect(shown.out).toMatch(/up, certificate EXPIRES 2\S+Z, (9|10) days left$/m)
    const metrics = await (await fetch(`${live.admin}/metrics`)).text()
    expect(metrics).toMatch(/^lender_gateway_endpoint_certificate_not_after_\w+\{group="market",\S+ \d+$/m)

    upstream.renew(made.renewed)
    expect(await ask(live)).toBe(200)

    expect(await certificateIn(live)).toMatchObject({ endsSoon: false })
    expect(await findingsIn(live)).toEqual([])
  })

  drill('is reported whichever of several workers has seen it', async () => {
    const upstream = await httpsUpstream(made.ending)
    const live = await bootLiveGateway({ workers: 2, upstreams: tlsTo(upstream.port) })

    expect(await ask(live)).toBe(200)

    expect(await certificateIn(live)).toMatchObject(ending)
  })

  test('a certificate that expires in ten days is reported after a probe alone', async () => {
    const upstream = await httpsUpstream(made.ending)
    const live = await bootLiveGateway({ upstreams: tlsTo(upstream.port, { healthCheck }) })

    await expect.poll(() => certificateIn(live)).toMatchObject(ending)
  })

  drill(
    'is reported of a candidate, as a warning and by its side, and no more once a probe has seen it renewed',
    async () => {
      const upstream = await httpsUpstream(made.ending)
      const { market: candidate } = tlsTo(upstream.port, { healthCheck })
      const live = await bootLiveGateway({ upstreams: { market: { endpoints: ['sandbox'], candidate } } })
      const metric =
        /^lender_gateway_endpoint_certificate_not_after_timestamp_seconds\{group="market",side="candidate"/m

      const expiring = expect.stringMatching(/^the certificate of https:\S+ expires at 2/)
      await expect.poll(() => findingsIn(live)).toEqual([expiring])
      expect(await (await fetch(`${live.admin}/metrics`)).text()).toMatch(metric)

      upstream.renew(made.renewed)

      await expect.poll(() => findingsIn(live)).toEqual([])
    },
  )

  test('a certificate that expires in ten days is reported when an edit adds its endpoint, before any request, and after later reloads', async () => {
    const upstream = await httpsUpstream(made.ending)
    const reload = { preflight: 'connect' as const }
    const live = await bootLiveGateway({ reload })
    live.edit({ reload, upstreams: tlsTo(upstream.port) })
    await live.gateway.reload('request')
    const renewed = await certificateIn(live)

    live.edit({ reload, upstreams: tlsTo(upstream.port), log: { level: 'warn' } })
    await live.gateway.reload('request')

    expect(upstream.requests()).toBe(0)
    expect(renewed).toMatchObject(ending)
    expect(await certificateIn(live)).toMatchObject(ending)
  })

  test('a certificate that expires in ten days is a warning of check --online', async () => {
    const upstream = await httpsUpstream(made.ending)
    const live = await bootLiveGateway({ upstreams: tlsTo(upstream.port) })

    const { code, out } = await runCommand(['check', '--online', live.file])
    const json = await runCommand(['check', '--online', live.file, '--format', 'json'])

    expect(code).toBe(0)
    expect(out).toMatch(/^warning: .*: the certificate of https:\/\/localhost:\d+ expires at 2.*$/m)
    expect(out).toContain('1 of 1 endpoints reached')
    const certificate = { endsSoon: true, isOver: false }
    expect(JSON.parse(json.out).endpoints).toMatchObject([{ reached: true, certificate }])
  })
})
