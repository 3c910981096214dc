/** Two workers, and one report of what breaks the contract. */
import { expect, onTestFinished, test } from 'vitest'
import { contractFile } from '../../helpers/contract.ts'
import { rawClient } from '../../helpers/raw-client.ts'
import { startWorkerGateway } from '../../helpers/worker-gateway.ts'

/** Sends requests without the parameter that the contract wants, on one connection: one worker serves them all. */
const sendAll = async (port: number, count: number): Promise<void> => {
  const client = await rawClient(port)
  for (let sent = 1; sent <= count; sent++) {
    client.send(`GET /market/insights HTTP/1.1\r\nHost: gateway\r\nX-Request-Id: r-${count}-${sent}\r\n\r\n`)
    await client.until(() => client.received().split('HTTP/1.1 400 ').length === sent + 1)
  }
  client.close()
}

test('what each of two workers has counted is added up, also after one of them has ended', async () => {
  const gateway = await startWorkerGateway({ workers: 2, contract: { file: contractFile(), request: 'enforce' } })
  onTestFinished(() => gateway.stop())
  const report = async () => JSON.parse((await gateway.ask('GET', '/contract')).body)
  const requests = async () => (await report()).contract.operations['market.insights'].request

  await sendAll(gateway.port, 3)
  await sendAll(gateway.port, 2)

  const expected = { mode: 'enforce', checked: 5, broken: 5, rejected: 5 }
  await expect.poll(requests, { timeout: 30_000 }).toMatchObject(expected)
  expect((await report()).rows).toMatchObject([
    { operation: 'market.insights', pointer: '/limit', rule: 'required', count: 5, requestId: 'r-2-2' },
  ])
  const [first] = (await gateway.status()).workers
  process.kill(first?.pid ?? 0, 'SIGKILL')
  await gateway.line(({ msg }) => msg === 'worker ended')
  await expect.poll(requests, { timeout: 30_000 }).toMatchObject(expected)
  expect((await report()).rows).toMatchObject([{ count: 5 }])
})
