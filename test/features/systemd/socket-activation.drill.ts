/** The real command with listening sockets that another process has opened, as systemd does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { getFileDescriptor } from '../../../src/core/lib/file-descriptors.ts'
import { fileWrittenInPlace } from '../../helpers/editable-file.ts'
import { configText, type Settings } from '../../helpers/gateway.ts'
import { gatherText } from '../../helpers/gather-text.ts'
import { needProgram } from '../../helpers/program.ts'
import { openServer, steadyLoad } from '../../helpers/steady-load.ts'
import { openNotifySocket } from './notify-socket.ts'

const [systemdNotify, python] = [await needProgram('systemd-notify'), await needProgram('python3')]
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Opens a listening socket for other processes: no client connects before this process has closed its own. */
const openSocket = async (): Promise<{ readonly fd: number; readonly port: number; close(): Promise<void> }> => {
  const server: Server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { readonly port: number }
  return {
    fd: getFileDescriptor(server) ?? -1,
    port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

const fileWith = (settings: Settings): string => {
  const way = fileWrittenInPlace(onTestFinished)
  way.write(configText(settings))
  return way.file
}

/** Starts a shell with descriptors from 3 on, which becomes the command on `go`: only then does it know its pid. */
const prepare = (file: string, fds: readonly number[], env: Readonly<Record<string, string>>) => {
  const script = 'read go && [ "$go" = go ] && export LISTEN_PID=$$ && exec "$@" < /dev/null'
  const command = [process.execPath, '--disable-sigusr1', 'src/lender-gateway.js', 'serve', '--config', file]
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...command], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'pipe', ...fds],
    env: { ...process.env, ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [out, errors] = [gatherText(child.stdout), gatherText(child.stderr)]
  return {
    child,
    go: () => child.stdin?.end('go\n'),
    listens: () => expect.poll(out, { timeout: 100_000 }).toContain('"msg":"admin listening"'),
    ended: once(child, 'close').then(([code]) => ({ code, errors: errors() })),
  }
}

test.skipIf(systemdNotify.missing ?? python.missing)(
  'while a service of two workers is restarted as one process, clients wait in the socket that systemd keeps, and none fails',
  async () => {
    const socket = await openSocket()
    const settings: Settings = {
      upstream: await openServer(0, onTestFinished),
      listen: { port: socket.port },
      shutdown: { wait: '500ms' },
    }
    const file = fileWith({ workers: 2, ...settings })
    const { path, messages } = await openNotifySocket(python.path ?? '', 1000)
    const named = (name: string) => messages.filter((message) => name in message)
    const watched = { NOTIFY_SOCKET: path, WATCHDOG_USEC: '1000000' }
    const env = { ...watched, LISTEN_FDS: '1', LISTEN_FDNAMES: 'public' }
    const [first, second] = [prepare(file, [socket.fd], env), prepare(fileWith(settings), [socket.fd], env)]
    await socket.close()
    first.go()
    await first.listens()
    await expect.poll(() => named('WATCHDOG').length).toBeGreaterThan(1)
    const load = steadyLoad(socket.port, onTestFinished, { fresh: 2, mayEnd: true })

    first.child.kill('SIGTERM')
    const ended = await first.ended
    await expect.poll(() => named('STOPPING')).toEqual([{ STOPPING: '1', STATUS: 'Stops; requests in flight end' }])
    second.go()
    await second.listens()
    const { failed, requests } = await load.stop()

    const serves = new RegExp(`^Serves clients on 127\\.0\\.0\\.1:${socket.port}; configuration \\w+$`)
    expect(messages[0]).toMatchObject({ READY: '1', STATUS: expect.stringMatching(serves) })
    expect(ended).toEqual({ code: 0, errors: '' })
    expect(failed).toEqual([])
    expect(requests).toBeGreaterThan(0)
  },
)

test('a socket on another port than the file gets one log line, and exit code 1', async () => {
  const socket = await openSocket()
  const file = fileWith({ listen: { port: 1 } })
  const gateway = prepare(file, [socket.fd], { LISTEN_FDS: '1', LISTEN_FDNAMES: 'public' })
  await socket.close()
  gateway.go()

  expect(await gateway.ended).toEqual({
    code: 1,
    errors: `lender-gateway: descriptor 3 (public of LISTEN_FDNAMES) listens on port ${socket.port}; port 1 was expected\n`,
  })
})
