/** Which listening sockets a process was started with. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { getFileDescriptor } from '../../../src/core/lib/file-descriptors.ts'
import { listenAt, noInheritedSockets, resolveBindTarget } from '../../../src/core/lib/net/bind-target.ts'
import { parseListenFds } from '../../../src/features/systemd/listen-fds.ts'

const pid = 4711
const systemd = { LISTEN_PID: String(pid), LISTEN_FDS: '2', LISTEN_FDNAMES: 'admin:public' }
const address = { host: '127.0.0.1', port: 8080 }

test('the sockets of systemd are told apart by their names', () => {
  expect(parseListenFds(systemd, pid)).toEqual({
    public: { fd: 4, source: 'public of LISTEN_FDNAMES' },
    admin: { fd: 3, source: 'admin of LISTEN_FDNAMES' },
  })
  expect(parseListenFds({ ...systemd, LISTEN_FDS: '1', LISTEN_FDNAMES: 'public' }, pid)).toMatchObject({ admin: null })
})

test('the sockets of another process are ignored, and there are none without the variables of systemd', () => {
  for (const variables of [{}, { ...systemd, LISTEN_PID: '1' }])
    expect(parseListenFds(variables, pid)).toEqual(noInheritedSockets)
})

test.each([
  [{ LISTEN_FDS: '0' }, /^LISTEN_FDS is '0', which is no number/],
  [{ LISTEN_FDS: '3' }, /^LISTEN_FDS says 3, and LISTEN_FDNAMES names 2: 'admin:public'$/],
  [{ LISTEN_FDS: undefined }, /^LISTEN_FDS is ''/],
  [{ LISTEN_FDNAMES: undefined }, /^LISTEN_FDNAMES is missing: FileDescriptorName= in each socket unit/],
  [{ LISTEN_FDNAMES: 'public:public' }, /^LISTEN_FDNAMES names public twice/],
  [{ LISTEN_FDNAMES: 'public:gateway.socket' }, /^LISTEN_FDNAMES names 'gateway.socket': FileDescriptorName= says/],
])('%j is rejected, with the reason', (wrong, message) => {
  expect(() => parseListenFds({ ...systemd, ...wrong }, pid)).toThrow(message)
})

test('without a socket the address is that of the file, and a socket of systemd must have the port of the file', () => {
  const { public: inherited } = parseListenFds(systemd, pid)

  expect(resolveBindTarget(null, address)).toEqual(address)
  expect(resolveBindTarget(inherited, address)).toMatchObject({ fd: 4, port: 8080 })
  expect(resolveBindTarget(inherited, { ...address, port: 0 })).toMatchObject({ fd: 4, port: null })
})

test('a file in place of a listening socket is rejected', async () => {
  const fd = openSync(fileURLToPath(import.meta.url), 'r')
  onTestFinished(() => closeSync(fd))

  const listening = listenAt(createServer(), { fd, source: 'public of LISTEN_FDNAMES', port: null })

  await expect(listening).rejects.toThrow(`descriptor ${fd} (public of LISTEN_FDNAMES) is no TCP socket that listens`)
})

/** Another process listens on a socket of this one. It reports why it cannot, or ends with its first connection. */
const listenElsewhere = (socket: Server | Socket, port: number) => {
  const script = `
    import { createServer } from 'node:net'
    import { listenAt } from '${new URL('../../../src/core/lib/net/bind-target.ts', import.meta.url)}'
    const server = createServer((socket) => server.close(() => {}) && socket.end('taken'))
    const target = { fd: 3, source: 'public of LISTEN_FDNAMES', port: ${port} }
    await listenAt(server, target).catch(({ message }) => console.log(message))`
  return spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit', getFileDescriptor(socket as Server) ?? -1],
  })
}

const openServer = async () => {
  const opener = createServer()
  onTestFinished(() => void opener.close())
  await once(opener.listen(0, '127.0.0.1'), 'listening')
  return { opener, port: (opener.address() as AddressInfo).port }
}

test('connections are accepted from a socket that another process has opened', async () => {
  const { opener, port } = await openServer()
  const child = listenElsewhere(opener, port)
  opener.close()

  const [taken] = await once(connect(port, '127.0.0.1').setEncoding('utf8'), 'data')

  expect([taken, await once(child, 'exit')]).toEqual(['taken', [0, null]])
})

// The kernel would let it listen, on any port.
test('a connected socket in place of a listening one is rejected', async () => {
  const { port } = await openServer()
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')

  const said = await text(listenElsewhere(socket, port).stdout as Readable)

  expect(said).toContain('descriptor 3 (public of LISTEN_FDNAMES) is no TCP socket that listens')
})
