import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { metricFamilies } from '../../../../src/core/admin/server.ts'
import { allOperations } from '../../../../src/operations.ts'
import { seriesOf, total } from '../../../core/admin/metrics/parse-exposition.ts'
import { lint } from '../../../core/admin/metrics/promtool.ts'
import { needProgram } from '../../../helpers/program.ts'
import { window } from '../../../helpers/prometheus.ts'
import { kill } from '../../../helpers/worker-gateway.ts'
import { expressions } from './dashboard.ts'
import { ask, findPrograms, keepAsking, key, openWorld, type World } from './world.ts'

/** A real Prometheus with the configuration and the rules that are shipped, and a gateway of two workers under load. */

const promtool = await needProgram('promtool')
const programs = await findPrograms()

describe.skipIf(programs.missing ?? promtool.missing)('under load', () => {
  let world: World
  let stop: () => Promise<void> = async () => {}

  beforeAll(async () => {
    world = await openWorld(programs)
  }, 60_000)

  afterAll(async () => {
    await stop()
    await world?.close()
  })

  /** Waits until Prometheus has an expression at a value. */
  const shows = (expression: string, value: number) =>
    expect.poll(async () => (await world.prometheus.query(expression)).map((point) => point.value)).toEqual([value])

  test('what Prometheus has is what was sent, by both workers together', async () => {
    const { port } = world.gateway
    const before = await world.metrics()
    const sent = { insights: 0, scores: 0, pipeline: 0, rejected: 0, strange: 0 }
    for (let n = 0; n < 12; n++) {
      if ((await ask(port, 'GET', `/market/insights?region=${n % 3}`)) === 200) sent.insights++
      if ((await ask(port, 'POST', '/valuation/score', '', 'ten bytes!')) === 200) sent.scores++
    }
    for (let n = 0; n < 4; n++) {
      if ((await ask(port, 'GET', '/leads/pipeline', `X-API-Key: ${key}\r\n`)) === 200) sent.pipeline++
      if ((await ask(port, 'GET', '/leads/pipeline', 'X-API-Key: key.wrong\r\n')) === 401) sent.rejected++
      if ((await ask(port, 'GET', '/nothing/of/the/nine')) === 404) sent.strange++
    }

    expect(sent).toEqual({ insights: 12, scores: 12, pipeline: 4, rejected: 4, strange: 4 })
    for (const [family, labels, value] of [
      ['requests_total', 'operation="market.insights", status_class="2xx", failure="none"', 12],
      ['requests_total', 'operation="valuation.score"', 12],
      ['requests_total', 'operation="leads.pipeline", failure="none"', 4],
      ['requests_total', 'operation="leads.pipeline", failure="unauthenticated"', 4],
      ['requests_total', 'operation="none", failure="not-found"', 4],
      ['requests_total', '', 36],
      ['request_duration_seconds_count', '', 36],
      ['request_duration_seconds_bucket', 'le="+Inf"', 36],
      ['request_body_bytes_total', '', 120],
      ['endpoint_requests_total', 'group="valuation"', 12],
      ['cache_requests_total', 'operation="market.insights"', 12],
      ['authentications_total', 'method="apiKey", result="accepted"', 4],
      ['authentications_total', 'method="apiKey", result="rejected"', 4],
      ['worker_serving', '', 2],
    ] as const)
      await shows(`sum(lender_gateway_${family}{${labels}})`, value)
    await shows('count(up == 1)', 1)
    // Whatever has its first one now was there before it.
    const known = seriesOf(before)
    const added = [...seriesOf(await world.metrics()).keys()].filter((series) => !known.has(series))
    const own = /^lender_gateway_endpoint_(latency|certificate)|event_loop_delay/
    expect(added.filter((series) => !own.test(series))).toEqual([])
  })

  test('every expression of the dashboard has data', async () => {
    const { port } = world.gateway
    let keys = 0
    const fields = () => `X-API-Key: ${key}\r\nIdempotency-Key: ${++keys}\r\n`
    stop = keepAsking(
      allOperations.map(
        ({ method, path }) =>
          () =>
            ask(port, method, path, fields()),
      ),
    )
    const isEmpty = async ({ title, expression }: { readonly title: string; readonly expression: string }) =>
      (await world.prometheus.query(expression)).some(({ value }) => !Number.isNaN(value)) ? [] : [title]
    const empty = async () => (await Promise.all(expressions(window).map(isEmpty))).flat()

    await expect.poll(empty, { timeout: 25_000, interval: 500 }).toEqual([])
  })

  test('promtool has nothing to say of all of it', async () => {
    expect(await lint(promtool.path ?? '', await world.metrics())).toBe('')
  })

  test('no counter goes back when a worker is killed, and its successor is counted', async () => {
    const before = await world.metrics()
    const [first] = (await world.gateway.status()).workers
    if (first?.pid == null) throw new Error('there is no first worker')

    kill(first.pid, 'SIGKILL')

    await shows('sum(lender_gateway_worker_restarts_total)', 1)
    await shows('count(lender_gateway_worker_serving == 1)', 2)
    await ask(world.gateway.port, 'POST', '/inventory/sync')
    await expect.poll(async () => total(await world.metrics(), sent)).toBeGreaterThan(total(before, sent) + 10)
    const after = seriesOf(await world.metrics())
    const counters = metricFamilies.filter(({ type }) => type !== 'gauge').map(({ name }) => name)
    const counted = [...seriesOf(before)].filter(([series]) => counters.some((name) => series.startsWith(name)))
    expect(counted.length).toBeGreaterThan(1000)
    expect(counted.filter(([series, value]) => (after.get(series) ?? -1) < value)).toEqual([])
    const begun = counters.flatMap((name) => (name.endsWith('_total') ? [name] : [`${name}_bucket`, `${name}_sum`]))
    const resets = begun.map((name) => world.prometheus.query(`resets(${name}[10m]) > 0`))
    expect((await Promise.all(resets)).flat()).toEqual([])
  })

  test('of all that, only the killed worker raised an alert', async () => {
    await expect.poll(() => world.prometheus.fired()).toContain('LenderGatewayWorkerRestarts')

    // A machine that is busy with other tests may well be late, and that is what it then says.
    const fired = (await world.prometheus.fired()).filter((alert) => alert !== 'LenderGatewayEventLoopLate')
    expect(fired).toEqual(['LenderGatewayWorkerRestarts'])
  })
})

const sent = 'lender_gateway_requests_total'
