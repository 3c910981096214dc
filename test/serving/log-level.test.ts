/** An order about the level of the log, where several processes write it and where one takes another's place. */
import { afterEach, expect, test } from 'vitest'
import { exchangeRaw, statusOf } from '../helpers/raw.ts'
import { type CrewProcess, kill, startCrew } from './crew-process.ts'

const ended: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0)) await end()
})

const start = async (workers: number): Promise<CrewProcess> => {
  const crew = await startCrew({ workers, shutdown: { wait: '0ms' } })
  ended.push(() => crew.stop())
  return crew
}

const order = async (crew: CrewProcess, level: string) => {
  const { status, body } = await crew.ask('POST', '/log-level', JSON.stringify({ level, ttl: '1h' }))
  expect(status).toBe(200)
  return JSON.parse(body) as { readonly level: string; readonly until: string }
}

/** Has both workers answer: connections go round. */
const askBoth = async ({ port }: CrewProcess, id: string): Promise<void> => {
  for (const n of [1, 2]) {
    const answer = await exchangeRaw(
      port,
      `GET /market/insights HTTP/1.1\r\nHost: gateway\r\nX-Request-Id: ${id}-${n}\r\n\r\n`,
    )
    expect(statusOf(answer)).toBe(200)
  }
}

test('all workers follow, those too that are started while it holds, and all go back', {
  timeout: 60_000,
}, async () => {
  const crew = await start(2)
  await order(crew, 'warn')
  await askBoth(crew, 'quiet')
  const { workers } = await crew.status()
  kill(workers[0]?.pid ?? 0, 'SIGKILL')
  await expect
    .poll(async () => (await crew.status()).workers.map(({ state, restarts }) => `${state} ${restarts}`).sort(), {
      timeout: 20_000,
    })
    .toEqual(['serving 0', 'serving 1'])
  await askBoth(crew, 'as-quiet')

  await order(crew, 'back')
  await askBoth(crew, 'heard')
  // What a worker writes comes in the order in which it was written.
  for (const n of [1, 2]) await crew.line(({ requestId }) => requestId === `heard-${n}`)

  const written = crew.lines.filter(({ msg }) => msg === 'exchange').map(({ requestId }) => requestId)
  expect(written.sort()).toEqual(['heard-1', 'heard-2'])
})

test('one that hangs keeps nobody from it, and follows when it comes round', { timeout: 60_000 }, async () => {
  const crew = await start(2)
  const pid = (await crew.status()).workers[0]?.pid ?? 0

  kill(pid, 'SIGSTOP')
  await order(crew, 'warn')
  kill(pid, 'SIGCONT')
  await expect
    .poll(async () => (await crew.status()).workers.map(({ state, restarts }) => `${state} ${restarts}`), {
      timeout: 20_000,
    })
    .toEqual(['serving 0', 'serving 0'])
  await askBoth(crew, 'quiet')
  await order(crew, 'back')
  await askBoth(crew, 'heard')
  for (const n of [1, 2]) await crew.line(({ requestId }) => requestId === `heard-${n}`)

  expect(crew.lines.filter(({ requestId }) => `${requestId}`.startsWith('quiet'))).toEqual([])
})

test('whoever takes over goes on with it, for the time that is left', { timeout: 60_000 }, async () => {
  const crew = await start(1)
  const given = await order(crew, 'warn')

  process.kill(crew.pid, 'SIGUSR2')
  await expect.poll(async () => (await crew.status()).pid, { timeout: 30_000 }).not.toBe(crew.pid)
  const { pid, log } = await crew.status()
  ended.unshift(async () => void kill(pid, 'SIGKILL'))
  await askBoth(crew, 'quiet')
  await order(crew, 'back')
  await askBoth(crew, 'heard')
  for (const n of [1, 2]) await crew.line(({ requestId }) => requestId === `heard-${n}`)

  expect(log).toMatchObject({ level: 'warn' })
  // Handed on as the time that is left, so it may shift by a millisecond.
  expect(Math.abs(Date.parse(log.until ?? '') - Date.parse(given.until))).toBeLessThan(100)
  expect(crew.lines.filter(({ requestId }) => `${requestId}`.startsWith('quiet'))).toEqual([])
})
