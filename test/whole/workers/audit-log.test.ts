/** One audit log for all processes of a gateway, with the real command. */
import { renameSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { identifiedLoad } from '../../helpers/identified-load.ts'
import { kill, startWorkerGateway, type WorkerGateway } from '../../helpers/worker-gateway.ts'

// With AUDIT_LINES=100000 it is the large one, and prints its figures.
const total = Number(process.env.AUDIT_LINES ?? 3000)
const atOnce = 16
const timeout = 60_000 + total * 5

/** Opens an upstream that responds at once. */
const openUpstream = async (): Promise<string> => {
  const server = createServer((_, response) => response.end('ok'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const boot = async (audit: object) => {
  const settings = { workers: 2, upstream: await openUpstream(), log: { access: false }, shutdown: { wait: '0ms' } }
  const gateway = await startWorkerGateway({ ...settings, audit: { ...audit } })
  onTestFinished(() => gateway.stop())
  return gateway
}

/** Reads the checkpoints in the main log, as they are given to the command. */
const checkpoints = ({ lines }: WorkerGateway): readonly string[] =>
  lines.filter(({ msg }) => msg === 'audit checkpoint').map(({ count, hash }) => `${count}:${hash}`)

const whole = { code: 0, errors: '' }

test('under load, with a worker killed, files rotated by size and one moved away, it is whole', {
  timeout,
}, async () => {
  const log = createAuditLog(onTestFinished)
  const gateway = await boot({ ...log.settings, rotate: `${Math.ceil((total * 400) / 5 / 1024)}KiB` })
  const [worker] = (await gateway.status()).workers
  const at = (share: number): number => Math.floor(total * share)

  const { answered, failed } = await identifiedLoad(
    () => gateway.port,
    total,
    atOnce,
    (done) => {
      if (done === at(0.3)) kill(worker?.pid ?? 0, 'SIGKILL')
      if (done === at(0.6)) {
        renameSync(log.file, `${log.file}.1`) // as a tool that rotates logs does
        gateway.signal('SIGHUP')
      }
    },
  )
  gateway.signal('SIGTERM')
  await gateway.ended

  const verified = await log.verify(checkpoints(gateway))
  const recorded = new Map<string, number>()
  for (const { requestId } of log.lines())
    if (requestId !== undefined) recorded.set(requestId, (recorded.get(requestId) ?? 0) + 1)
  const missing = answered.filter((id) => !recorded.has(id))
  if (process.env.AUDIT_LINES !== undefined)
    console.log({
      lines: log.lines().length,
      files: log.files().length,
      failed: failed.length,
      missing: missing.length,
    })
  expect(verified).toEqual(whole)
  expect(failed.length).toBeLessThanOrEqual(atOnce)
  // What the worker had responded to in its last turn, and not handed over.
  expect(missing.length).toBeLessThanOrEqual(atOnce)
  expect([...recorded.values()].filter((times) => times > 1)).toEqual([])
  expect(log.files().length).toBeGreaterThanOrEqual(4)
})
