/** The level of the log is the file's, in every process that writes it, from the reload of an edit on. */
import { expect, onTestFinished, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { startWorkerGateway } from '../../helpers/worker-gateway.ts'

test('an edit of it takes effect with the reload, and /status says so', async () => {
  const live = await bootLiveGateway({ log: { level: 'warn' } })
  const sendRequest = async (): Promise<void> => {
    await (await fetch(`${live.url}/market/insights`)).text()
    await fetch(`${live.admin}/live`) // the line is written when the body has ended, which the client may see first
  }
  await sendRequest()
  const quiet = live.lines.filter(({ msg }) => msg === 'exchange')
  const before = (await fetchAdmin(`${live.admin}/status`)).body.log

  live.edit({ log: { level: 'info' } })
  const { body } = await fetchAdmin(`${live.admin}/reload`, 'POST')
  await sendRequest()

  expect(body).toMatchObject({ result: 'applied' })
  expect([before, quiet]).toEqual([{ level: 'warn', dropped: 0 }, []])
  expect((await fetchAdmin(`${live.admin}/status`)).body.log).toEqual({ level: 'info', dropped: 0 })
  expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'exchange' }))
})

test('all workers follow', async () => {
  const gateway = await startWorkerGateway({ workers: 2 })
  onTestFinished(() => gateway.stop())
  /** Makes both workers log a request: connections go round. */
  const requestBoth = async (id: string): Promise<void> => {
    for (const n of [1, 2]) {
      const fields = `Host: gateway\r\nX-Request-Id: ${id}-${n}\r\n`
      expect(parseStatus(await exchangeRaw(gateway.port, `GET /market/insights HTTP/1.1\r\n${fields}\r\n`))).toBe(200)
    }
  }

  gateway.edit({ log: { level: 'warn' } })
  await gateway.ask('POST', '/reload')
  await requestBoth('quiet')
  gateway.edit({ log: { level: 'info' } })
  await gateway.ask('POST', '/reload')
  await requestBoth('heard')
  // What a worker writes comes in the order in which it was written.
  for (const n of [1, 2]) await gateway.line(({ requestId }) => requestId === `heard-${n}`)

  const written = gateway.lines.filter(({ msg }) => msg === 'exchange').map(({ requestId }) => requestId)
  expect(written.sort()).toEqual(['heard-1', 'heard-2'])
})
