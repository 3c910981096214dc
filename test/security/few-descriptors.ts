import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { configText, type Settings } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { serve } from '../helpers/serve-process.ts'
import { rawUpstream } from '../helpers/upstream.ts'
import { bareGet } from '../helpers/wire.ts'

/** Serves in a process, and its workers, with 200 descriptors each. */
export const serveWithFewFiles = async (settings: Settings) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configText({ ...settings, admin: { port: 0 } }))
  const gateway = serve(file, {}, ['sh', '-c', 'ulimit -n 200; exec "$0" "$@"'])
  const listening = (msg: string) => gateway.line((line) => line.msg === msg && typeof line.port === 'number')
  const [{ port }, { port: admin }] = await Promise.all([listening('listening'), listening('admin listening')])
  return { gateway, port: Number(port), admin: Number(admin) }
}

/** Takes all connections to upstreams that this many processes have, and expects that operators get in. */
export const takeAllConnections = async (processes: number, settings: Settings = {}): Promise<void> => {
  const upstream = await rawUpstream(() => {})
  const { gateway, port, admin } = await serveWithFewFiles({ upstream: upstream.url, ...settings })
  const paths = ['/market/insights', '/leads/pipeline', '/compliance/audit-trail', '/market/insights']
  const requests = paths.map((path) => bareGet(path)).join('')

  for (let n = 0; n < 60 * processes; n++) {
    const client = await rawClient(port)
    onTestFinished(() => client.close())
    client.send(requests)
  }
  await expect.poll(upstream.connections).toBe(70 * processes)
  await gateway.line(({ reason }) => reason === 'no-descriptors')
  const asked = async (path: string): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${admin}${path}`)
    await response.text()
    return response.status
  }

  expect([await asked('/ready'), await asked('/metrics')]).toEqual([200, 200])
  expect(upstream.connections()).toBe(70 * processes)
}
