import { expect, test } from 'vitest'
import { metricFamilies } from '../../../../src/core/admin/server.ts'
import { rows } from '../../../helpers/markdown.ts'
import { at, documentsOf, examples, read, type Tree } from '../../deploying/files.ts'

/** docs/metrics.md against the list of metrics and the rules. */

const table = rows(read('docs/metrics.md')).map((cells) => cells.map((cell) => cell.replaceAll('`', '')))

test('every metric stands on the page, in its order, with its labels and meaning, and no other', () => {
  const listed = table.filter(([name]) => name?.startsWith('lender_gateway_'))

  expect(listed).toEqual(
    metricFamilies.map(({ name, labels, help }) => [labels.length === 0 ? name : `${name}{${labels.join(',')}}`, help]),
  )
})

test('the page names every histogram, so that all others are counters by their name, or gauges', () => {
  const [, named = ''] = /Histograms are ([^.]*)\./.exec(read('docs/metrics.md')) ?? []

  const histograms = metricFamilies.filter(({ type }) => type === 'histogram')
  expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => `lender_gateway_${name}`)).toEqual(
    histograms.map(({ name }) => name),
  )
})

test('every alert stands there, in its order', () => {
  const alerts = documentsOf(read(`${examples}/prometheus/alerts.yml`))
    .flatMap((document) => at(document, 'groups') as readonly Tree[])
    .flatMap((group) => at(group, 'rules') as readonly Tree[])
    .filter((rule) => 'alert' in rule)

  const listed = table.filter(([name]) => name?.startsWith('LenderGateway'))

  expect(listed.map(([name]) => name)).toEqual(alerts.map(({ alert }) => alert))
})

test('a name is of the alphabet and the conventions of Prometheus', () => {
  for (const { name, type, labels } of metricFamilies) {
    expect(name).toMatch(/^lender_gateway(_[a-z]+)+$/)
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter'])
    for (const label of labels) expect(label).toMatch(/^[a-z]+(_[a-z]+)*$/)
  }
})
