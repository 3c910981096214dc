import { expect, test } from 'vitest'
import { metricFamilies } from '../../../../src/core/admin/server.ts'
import { examples, read } from '../files.ts'
import { chosen, dashboard, expressions, marks, runbooks } from './dashboard.ts'

/** The dashboard that is shipped, as far as it can be judged without Grafana and Prometheus. */

const names = metricFamilies.map(({ name }) => name)
const mentioned = (text: string): string[] =>
  [...text.matchAll(/lender_gateway_[a-z0-9_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))

test('it names only metrics that there are, and so do the rules', () => {
  const used = expressions('1m').flatMap(({ expression }) => mentioned(expression))
  const ruled = mentioned(
    read(`${examples}/prometheus/alerts.yml`).replaceAll(/job:lender_gateway\w*:\w*|docs\/metrics\.md/g, ''),
  )

  expect([...used, ...ruled].filter((name) => !names.includes(name))).toEqual([])
  expect(used.length).toBeGreaterThan(50)
})

test('it shows nearly every metric that there is', () => {
  const used = new Set(expressions('1m').flatMap(({ expression }) => mentioned(expression)))

  expect(names.filter((name) => !used.has(name))).toEqual([
    'lender_gateway_tls_handshakes_total', // asked before a version is switched off
    'lender_gateway_endpoint_weight',
    // for as long as a candidate is tried
    'lender_gateway_shadow_copies_total',
    'lender_gateway_shadow_repeats_total',
    'lender_gateway_shadow_copies_in_flight',
    'lender_gateway_shadow_answers_total',
    'lender_gateway_shadow_dropped_total',
    'lender_gateway_side_requests_total', // there are none without a candidate
    'lender_gateway_candidate_fallbacks_total',
    'lender_gateway_candidate_share',
    'lender_gateway_candidate_taken_back', // an annotation
    'lender_gateway_load_shedding_limit_seconds',
    'lender_gateway_token_keys',
    'lender_gateway_proofs_remembered',
    'lender_gateway_proofs_room',
    'lender_gateway_certificate_not_after_timestamp_seconds',
    'lender_gateway_process_start_time_seconds',
    'lender_gateway_process_uptime_seconds',
    'lender_gateway_process_heap_limit_bytes',
    'lender_gateway_process_external_memory_bytes',
    'lender_gateway_configurations_retiring',
    'lender_gateway_audit_waiting_bytes',
  ])
})

test('every panel asks the data source that was chosen, and none lies on another', () => {
  const { panels, templating } = dashboard
  const ids = panels.map(({ id }) => id)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.trunc(i / w)}`),
  )

  expect(templating.list.map(({ name }) => name)).toEqual([
    'datasource',
    'job',
    'instance',
    'operation',
    'client',
    'docs',
  ])
  for (const { type, datasource } of panels)
    expect(type === 'row' || datasource?.uid === '${' + 'datasource}').toBe(true)
  expect(new Set(ids).size).toBe(ids.length)
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true)
})

test('all jobs are those of gateways: a Prometheus has targets of others, which have `up` too', () => {
  const job = dashboard.templating.list.find(({ name }) => name === 'job')

  expect(job?.definition).toBe('label_values(lender_gateway_build_info, job)')
  expect(job).not.toHaveProperty('allValue')
})

test('it has the panels that people search for', () => {
  const titles = dashboard.panels.map(({ title }) => title).join('\n')

  for (const word of ['p50', 'p95', 'p99', '5xx ratio', 'Saturation', 'Requests/s', '429', 'by client', 'by endpoint'])
    expect(titles).toContain(word)
})

test('docs/operating.md names panels that there are', () => {
  const named = [...read('docs/operating.md').matchAll(/"([^"\n]+)"(?= of the\s+dashboard| and at "| *\.)/g)].map(
    ([, title]) => title,
  )
  const titles = dashboard.panels.map(({ title }) => title)

  expect(named.filter((title) => !titles.includes(title ?? ''))).toEqual([])
  expect(named.length).toBeGreaterThan(3)
})

test('reloads and takebacks are marked, by metrics that there are', () => {
  expect(marks.map(({ name }) => name)).toEqual(['Reloads', 'Reloads refused or held back', 'Takebacks'])
  expect(marks.flatMap(({ expression }) => mentioned(expression)).filter((name) => !names.includes(name))).toEqual([])
})

test('every link leads to a heading of the docs, wherever they are read', () => {
  const links = [...dashboard.links, ...dashboard.panels.flatMap((panel) => panel.links ?? [])].map(({ url }) => url)
  const leadsNowhere = links.filter((url) => {
    const [, page = '', anchor] = /^\$\{docs\}\/([a-z]+\.md)(?:#(.+))?$/.exec(url) ?? []
    return page === '' || (anchor !== undefined && !headingsOf(page).includes(anchor))
  })

  expect(leadsNowhere).toEqual([])
  expect(links.length).toBeGreaterThan(20)
  expect(dashboard.templating.list.find(({ name }) => name === 'docs')).toMatchObject({
    type: 'constant',
    query: runbooks,
  })
})

const headingsOf = (page: string): readonly string[] =>
  [...read(`docs/${page}`).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(/\s/g, '-'),
  )

test('nothing is left in an expression that Grafana would have put there', () => {
  for (const { expression } of expressions('1m')) expect(expression).not.toMatch(/\$/)
  expect(chosen('$job', '1m')).toBe('lender-gateway')
})
