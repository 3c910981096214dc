import { METHODS } from 'node:http'
import { expect } from 'vitest'
import { allOperations } from '../../../src/operations.ts'
import { seriesOf, total } from '../../core/admin/metrics/parse-exposition.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { type PipelinedRequest, sendPipelined } from '../../helpers/pipelined-client.ts'
import { inDrills, testAndDrill } from '../../helpers/speed.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

// The attack: each request has a path, a method, a Host, an id or a key that has never been there, so that a counter
// labeled with any of them keeps a series for each, until the gateway, or Prometheus, has no memory left.
const requests = inDrills ? 20_000 : 1600
const perBatch = 50

/** The marker in all that they send. */
const mark = 'hostile'

const paths = allOperations.map(({ path }) => path)
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Returns a request whose method, path, Host, id and key no other one has. */
const hostile = (n: number): { readonly method: string; readonly bytes: string } => {
  const own = `${mark}-${n}`
  const path = paths[n % paths.length] as string
  const write = (method: string, target: string, ...fields: readonly string[]) => ({
    method,
    bytes: `${[`${method} ${target} HTTP/1.1`, ...fields].join('\r\n')}\r\n\r\n`,
  })
  const host = 'Host: gateway.test'
  const id = `X-Request-Id: ${own}`
  const kinds = [
    () => write('GET', `/${own}`, host),
    () => write('GET', `${path}/${own}?${own}`, host),
    () => write('POST', `${path};${own}`, host, 'Content-Length: 0'),
    () => write(methods[n % methods.length] as string, `/%2e%2e/${own}"\\%09`, host),
    () => write('DELETE', `${path}?${own}`, host, id),
    () => write('GET', path, `Host: ${own}.example`),
    () => write('GET', '/leads/pipeline', host, `X-API-Key: key.${own}`, id),
    // None that HTTP has, which ends the connection: not as many of these.
    () => (n % 800 === 7 ? write(`${mark.toUpperCase()}${n}`, path, host) : write('PUT', `/${own}/${own}`, host)),
  ]
  return (kinds[n % kinds.length] as (typeof kinds)[0])()
}

testAndDrill(
  'many thousand requests of which each is another leave as many series as there were',
  async () => {
    const { url: upstream } = await httpUpstream()
    const { gateway, admin } = await bootLiveGateway({
      upstream,
      listen: { hosts: ['gateway.test'] },
      log: { access: false },
      auth: { methods: ['apiKey'] },
      clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key', sha256: 'a'.repeat(64) }] }],
      metrics: { clients: true },
    })
    const metrics = async (): Promise<string> => (await fetch(`${admin}/metrics`)).text()
    const before = await metrics()

    const statuses = new Map<number, number>()
    const batches = Array.from({ length: requests / perBatch }, (_, batch) =>
      Array.from({ length: perBatch }, (_, i): PipelinedRequest => {
        const { method, bytes } = hostile(batch * perBatch + i)
        return {
          bytes,
          method,
          onResponse: (response) => statuses.set(response?.status ?? 0, (statuses.get(response?.status ?? 0) ?? 0) + 1),
        }
      }),
    )
    await sendPipelined(gateway.address.port, 4, batches)

    const responded = [...statuses].reduce((sum, [status, count]) => (status === 0 ? sum : sum + count), 0)
    expect([...statuses.keys()].sort()).toEqual([0, 400, 401, 404, 405, 421]) // 0: behind one that ended its connection
    expect(responded).toBeGreaterThan(requests * 0.9)
    await expect
      .poll(async () => total(await metrics(), 'lender_gateway_requests_total'))
      .toBeGreaterThanOrEqual(responded)
    const after = await metrics()
    // How late the loop is, is known after some seconds only.
    const measured = (text: string): string[] =>
      [...seriesOf(text).keys()].filter((series) => !series.includes('event_loop_delay'))
    expect(measured(after)).toEqual(measured(before))
    expect(after.toLowerCase()).not.toContain(mark)
  },
  120_000,
)
