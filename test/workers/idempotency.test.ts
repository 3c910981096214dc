/** Several processes remember what a key led to as one. */
import { expect, onTestFinished, test } from 'vitest'
import { httpUpstream } from '../helpers/upstream.ts'
import { call, fieldValues } from '../helpers/wire.ts'
import { startWorkerGateway } from './worker-gateway.ts'

const once = { 'financing.pre-approval': { idempotency: true } }

const post = async (port: number, key: string) => {
  const response = await call(port, {
    method: 'POST',
    target: '/financing/pre-approval',
    fields: ['Idempotency-Key', key],
    body: Buffer.from('abc'),
  })
  return [response.status, response.body.toString().slice(0, 4), fieldValues(response.fields, 'idempotency-replayed')]
}

test('a key is processed once by two workers, however many requests come with it', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const gateway = await startWorkerGateway({ upstream: upstream.url, workers: 2, operations: once })
  onTestFinished(() => gateway.stop())

  const answers = await Promise.all(Array.from({ length: 100 }, () => post(gateway.port, 'k-1')))
  const later = await post(gateway.port, 'k-1')

  expect(upstream.requests).toHaveLength(1)
  expect(answers.filter(([status, text]) => status !== 409 && text !== 'done')).toEqual([])
  expect(later).toEqual([200, 'done', ['true']])
})
