/** What is remembered of a key whose process was killed. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

const once = { 'financing.pre-approval': { idempotency: true } }

const post = async (port: number, key: string) => {
  const response = await call(port, {
    method: 'POST',
    target: '/financing/pre-approval',
    fields: ['Idempotency-Key', key],
    body: Buffer.from('abc'),
  })
  return [response.status, JSON.parse(response.body.toString()).code]
}

test('a key whose worker is killed has an unknown outcome', async () => {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
  const upstream = await httpUpstream(() => onAsked())
  const gateway = await startWorkerGateway({ upstream: upstream.url, workers: 2, operations: once })
  onTestFinished(() => gateway.stop())

  const first = post(gateway.port, 'k-1').catch(() => 'cut off')
  await asked
  const { workers } = await gateway.status()
  for (const { pid } of workers) if (pid !== null) process.kill(pid, 'SIGKILL')
  expect(await first).toBe('cut off')

  await vi.waitFor(async () => {
    const [status, code] = await post(gateway.port, 'k-1')
    expect([status, code]).toEqual([409, 'outcome-unknown'])
  }, 60_000)
  expect(upstream.requests).toHaveLength(1)
})
