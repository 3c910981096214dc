/** Several processes remember what a key led to as one. */
import { expect, onTestFinished, test } from 'vitest'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

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

test('a key that one worker has used is shown and forgotten, whichever worker is asked', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const gateway = await startWorkerGateway({ upstream: upstream.url, workers: 2, operations: once })
  onTestFinished(() => gateway.stop())
  const key = { key: 'k-1', operation: 'financing.pre-approval', address: '127.0.0.1' }
  const ask = async (name: string, more: object = {}) =>
    JSON.parse((await gateway.ask('POST', `/idempotency/${name}`, JSON.stringify({ ...key, ...more }))).body)
  await post(gateway.port, 'k-1')

  const shown = await ask('show')
  const { idempotency } = JSON.parse((await gateway.ask('GET', '/status')).body)
  const forgotten = await ask('forget', { yes: true })
  const gone = await ask('show')
  await post(gateway.port, 'k-1')

  expect([shown.state, forgotten.state, gone.state]).toEqual(['done', 'done', 'absent'])
  expect(idempotency).toMatchObject({ store: 'memory', state: 'local', entries: 1, inProgress: 0, where: null })
  expect(upstream.requests).toHaveLength(2)
})
