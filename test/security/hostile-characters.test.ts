/**
 * Attack: a Redis or an upstream whose errors hold C1 and bidirectional controls (Trojan Source). Operators print log
 * lines and responses of the admin listener in a terminal.
 */
import pino from 'pino'
import { expect, test } from 'vitest'
import { GatewayError } from '../../src/failures/errors.ts'
import { logAccess } from '../../src/observe/access-log.ts'
import { logOptions } from '../../src/observe/log.ts'
import { bootLiveGateway } from '../helpers/live-gateway.ts'
import { scriptedRedis } from '../helpers/scripted-redis.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'

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

test('the cause of a failed exchange is escaped in its line', () => {
  const lines: string[] = []
  const log = pino(logOptions('info'), { write: (line: string) => lines.push(line) })
  const failure = new GatewayError('connect-failed', { cause: new Error(hostile) })
  const record = { method: 'GET', path: '/', totalMs: 1, firstByteMs: null, bytesIn: 0, bytesOut: 0, exchange: null }

  logAccess(log, { ...record, requestId: 'a', client: 'b', status: 502, configHash: 'c', failure })

  expect(lines).toEqual([expect.stringContaining(escaped)])
})
