import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'
import { configText } from '../../helpers/gateway.ts'
import { serve } from '../../helpers/serve-process.ts'
import { rawUpstream } from '../../helpers/upstream.ts'

test('a signal that comes while serve starts ends it at once, and the exit code is 0', async () => {
  const asked = Promise.withResolvers<void>()
  const silent = await rawUpstream((socket) => void socket.once('data', () => asked.resolve()))
  const idempotency = { redis: { url: `redis://127.0.0.1:${silent.port}` }, encryptionKeys: ['0'.repeat(64)] }
  const settings = { idempotency, operations: { 'financing.pre-approval': { idempotency: true } } }
  const served = serve(join(folderWith({ 'gateway.yaml': configText(settings) }), 'gateway.yaml'))
  await asked.promise

  served.signal('SIGTERM')

  expect(await served.ended).toEqual({ code: 0, signal: null })
})
