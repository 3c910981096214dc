import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { getConnectionClaims } from '../../../src/core/downstream/listener/listener-config.ts'
import { createAcceptor } from '../../../src/features/proxy-protocol/listener.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { proxyV1, proxyV2, proxyV2Raw, tlv } from '../../helpers/proxy-protocol.ts'

/** Creates an acceptor that waits for headers from 10.0.0.1, and notes what it calls. */
const createProxyAcceptor = (countElsewhere?: () => Promise<boolean>) => {
  const { listen } = testConfig({ listen: { proxyProtocol: { from: ['10.0.0.1'] }, maxConnectionsPerAddress: 1 } })
  const [onConnection, onAwaited, onFailure] = [vi.fn(), vi.fn(), vi.fn()]
  const acceptor = createAcceptor({ listen, onConnection, onAwaited, onFailure, countElsewhere })
  return { acceptor, onConnection, onAwaited, onFailure }
}

const connection = (remoteAddress: string | undefined): Socket & Duplex =>
  Object.assign(new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }), { remoteAddress }) as never

test('a connection that was reset before it was accepted is closed: it may be a probe of a load balancer', () => {
  const { acceptor, onConnection, onAwaited } = createProxyAcceptor()
  const socket = connection(undefined)

  acceptor.accept(socket)

  expect(socket.destroyed).toBe(true)
  expect(onConnection).not.toHaveBeenCalled()
  expect(onAwaited).not.toHaveBeenCalled()
})

test('a connection whose header has come keeps no listener of the acceptor, and is not awaited', async () => {
  const { acceptor, onConnection } = createProxyAcceptor()
  const socket = connection('10.0.0.1')
  const before = ['readable', 'close', 'end', 'data'].map((name) => EventEmitter.listenerCount(socket, name))

  acceptor.accept(socket)
  const whileAwaited = acceptor.isAwaited(socket)
  socket.push(proxyV1('192.0.2.7'))
  await vi.waitFor(() => expect(onConnection).toHaveBeenCalledWith(socket))

  expect([whileAwaited, acceptor.isAwaited(socket)]).toEqual([true, false])
  expect(['readable', 'close', 'end', 'data'].map((name) => EventEmitter.listenerCount(socket, name))).toEqual(before)
})

test('a connection is awaited until another process has counted it, and closed at the limit', async () => {
  const counted = Promise.withResolvers<boolean>()
  const { acceptor, onConnection } = createProxyAcceptor(() => counted.promise)
  const socket = connection('10.0.0.1')

  acceptor.accept(socket)
  socket.push(proxyV1('192.0.2.7'))
  await new Promise(setImmediate)
  const whileCounted = acceptor.isAwaited(socket)
  counted.resolve(false)
  await vi.waitFor(() => expect(socket.destroyed).toBe(true))

  expect(whileCounted).toBe(true)
  expect(onConnection).not.toHaveBeenCalled()
})

test('a connection whose header has come is not closed when the timeout of headers is over', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { acceptor, onConnection, onFailure } = createProxyAcceptor()
  const [quick, slow] = [connection('10.0.0.1'), connection('10.0.0.1')]

  for (const socket of [quick, slow]) acceptor.accept(socket)
  quick.push(proxyV1('192.0.2.7'))
  await vi.waitFor(() => expect(onConnection).toHaveBeenCalledWith(quick))
  await vi.advanceTimersByTimeAsync(120_000)

  expect([quick.destroyed, slow.destroyed]).toEqual([false, true])
  expect(onFailure).toHaveBeenCalledTimes(1)
})

describe.each<[string, Buffer, boolean, boolean]>([
  ['a header that says nothing of TLS', proxyV1('192.0.2.7'), false, true],
  ['a header of no client', Buffer.from('PROXY UNKNOWN\r\n'), false, true],
  ['a header that says TLS', proxyV2('192.0.2.7', tlv(0x20, Buffer.from([1, 0, 0, 0, 0]))), true, true],
  ['a header that says no TLS', proxyV2('192.0.2.7', tlv(0x20, Buffer.from([0, 0, 0, 0, 0]))), false, false],
  ['a header of the load balancer itself', proxyV2Raw(0, 0, Buffer.alloc(0)), false, false],
])('%s', (_, header, whereFileIsSilent, whereFileSaysHttps) => {
  test.each([
    [{ from: ['10.0.0.1'] }, whereFileIsSilent],
    [{ from: ['10.0.0.1'], scheme: 'https' }, whereFileSaysHttps],
  ] as const)('means TLS with %j: %s', async (proxyProtocol, expected) => {
    const { acceptor, onConnection } = createProxyAcceptor()
    const socket = connection('10.0.0.1')

    acceptor.accept(socket)
    socket.push(header)
    await vi.waitFor(() => expect(onConnection).toHaveBeenCalledWith(socket))
    acceptor.applyConfig(testConfig({ listen: { proxyProtocol } }).listen)

    expect(getConnectionClaims(socket)?.isSecure()).toBe(expected)
  })
})
