/** Two workers, and one report of how a candidate answers. */
import { expect, onTestFinished, test } from 'vitest'
import type { getShadowReport } from '../../../../src/features/candidate/status/candidate-status.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

/** Sends requests on one connection: one worker serves them all. */
const sendAll = async (port: number, count: number): Promise<void> => {
  const client = await rawClient(port)
  for (let sent = 1; sent <= count; sent++) {
    client.send(`GET /market/insights HTTP/1.1\r\nHost: gateway\r\nX-Request-Id: r-${count}-${sent}\r\n\r\n`)
    await client.until(() => client.received().split('HTTP/1.1 200 ').length === sent + 1)
  }
  client.close()
}

test('what each of two workers has compared is added up, also after one has ended', { timeout: 120_000 }, async () => {
  const json = (body: string) =>
    httpUpstream((_, response) => response.writeHead(200, ['Content-Type', 'application/json']).end(body))
  const [primary, candidate] = [await json('{"grade":"A"}'), await json('{"grade":"B"}')]
  const gateway = await startWorkerGateway({
    workers: 2,
    upstreams: {
      market: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], shadow: { sample: '100%' } } },
    },
  })
  onTestFinished(() => gateway.stop())
  const comparison = async () => {
    const { comparisons } = JSON.parse((await gateway.ask('GET', '/shadow')).body) as Awaited<
      ReturnType<typeof getShadowReport>
    >
    return comparisons[0]
  }

  await sendAll(gateway.port, 3)
  await sendAll(gateway.port, 2)

  // The same two values are one pair in both: their digests have one key.
  const expected = {
    verdict: '5 compared, none equal; /grade differs in 5',
    recent: { compared: 5, equal: 0 },
    rows: [{ pointer: '/grade', count: 5, recent: 5, requestId: 'r-2-2', pairs: [{ count: 5 }] }],
  }
  await expect.poll(comparison, { timeout: 30_000 }).toMatchObject(expected)
  const since = (await comparison())?.since
  const [first] = (await gateway.status()).workers
  process.kill(first?.pid ?? 0, 'SIGKILL')
  await gateway.line(({ msg }) => msg === 'worker ended')
  await expect
    .poll(comparison, { timeout: 30_000 })
    .toMatchObject({ verdict: expected.verdict, since, rows: [{ count: 5, pairs: [{ count: 5 }] }] })
})
