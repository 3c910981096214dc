/** Two workers, and one count of rate limits for both. */
import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { rawClient } from '../../../helpers/raw-client.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

const secret = 'a'.repeat(43)
const head = `GET /market/insights HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: a.${secret}\r\n\r\n`

/** Sends requests on one connection, one after another: one worker serves them all. */
const sendAll = async (port: number, count: number): Promise<readonly number[]> => {
  const client = await rawClient(port)
  const statuses = (): readonly number[] =>
    [...client.received().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  for (let sent = 1; sent <= count; sent++) {
    client.send(head)
    await client.until(() => statuses().length === sent)
  }
  client.close()
  return statuses()
}

test.each([
  ['an address', { limits: { address: { rate: '1/min', burst: 4 } } }],
  [
    'a client',
    {
      auth: { methods: ['apiKey'] },
      clients: [
        { id: 'a', operations: 'all', apiKeys: [{ id: 'a', sha256: hash('sha256', secret) }], rate: '1/min', burst: 4 },
      ],
    },
  ],
])('what one worker has served of %s, more than half of the limit, counts for the other', async (_, settings) => {
  const gateway = await startWorkerGateway({ workers: 2, ...settings }, [
    fileURLToPath(new URL('../../../features/workers/short-timeouts.ts', import.meta.url)),
  ])
  onTestFinished(() => gateway.stop())

  const [one, other] = [await sendAll(gateway.port, 3), await sendAll(gateway.port, 3)]

  expect([one, other]).toEqual([
    [200, 200, 200],
    [200, 429, 429],
  ])
})
