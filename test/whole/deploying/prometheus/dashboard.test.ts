import { expect, test } from 'vitest'
import { metricFamilies } from '../../../../src/core/admin/server.ts'
import { anchorsOf } from '../../../helpers/markdown.ts'
import { examples, read } from '../files.ts'
import { dashboard, expressions, marks, runbooks } from './dashboard.ts'

/** The dashboard that is shipped, as far as it can be judged without Grafana and Prometheus. */

const names = metricFamilies.map(({ name }) => name)
const mentioned = (text: string): string[] =>
  [...text.matchAll(/lender_gateway_[a-z0-9_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))

const ofPanels = expressions('1m').flatMap(({ expression }) => mentioned(expression))

test('it names only metrics that there are, also in its marks, and so do the rules', () => {
  const rules = read(`${examples}/prometheus/alerts.yml`)
  const ruled = mentioned(rules.replaceAll(/job:lender_gateway\w*:\w*|docs\/metrics\.md/g, ''))
  const marked = marks.flatMap(({ expression }) => mentioned(expression))

  expect([...ofPanels, ...ruled, ...marked].filter((name) => !names.includes(name))).toEqual([])
  expect(ofPanels.length).toBeGreaterThan(50)
  expect(marks.map(({ name }) => name)).toEqual(['Reloads', 'Reloads rejected or held back', 'Takebacks'])
})

test('it shows nearly every metric that there is', () => {
  expect(names.filter((name) => !ofPanels.includes(name))).toEqual(
    [
      'tls_handshakes_total', // asked before a version is switched off
      'endpoint_weight',
      // for as long as a candidate is tried
      ...['shadow_copies_total', 'shadow_repeats_total', 'shadow_copies_in_flight'],
      ...['shadow_responses_total', 'shadow_dropped_total'],
      ...['side_requests_total', 'candidate_fallbacks_total'], // there are none without a candidate
      ...['candidate_share', 'candidate_taken_back'], // an annotation
      ...['load_shedding_limit_seconds', 'token_keys', 'proofs_remembered', 'proofs_room'],
      ...['certificate_not_after_timestamp_seconds', 'process_start_time_seconds', 'process_uptime_seconds'],
      ...['process_heap_limit_bytes', 'process_external_memory_bytes'],
      ...['configurations_retiring', 'audit_waiting_bytes'],
    ].map((name) => `lender_gateway_${name}`),
  )
})

test('every panel asks the data source that was chosen, and none lies on another', () => {
  const { panels, templating } = dashboard
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.trunc(i / w)}`),
  )
  const variables = templating.list.map(({ name }) => name)
  const others = panels.filter(({ type, datasource }) => type !== 'row' && datasource?.uid !== '${' + 'datasource}')

  expect(variables).toEqual(['datasource', 'job', 'instance', 'operation', 'client', 'docs'])
  expect(others).toEqual([])
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true)
})

test('all jobs are those of gateways: a Prometheus has targets of others, which have `up` too', () => {
  const job = dashboard.templating.list.find(({ name }) => name === 'job')

  expect(job?.definition).toBe('label_values(lender_gateway_build_info, job)')
  expect(job).not.toHaveProperty('allValue')
})

test('it has the panels that people search for, and those that docs/operating.md names', () => {
  const titles = dashboard.panels.map(({ title }) => title)
  const named = read('docs/operating.md').matchAll(/"([^"\n]+)"(?= of the\s+dashboard| and at "| *\.)/g)
  const words = ['p50', 'p95', 'p99', '5xx ratio', 'Saturation', 'Requests/s', '429', 'by client', 'by endpoint']
  const ofDocs = [...named].map(([, title = '']) => title)

  expect(words.filter((word) => !titles.join('\n').includes(word))).toEqual([])
  expect(ofDocs.filter((title) => !titles.includes(title))).toEqual([])
  expect(ofDocs.length).toBeGreaterThan(3)
})

test('every link leads to a heading of the docs, wherever they are read', () => {
  const links = [...dashboard.links, ...dashboard.panels.flatMap((panel) => panel.links ?? [])].map(({ url }) => url)
  const leadsNowhere = links.filter((url) => {
    const [, page = '', anchor] = /^\$\{docs\}\/([a-z]+\.md)(?:#(.+))?$/.exec(url) ?? []
    return page === '' || (anchor !== undefined && !anchorsOf(read(`docs/${page}`)).has(anchor))
  })

  expect(leadsNowhere).toEqual([])
  expect(links.length).toBeGreaterThan(20)
  expect(dashboard.templating.list).toContainEqual(
    expect.objectContaining({ name: 'docs', type: 'constant', query: runbooks }),
  )
})
