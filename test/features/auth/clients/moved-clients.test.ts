import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LoadResult } from '../../../../src/core/config/load/load.ts'
import { Reloader } from '../../../../src/core/runtime/reload/reloader.ts'
import { folderWith, parse, sandbox } from '../../../core/config/helper.ts'

test('clients that move to a file of their own are shown there, and no later edit is said to move them', async () => {
  const client = { id: 'bank-a', operations: 'all' }
  const file = join(folderWith({ 'clients.json': JSON.stringify([client]) }), 'gateway.yaml')
  const withClients = (clients: unknown, more = ''): LoadResult =>
    parse(`auth: { methods: [apiKey] }\nclients: ${JSON.stringify(clients)}\n${more}${sandbox}`, {}, file)
  const reads = [withClients('file:clients.json'), withClients('file:clients.json', 'log: { level: warn }\n')]
  const initial = withClients([client])
  if (!initial.ok) throw new Error(JSON.stringify(initial.problems))
  const reloader = new Reloader({
    file: 'gateway.yaml',
    initial,
    load: async () => reads.shift() as LoadResult,
    preflight: async () => [],
    apply: async () => {},
    onOutcome: () => {},
  })

  const moved = await reloader.reload('file')
  const shown = reloader.running.report.config
  const edited = await reloader.reload('file')

  expect(moved.result).toBe('unchanged')
  expect(shown).toMatchObject({ clients: 'file:clients.json' })
  expect(edited).toMatchObject({ result: 'applied', changes: [{ path: 'log.level' }] })
})
