import { Duplex } from 'node:stream'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { Http1Connection } from '../../../src/downstream/http1/http1-connection.ts'
import { createListenerConfigGetter } from '../../../src/downstream/listener/listener-config.ts'
import type { GatewayError } from '../../../src/failures/errors.ts'
import { testConfig } from '../../helpers/gateway.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Opens a connection whose client takes nothing before `take` is called. Each request gets a long response. */
const openConnection = () => {
  const untaken: (() => void)[] = []
  const write = (_chunk: unknown, _encoding: unknown, callback: () => void): void => void untaken.push(callback)
  const duplex = new Duplex({ read: () => {}, write, writableHighWaterMark: 100 })
  const socket = Object.assign(duplex, {
    remoteAddress: '127.0.0.1',
    bytesRead: 1,
    destroySoon: () => duplex.destroy(),
  })
  const failures: (string | null)[] = []
  const config = testConfig({ listen: { timeouts: { headers: '1s' } } })
  new Http1Connection(socket as never, {
    getListenerConfig: createListenerConfigGetter({ value: { config } } as never),
    clientErrors: {
      onMalformed: (_connection: unknown, _socket: unknown, { reason }: GatewayError) => void failures.push(reason),
    } as never,
    onRequest: (_request, response) => {
      response.writeFields(200, '', ['Content-Length', '1000'])
      response.end(Buffer.alloc(1000))
    },
    isClosing: () => false,
  })
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return {
    failures,
    async receive(text: string) {
      socket.push(text)
      await settled()
    },
    async take() {
      for (let next = untaken.shift(); next !== undefined; next = untaken.shift()) {
        next()
        await settled()
      }
    },
  }
}

const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'

test('a client has its time for a head while it is read from, and not while its responses wait for it', async () => {
  const { receive, take, failures } = openConnection()

  await receive(`${get}GET /mar`)
  vi.advanceTimersByTime(5000)
  expect(failures).toEqual([])

  await take()
  vi.advanceTimersByTime(990)
  expect(failures).toEqual([])
  vi.advanceTimersByTime(20)
  expect(failures).toEqual(['head-too-slow'])
})
