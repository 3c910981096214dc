/** The level of the log is the file's, in every process that writes it, from the reload of an edit on. */
import { expect, onTestFinished, test } from 'vitest'
import { askAdmin, bootLive } from '../helpers/live-gateway.ts'
import { exchangeRaw, statusOf } from '../helpers/raw.ts'
import { startCrew } from './crew-process.ts'

test('an edit of it takes effect with the reload, and /status says so', async () => {
  const live = await bootLive({ log: { level: 'warn' } })
  const ask = async (): Promise<void> => {
    await (await fetch(`${live.url}/market/insights`)).text()
    await fetch(`${live.admin}/live`) // the line is written when the body has ended, which the client may see first
  }
  await ask()
  const quiet = live.lines.filter(({ msg }) => msg === 'exchange')
  const before = (await askAdmin(`${live.admin}/status`)).body.log

  live.edit({ log: { level: 'info' } })
  const { body } = await askAdmin(`${live.admin}/reload`, 'POST')
  await ask()

  expect(body).toMatchObject({ result: 'applied' })
  expect([before, quiet]).toEqual([{ level: 'warn', dropped: 0 }, []])
  expect((await askAdmin(`${live.admin}/status`)).body.log).toEqual({ level: 'info', dropped: 0 })
  expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'exchange' }))
})

test('all workers follow', { timeout: 60_000 }, async () => {
  const crew = await startCrew({ workers: 2 })
  onTestFinished(() => crew.stop())
  /** Has both workers answer: connections go round. */
  const askBoth = async (id: string): Promise<void> => {
    for (const n of [1, 2]) {
      const fields = `Host: gateway\r\nX-Request-Id: ${id}-${n}\r\n`
      expect(statusOf(await exchangeRaw(crew.port, `GET /market/insights HTTP/1.1\r\n${fields}\r\n`))).toBe(200)
    }
  }

  crew.edit({ log: { level: 'warn' } })
  await crew.ask('POST', '/reload')
  await askBoth('quiet')
  crew.edit({ log: { level: 'info' } })
  await crew.ask('POST', '/reload')
  await askBoth('heard')
  // What a worker writes comes in the order in which it was written.
  for (const n of [1, 2]) await crew.line(({ requestId }) => requestId === `heard-${n}`)

  const written = crew.lines.filter(({ msg }) => msg === 'exchange').map(({ requestId }) => requestId)
  expect(written.sort()).toEqual(['heard-1', 'heard-2'])
})
