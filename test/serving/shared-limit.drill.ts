/** Two workers, and one count of both. */
import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { exchangeRaw, statusOf } from '../helpers/raw.ts'
import { startCrew } from './crew-process.ts'

const request = 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n'

test('what one worker has served of a client, the other knows', async () => {
  const secret = 'a'.repeat(43)
  const bankA = { id: 'a', operations: 'all', apiKeys: [{ id: 'a', sha256: hash('sha256', secret) }] }
  const crew = await startCrew(
    { workers: 2, auth: { methods: ['apiKey'] }, clients: [{ ...bankA, rate: '1/min', burst: 20 }] },
    [fileURLToPath(new URL('impatient.ts', import.meta.url))],
  )
  onTestFinished(() => crew.stop())

  const shown = request.replace('Host:', `X-Api-Key: a.${secret}\r\nHost:`)
  const answers = await Promise.all(Array.from({ length: 50 }, () => exchangeRaw(crew.port, shown)))

  const statuses = answers.map(statusOf)
  expect(statuses.filter((status) => Number(status) === 200)).toHaveLength(20)
  expect(statuses.filter((status) => Number(status) === 429)).toHaveLength(30)
})

test('what one worker has served, the other knows', async () => {
  const limits = { address: { rate: '1/min', burst: 20 } }
  const crew = await startCrew({ workers: 2, limits }, [fileURLToPath(new URL('impatient.ts', import.meta.url))])
  onTestFinished(() => crew.stop())

  const answers = await Promise.all(Array.from({ length: 50 }, () => exchangeRaw(crew.port, request)))

  const statuses = answers.map(statusOf)
  expect(statuses.filter((status) => Number(status) === 200)).toHaveLength(20)
  expect(statuses.filter((status) => Number(status) === 429)).toHaveLength(30)
  expect(JSON.parse((await crew.ask('GET', '/status')).body).limits.rate).toMatchObject({ store: 'memory' })
})
