import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { configText, type Settings } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'
import { serve } from '../helpers/serve-process.ts'
import { httpUpstream, rawUpstream } from '../helpers/upstream.ts'

/** Serves in a process, and its workers, with 200 descriptors each. */
const serveWithFewFiles = async (settings: Settings) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configText({ ...settings, admin: { port: 0 } }))
  const gateway = serve(file, {}, ['sh', '-c', 'ulimit -n 200; exec "$0" "$@"'])
  const listening = (msg: string) => gateway.line((line) => line.msg === msg && typeof line.port === 'number')
  const [{ port }, { port: admin }] = await Promise.all([listening('listening'), listening('admin listening')])
  return { gateway, port: Number(port), admin: Number(admin) }
}

// The attack: connections cost a client nothing, and each takes one of the descriptors of the process. Without one
// left, no upstream is connected to, no probe gets its response, and no operator gets in.
test.skipIf(process.platform !== 'linux')(
  'clients that take all connections there are leave descriptors to upstreams and operators, and the log says how many',
  async () => {
    const upstream = await httpUpstream()
    const { gateway, port, admin } = await serveWithFewFiles({ upstream: upstream.url })

    const clients: RawClient[] = []
    for (let n = 0; n < 250; n++) clients.push(await rawClient(port))
    onTestFinished(() => {
      for (const client of clients) client.close()
    })
    const [first] = clients
    first?.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')
    const status = parseStatus((await first?.until(isWholeResponse)) ?? '')
    const ready = await fetch(`http://127.0.0.1:${admin}/ready`)

    expect([status, ready.status]).toEqual([200, 200])
    expect(await gateway.line(({ msg }) => msg === 'too few file descriptors for the configuration')).toMatchObject({
      level: 40,
      limit: 200,
      clients: 80,
      needed: 10_000 + 8 * 256 + 512,
    })
    expect(await gateway.line(({ msg }) => msg === 'connections turned away')).toMatchObject({
      setting: 'maxConnections',
    })
  },
)

// The attack: each of these connections has four requests under way, and as many connections to upstreams that do not
// respond. Without a descriptor left, a worker could not even say how much memory it has, and was replaced.
test.skipIf(process.platform !== 'linux').each([1, 2])(
  'requests that take all connections to upstreams there are leave descriptors to operators: workers: %i',
  async (workers) => {
    const upstream = await rawUpstream(() => {})
    const { gateway, port, admin } = await serveWithFewFiles({ upstream: upstream.url, workers })
    const paths = ['/market/insights', '/leads/pipeline', '/compliance/audit-trail', '/market/insights']
    const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join('')

    for (let n = 0; n < 60 * workers; n++) {
      const client = await rawClient(port)
      onTestFinished(() => client.close())
      client.send(requests)
    }
    await expect.poll(upstream.connections).toBe(70 * workers)
    await gateway.line(({ reason }) => reason === 'no-descriptors')
    const asked = async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${admin}${path}`)).status

    expect([await asked('/ready'), await asked('/metrics')]).toEqual([200, 200])
    expect(upstream.connections()).toBe(70 * workers)
  },
)
