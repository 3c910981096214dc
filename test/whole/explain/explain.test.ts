import { join } from 'node:path'
import { expect, test } from 'vitest'
import { globalSettingRows } from '../../../src/features/explain/global-settings.ts'
import { folderWith } from '../../core/config/helper.ts'
import { explain } from '../../features/explain/explaining.ts'
import { configText, type Settings, testConfig } from '../../helpers/gateway.ts'

const fileWith = (settings: Settings) => join(folderWith({ 'gateway.yaml': configText(settings) }), 'gateway.yaml')

test('settings of tokens are shown with their lines, and no secret', async () => {
  const introspection = { url: 'https://login.example/', clientId: 'gateway', clientSecret: 'planted-secret' }
  const file = fileWith({
    auth: { methods: ['introspection'], introspection },
    operations: { 'market.insights': { auth: { scopes: ['insights.read'], claims: { acr: 'high' } } } },
  })

  const { out } = await explain('GET', '/market/insights', '--config', file)

  expect(out).toMatch(/ auth {2,}auth: introspection with scope insights.read, acr: high .*gateway.yaml:1\n/)
  expect(out).toMatch(/auth\.introspection\.clientSecret +\*\*\* +file/)
  expect(out).not.toContain('planted')
})

test('edits of fields are in the JSON, of the candidate too, with their places and no secret', async () => {
  const market = {
    ...{ endpoints: ['http://127.0.0.1:1'], request: { set: { 'X-Api-Key': 'planted-secret' } } },
    candidate: { endpoints: ['http://127.0.0.1:2'], response: { set: { 'X-Side': 'next' } } },
  }
  const file = fileWith({ upstreams: { market } })

  const { out } = await explain('GET', '/market/insights', '--config', file, '--format', 'json')

  const { fields, candidate } = JSON.parse(out) as { fields: unknown; candidate: { fields: unknown } }
  const key = { what: 'request.set X-Api-Key', value: '***', level: 'upstream', line: 1 }
  expect(fields).toMatchObject([key])
  expect(candidate.fields).toMatchObject([
    key,
    { what: 'response.set X-Side', key: 'upstreams.market.candidate.response', value: 'next', level: 'candidate' },
  ])
  expect(out).not.toContain('planted')
})

test('a layer that all operations have is explained by its own key and line', async () => {
  const file = fileWith({ metrics: { clients: true } })

  const { out } = await explain('POST', '/valuation/score', '--config', file, '--format', 'json')

  const { layers } = JSON.parse(out) as { readonly layers: readonly object[] }
  const place = { level: 'file', line: 1 }
  expect(layers).toContainEqual(expect.objectContaining({ key: 'metrics', value: 'clients: true', ...place }))
  expect(layers).toContainEqual(expect.objectContaining({ name: 'cache-invalidation', key: 'cache' }))
})

test('a new key of the listener, or of the audit log, has a row', () => {
  const config = testConfig()

  const rows = globalSettingRows(config, { listen: { host: '::1', fresh: 5 }, audit: { key: '***', fresh: '1s' } })

  expect(rows.map(([key]) => key)).toEqual(expect.arrayContaining(['listen.fresh', 'audit.fresh']))
  expect(rows.map(([key]) => key)).not.toContain('listen.host')
})
