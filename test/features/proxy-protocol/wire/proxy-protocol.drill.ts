/** A real HAProxy and a real nginx pass TCP on: two workers know each client by its header. */
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { bootEditedGateway } from '../../../helpers/edited-gateway.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { configText } from '../../../helpers/gateway.ts'
import { startHaproxy } from '../../../helpers/haproxy.ts'
import { listenHttp2, missing, requestHttp2 } from '../../../helpers/http2.ts'
import { startNginx } from '../../../helpers/nginx.ts'
import { debianFile, needProgram, requireFound } from '../../../helpers/program.ts'
import { startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

const haproxy = await needProgram('haproxy')
const nginx = await needProgram('nginx')
const streamModule = requireFound(
  await debianFile('/usr/lib/nginx/modules/ngx_stream_module.so', 'libnginx-mod-stream'),
)
const deploying = readFileSync(new URL('../../../../docs/deploying.md', import.meta.url), 'utf8')

// HAProxy connects to the gateway from 127.0.0.1.
const proxyProtocol = { from: ['127.0.0.1'] }
const clients = ['127.0.0.5', '127.0.0.6', '127.0.0.7', '127.0.0.8']

/** Sends one request on a connection of its own from `client`. Returns the status. */
type Ask = (port: number, client: string) => Promise<number>

const dial = (port: number, client: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: client }, () => resolve(socket))
    socket.once('error', reject)
  })

const get = (port: number, socket: Socket): Promise<number> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ port, path: '/market/insights', createConnection: () => socket }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.on('error', reject).end()
  })

const dialTls = async (port: number, client: string, ALPNProtocols: string[]) => {
  const socket = connectTls({ socket: await dial(port, client), rejectUnauthorized: false, ALPNProtocols })
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve as () => void).once('error', reject))
  return socket
}

type Kind = readonly [name: string, secure: boolean, ask: Ask]

const kinds: readonly [Kind, ...Kind[]] = [
  ['HTTP/1', false, async (port, client) => get(port, await dial(port, client))],
  ['HTTP/1 over TLS', true, async (port, client) => get(port, await dialTls(port, client, ['http/1.1']))],
  [
    'HTTP/2',
    true,
    async (port, client) => {
      const socket = await dialTls(port, client, ['h2'])
      const session = connectHttp2('https://localhost', { createConnection: () => socket })
      const { status } = await requestHttp2(session, { ':path': '/market/insights' })
      session.close()
      return status
    },
  ],
]

describe.skipIf(haproxy.missing || missing)('behind HAProxy, clients are known by their own addresses', () => {
  let gateways: Readonly<Record<'plain' | 'tls', WorkerGateway>>
  beforeAll(async () => {
    const [plain, tls] = await Promise.all([
      startWorkerGateway({ listen: { proxyProtocol } }),
      startWorkerGateway({ listen: { ...listenHttp2(), proxyProtocol } }),
    ])
    gateways = { plain, tls }
  })
  afterAll(() => Promise.all([gateways.plain.stop(), gateways.tls.stop()]))

  /** Sends one request as each client through a port, and expects the gateway to have known them. */
  const expectKnown = async (gateway: WorkerGateway, port: number, ask: Ask, from = clients): Promise<void> => {
    const before = gateway.lines.length

    const statuses = await Promise.all(from.map((client) => ask(port, client)))

    expect(new Set(statuses)).toEqual(new Set([200]))
    const known = () => gateway.lines.slice(before).flatMap(({ msg, client }) => (msg === 'exchange' ? [client] : []))
    await expect.poll(() => known().toSorted()).toEqual(from.toSorted())
  }

  describe.each([
    'send-proxy check-send-proxy',
    'send-proxy-v2 check-send-proxy proxy-v2-options crc32c,unique-id,authority',
  ])('with %s', (options) => {
    test.each(kinds)('on %s', async (_, secure, ask) => {
      const gateway = gateways[secure ? 'tls' : 'plain']
      const server = `server a 127.0.0.1:${gateway.port} check inter 50ms ${options}`
      const balancer = await startHaproxy(haproxy.path ?? '', `backend gateways\n    ${server}\n`, 'tcp')
      onTestFinished(() => balancer.stop())
      // With an asterisk while the next check runs.
      const isUp = async () => (await balancer.row('a')).check_status?.replace('* ', '')
      await expect.poll(isUp).toBe('L4OK')

      await expectKnown(gateway, balancer.port, ask, [...clients, ...clients])

      expect(await isUp()).toBe('L4OK')
    })
  })

  test('and by the lines of docs/deploying.md', async () => {
    const documented = /^```haproxy\n(backend .*?)^```/ms.exec(deploying)?.[1] ?? ''
    const lines = documented
      .replace('10.0.0.11:8443', `127.0.0.1:${gateways.plain.port}`)
      .replace('10.0.0.12:8443', `127.0.0.1:${gateways.plain.port}`)
      .replace('check send', 'check inter 50ms send')
    const balancer = await startHaproxy(haproxy.path ?? '', lines, 'tcp')
    onTestFinished(() => balancer.stop())
    await expect.poll(async () => (await balancer.row('b')).check_status).toContain('L4OK')

    await expectKnown(gateways.plain, balancer.port, kinds[0][2], ['127.0.0.9'])
  })

  test.skipIf(nginx.missing || streamModule.missing).each(kinds)(
    'and behind nginx, by its lines there, on %s',
    async (_, secure, ask) => {
      const gateway = gateways[secure ? 'tls' : 'plain']
      const [documented = ''] = /(?<=^```nginx\n)stream .*?(?=^```)/ms.exec(deploying) ?? []
      const port = await freePort()
      const stream = documented
        .replaceAll(/10\.0\.0\.1[12]:8443/g, `127.0.0.1:${gateway.port}`)
        .replace('listen 443;', `listen 127.0.0.1:${port};`)
      const up = (_directory: string, own: number) =>
        `server { listen 127.0.0.1:${own}; location = /up { return 200 "nginx $pid"; } }`
      const balancer = await startNginx(nginx.path ?? '', up, `load_module ${streamModule.path};\n${stream}`)
      onTestFinished(() => balancer.stop())

      await expectKnown(gateway, port, ask)
    },
  )
})

// Half a header, then nothing: the memory of such connections is freed at their timeout.
test('memory does not grow with connections that never send their header', async () => {
  const edited = fileWrittenInPlace(onTestFinished)
  edited.write(configText({ listen: { proxyProtocol, timeouts: { headers: '100ms' } }, log: { access: false } }))
  const gateway = await bootEditedGateway(edited, onTestFinished)
  const wave = (connections: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = await dial(gateway.port, '127.0.0.1')
        socket.on('error', () => {}).resume() // a reset where half of the header had come at the timeout
        socket.write('PROXY TCP4 203.0.113.')
        await new Promise((resolve) => socket.once('close', resolve))
        if (socket.bytesRead > 0) throw new Error('something came back')
      }),
    )

  for (let n = 0; n < 3; n++) await wave(300)
  const before = await gateway.heap()
  for (let n = 0; n < 10; n++) await wave(300)
  const after = await gateway.heap()

  const grownKiB = Math.round((after.usedBytes - before.usedBytes) / 1024)
  console.log(`3,000 connections: the heap grew by ${grownKiB} KiB, from ${Math.round(before.usedBytes / 1024)} KiB`)
  expect(grownKiB).toBeLessThan(1024)
})
