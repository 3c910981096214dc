/**
 * Attack: a Redis or an upstream whose errors hold C1 and bidirectional controls (Trojan Source), or a contract or
 * configuration of others that does. Operators print log lines, problems and responses of the admin listener in a
 * terminal.
 */
import { Writable } from 'node:stream'
import pino from 'pino'
import { expect, test } from 'vitest'
import { fileProblem, formatKeyPath, formatPlace, formatProblem } from '../../../src/core/config/problem.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { logAccess } from '../../../src/core/log/access-log.ts'
import { logOptions, openTerminalLog } from '../../../src/core/log/log.ts'
import { createLineRewriter } from '../../../src/core/log/log-format.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { scriptedRedis } from '../../helpers/scripted-redis.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { call } from '../../helpers/wire.ts'

const hostile = 'wrong\u009b2J\u202eegassem'
const escaped = 'wrong\\u009b2J\\u202eegassem'

test('an error of Redis is escaped in /status', async () => {
  const redis = await scriptedRedis(() => new Error(`ERR ${Buffer.from(hostile).toString('latin1')}`))
  const live = await bootLiveGateway({
    upstream: (await httpUpstream()).url,
    limits: { address: { rate: '10/s' }, redis: { url: `redis://127.0.0.1:${redis.port}` } },
  })
  await call(Number(new URL(live.url).port))

  const status = async (): Promise<string> => (await fetch(`${live.admin}/status`)).text()

  await expect.poll(status).toContain(escaped)
  expect(await status()).not.toContain('\u202e')
})

test.each(['pino', 'ecs', 'otel'])('the cause of a failed exchange is escaped in its line: log.format %s', (format) => {
  const lines: string[] = []
  const rewrite = createLineRewriter(testConfig({ log: { format } })) ?? ((line: string) => line)
  const log = pino(logOptions('info'), { write: (line: string) => lines.push(rewrite(line)) })
  const failure = new GatewayError('connect-failed', { cause: new Error(hostile) })
  const record = { method: 'GET', path: '/', totalMs: 1, firstByteMs: null, bytesIn: 0, bytesOut: 0, exchange: null }

  logAccess(log, { ...record, requestId: 'a', client: 'b', status: 502, configHash: 'c', failure })

  expect(lines).toEqual([expect.stringContaining(escaped)])
})

test('an error is escaped in a terminal, its message and its stack too', async () => {
  const shown: string[] = []
  const write = (chunk: Buffer, _: unknown, done: () => void): void => {
    shown.push(chunk.toString())
    done()
  }
  const log = pino(logOptions('info'), await openTerminalLog(new Writable({ write })))

  log.warn({ err: new Error(`${hostile}\x1b[2J`), quoted: `${hostile}\\\x1b[2J` }, `${hostile}\x1b[2J`)

  await expect.poll(() => shown.join('')).toMatch(/stack/)
  expect(shown.join('')).not.toMatch(/[^\n\x20-\x7e]/)
  expect(shown.join('')).toContain(`WARN: ${escaped}\\u001b[2J`)
})

test('what a problem of a configuration quotes is escaped', () => {
  const problem = fileProblem(hostile, hostile, hostile, JSON.stringify(hostile))

  const whole = { ...problem, path: formatKeyPath([hostile]), hint: hostile }
  const text = formatProblem(whole)

  expect(text.split('\n')).toHaveLength(4)
  expect(text + formatPlace(whole)).not.toMatch(/[\u009b\u202e]/)
})
