import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHandshakeLog } from '../../../../src/core/downstream/tls/tls-acceptor.ts'
import { logInMemory } from '../../../helpers/gateway.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

test('handshakes that fail leave one line a second, which counts the others', () => {
  const { log, lines } = logInMemory()
  const logFailure = createHandshakeLog(log)

  for (let n = 0; n < 1000; n++) logFailure('192.0.2.1', 'ERR_SSL_NO_SHARED_CIPHER')
  logFailure('192.0.2.2', 'ECONNRESET')
  vi.advanceTimersByTime(1000)
  logFailure('192.0.2.3', 'timeout')

  expect(lines.map(({ client, reason, unlogged }) => [client, reason, unlogged])).toEqual([
    ['192.0.2.1', 'ERR_SSL_NO_SHARED_CIPHER', 0],
    ['192.0.2.3', 'timeout', 999],
  ])
})
