/** The rules that are shipped, with what they wait for shortened, and a gateway to which it all happens. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needProgram } from '../../../helpers/program.ts'
import { kill } from '../../../helpers/worker-gateway.ts'
import { ask, findPrograms, keepAsking, key, openWorld, type World } from './world.ts'

const prlimit = await needProgram('prlimit')
const programs = await findPrograms()

const patient = { timeout: 60_000, interval: 500 }

const nowhere = 'http://127.0.0.1:1'

describe.skipIf(programs.missing ?? prlimit.missing)('the rules fire', () => {
  let world: World
  const stops: (() => Promise<void>)[] = []

  beforeAll(async () => {
    world = await openWorld(programs)
  }, 60_000)

  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()))
    await world?.close()
  })

  /**
   * Waits until these have fired. A machine that is busy with other tests may be late, and that is what one of them
   * then says.
   */
  const fire = (...words: readonly string[]) => {
    const waiting = async () => {
      const fired = await world.prometheus.fired()
      return words.flatMap((each) => each.split(' ')).filter((alert) => !fired.includes(`LenderGateway${alert}`))
    }
    return expect.poll(waiting, patient).toEqual([])
  }

  test('for nothing while all is well', async () => {
    const { port } = world.gateway
    stops.push(
      keepAsking([
        () => ask(port, 'GET', '/market/insights'),
        () => ask(port, 'GET', '/leads/pipeline', `X-API-Key: ${key}\r\n`),
        () => ask(port, 'POST', '/risk/asset-valuation'),
      ]),
    )

    const rate = async () => (await world.prometheus.query('sum(rate(lender_gateway_requests_total[6s]))'))[0]?.value
    await expect.poll(async () => (await rate()) ?? 0).toBeGreaterThan(1)

    expect((await world.prometheus.fired()).filter((alert) => alert !== 'LenderGatewayEventLoopLate')).toEqual([])
  })

  test('for endpoints, groups, breakers, errors, slowness and limits', async () => {
    const { gateway, settings } = world
    const { port } = gateway
    const { upstream } = settings
    // The one of financing is alone, without a health check: its requests show it.
    const upstreams = { risk: { endpoints: [upstream, nowhere] }, financing: { endpoints: [nowhere] } }
    const edited = await world.edit({ ...settings, upstreams })
    stops.push(
      keepAsking([
        () => ask(port, 'POST', '/risk/asset-valuation'),
        () => ask(port, 'POST', '/financing/pre-approval', `X-API-Key: ${key}\r\n`),
        () => ask(port, 'GET', '/compliance/audit-trail?ill'),
        () => ask(port, 'GET', '/leads/pipeline', 'X-API-Key: key.wrong\r\n'),
      ]),
      ...Array.from({ length: 4 }, () => keepAsking([() => ask(port, 'GET', '/analysis/esg-grant?after=5600')])),
      ...Array.from({ length: 4 }, () => keepAsking([() => ask(port, 'POST', '/inventory/sync?after=700')], 100)),
    )

    expect(edited).toBe(200)
    await fire(
      'EndpointDown GroupDown BreakerOpen Errors ErrorBudgetFast',
      'ErrorBudgetSlow Slow Saturated Shedding RejectsCredentials',
    )
  }, 90_000)

  test('for certificates, keys, Redis, the audit log, the log, traces and an edit', async () => {
    const { gateway, settings, redis, brief } = world
    const { auth } = settings
    world.endCertificate()
    stops.push(keepAsking([() => ask(gateway.port, 'POST', '/valuation/score')]))
    const [jwt, mtls] = [
      { ...(auth?.jwt as object), jwks: `${nowhere}/jwks` },
      { from: 'client-cert', ca: brief },
    ]
    const tracing = { otlp: `${nowhere}/v1/traces`, sample: '100%' }
    const edited = await world.edit({ ...settings, tracing, auth: { ...auth, jwt, mtls } })
    // While the audit log fails, no request reaches an endpoint, and none shows its certificate.
    await expect.poll(world.metrics, patient).toMatch(/_endpoint_certificate_not_after_timestamp_seconds{/)
    await redis.kill()
    execFileSync(prlimit.path ?? '', ['--pid', String(gateway.pid), '--fsize=1'])
    gateway.stdout.pause()
    gateway.edit({ ...settings, upstream: 'no URL' })
    const rejected = (await gateway.ask('POST', '/reload')).status

    expect([edited, rejected]).toEqual([200, 422])
    await fire(
      'CannotProveClients CertificateExpires UpstreamCertificateExpires RedisLost AuditFailing',
      'SpansLost LogLinesDropped ConfigRejected FileDiffers',
    )
  }, 90_000)

  test('for an event loop that is late, and for a worker that ends', async () => {
    const [{ pid: first }] = JSON.parse((await world.gateway.ask('GET', '/status')).body).workers

    kill(first, 'SIGWINCH')
    await fire('EventLoopLate')
    kill(first, 'SIGKILL')

    await fire('WorkerRestarts')
  }, 90_000)

  test('for a gateway that is leaving, and for one that is gone; and for nothing else in all that time', async () => {
    // Just now: it may have been too busy for Prometheus before.
    const isDown = async (): Promise<boolean> =>
      (await world.prometheus.query('ALERTS{alertname="LenderGatewayDown", alertstate="firing"}')).length > 0

    world.gateway.signal('SIGTERM')
    await fire('NotReady')
    expect(await isDown()).toBe(false)
    world.gateway.signal('SIGKILL')

    await expect.poll(isDown, patient).toBe(true)
    expect(await world.prometheus.fired()).not.toContain('LenderGatewayAuditLinesLost')
  }, 90_000)
})
