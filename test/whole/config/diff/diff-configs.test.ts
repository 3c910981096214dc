import { expect, test } from 'vitest'
import { diffConfigs } from '../../../../src/core/config/diff/diff-reports.ts'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import { testConfig } from '../../../helpers/gateway.ts'

const sha256 = 'ab'.repeat(32)
const many = (edit: (nth: number) => object = () => ({}), count = 101) =>
  Array.from({ length: count }, (_, nth) => ({
    id: `bank-${nth}`,
    apiKeys: [{ id: `key-${nth}`, sha256 }],
    operations: 'all',
    ...edit(nth),
  }))
type Clients = ReturnType<typeof many>
const reportedConfig = (clients: Clients) => {
  const config = testConfig({ auth: { methods: ['apiKey'] }, clients })
  return { config, report: reportConfig(config) }
}
const changed = (from: Clients, to: Clients) =>
  diffConfigs(reportedConfig(from), reportedConfig(to)).map(({ part, path, from, to }) => [part, path, from, to])

test('clients that the report leaves out are named when they changed, came or went, and their values are masked', () => {
  const edited = many((nth) => (nth === 7 ? { disabled: true } : nth === 100 ? { id: 'new' } : {}))
  const changes = changed(many(), edited)

  expect(changes.slice(1)).toEqual([
    ['clients', 'clients.bank-7', '***', '***'],
    ['clients', 'clients.bank-100', '***', null],
    ['clients', 'clients.new', null, '***'],
  ])
  expect(JSON.stringify(changes)).not.toContain(sha256)
})

test('ten are named, and the others counted', () => {
  const changes = changed(
    many(),
    many(() => ({ disabled: true })),
  )

  expect(changes.slice(1, 11).map(([, path]) => path)).toContain('clients.bank-9')
  expect(changes.slice(11)).toEqual([['clients', 'clients.*', null, '91 more differ']])
})

test('without a change no client is named, and clients that the report shows are compared as before', () => {
  expect(changed(many(), many())).toEqual([])
  expect(
    changed(
      many(undefined, 2),
      many(() => ({ disabled: true }), 2),
    ).map(([, path]) => path),
  ).toEqual(['clients.bank-0.disabled', 'clients.bank-1.disabled'])
})
