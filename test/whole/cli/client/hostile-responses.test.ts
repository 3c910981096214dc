/** Any program may listen on the port: each response is shown safely, or an error. */
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import * as yaml from 'yaml'
import { configShape, reloadResponseShape } from '../../../../src/core/admin/api/config-responses.ts'
import { statusShape } from '../../../../src/core/admin/api/status.ts'
import { renderStatus } from '../../../../src/core/admin/api/status-text.ts'
import { decodeResponse } from '../../../../src/core/cli/client/admin-client.ts'
import { CliError } from '../../../../src/core/cli/client/admin-target.ts'
import { renderChanges } from '../../../../src/core/cli/render/config-diff.ts'
import { formatJson } from '../../../../src/core/cli/render/output.ts'
import { diffReports } from '../../../../src/core/config/diff/diff-reports.ts'
import { formatYaml } from '../../../../src/core/config/yaml/yaml-document.ts'
import { formatTable } from '../../../../src/core/lib/text/table.ts'
import { overviewShape } from '../../../../src/features/overview/overview.ts'
import { renderFrame } from '../../../../src/features/top/frame.ts'
import { adminTarget, jsonResponse, runCommand, scriptedAdmin } from '../../../core/cli/scripted-admin.ts'
import { configProblem, healthyStatus, runStatus, toOverview } from '../../../core/cli/status-fixtures.ts'
import { describeTests, runs, test, testAndDrill } from '../../../helpers/speed.ts'
import { fixture } from '../../console/page/fixture.ts'

const since = '2026-11-21T02:04:11.250Z'
const at = Date.parse('2026-11-21T02:05:00Z')
const certificate = { notAfter: since, daysLeft: 3, endsSoon: true, seenAt: since }
const standing = { error: 'e', since, lastSuccess: since, where: 'f' }
const { status, operations } = fixture
const [first, ...others] = status.upstreams.market?.endpoints ?? []

/** A status without avoidable nulls. */
const full = {
  ...{ ...status, notReady: 'draining' },
  limits: {
    ...status.limits,
    rate: { ...status.limits.rate, where: 'w' },
    eventLoop: { ...status.limits.eventLoop, where: 'w', sheds: true },
  },
  config: { ...status.config, nextTry: since, lastRejection: { at: since, problems: [configProblem] } },
  workers: status.workers.slice(0, 1),
  upstreams: {
    risk: {
      ...status.upstreams.risk,
      breaker: { ...status.upstreams.risk?.breaker, outageSince: since },
      endpoints: [{ ...first, certificate, drainUntil: since, readyUntil: since }, ...others],
    },
  },
  tokens: {
    ...{ jwt: { source: 'url', keys: 1, ...standing }, introspection: standing },
    ...{ operators: { source: 'url', keys: 1, ...standing }, proofs: { remembered: 1, room: 2 } },
  },
}

const [counted] = operations
const operation = {
  ...counted,
  history: { ...counted?.history, perSecond: [1, 2], errorsPerSecond: [0, 0], p99Ms: [null, 1] },
}

const outcome = {
  ...{ result: 'applied', from: 'a', to: 'b', warnings: [configProblem] },
  changes: [{ part: 'a', group: 'risk', path: 'b', from: ['c'], to: [{ url: 'http://a', weight: 3 }] }],
}

const running = {
  hash: 'a',
  config: {
    upstreams: { risk: { endpoints: [{ url: 'http://a', weight: 3 }], balance: 'round-robin' } },
    operations: { 'market.insights': { deadline: '5s' } },
    listen: { tls: { key: '***' } },
  },
  digests: { 'listen.tls.key': 'b' },
}

const pathsIn = (value: unknown): readonly (readonly string[])[] => [
  [],
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, below]) => pathsIn(below).map((path) => [key, ...path]))
    : []),
]

/** Copies a value, with another one at a path. */
const altered = (value: unknown, [key, ...path]: readonly string[], other: unknown): unknown => {
  if (key === undefined) return other
  if (Array.isArray(value)) return value.map((each, i) => (`${i}` === key ? altered(each, path, other) : each))
  return Object.fromEntries(
    Object.entries(value as object).map(([name, each]) => [name, name === key ? altered(each, path, other) : each]),
  )
}

const evil = '\u001b]0;owned\u0007\u009b2J\r\n\u202e'
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
const controls = /[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/
const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown[]>(
    ...[evil, { [evil]: evil }, 1e308, -1e308, 9e15, '+275760-09-13T00:00:00Z', JSON.parse('{"__proto__": 7}')],
    ...[{ toString: 1, valueOf: 1 }, { url: { toString: 1, valueOf: 1 }, weight: {} }, [[]], [null], { '': {} }],
  ),
)

const expectHarmless = (sample: object, show: (body: unknown) => string): void => {
  const paths = pathsIn(sample)
  expect(show(sample)).not.toBe('')
  fc.assert(
    fc.property(fc.constantFrom(...paths), anything, (path, other) => {
      let out = ''
      try {
        out = show(JSON.parse(JSON.stringify(altered(sample, path, other)) ?? 'null'))
      } catch (error) {
        if (!(error instanceof CliError)) throw error
        expect(error.message).toContain('responds in a form that this version does not know: ')
        expect(error.message).not.toContain('\n')
        out = error.message
      }
      expect(out).not.toMatch(controls)
    }),
    { numRuns: runs(3000) },
  )
}

describe('an arbitrary response', () => {
  const target = adminTarget(9901)

  testAndDrill('of /status', () => {
    expectHarmless(full, (body) => renderStatus(decodeResponse(target, body, statusShape), at))
  })

  testAndDrill('of /overview', () => {
    expectHarmless(toOverview(full, [operation]), (body) => {
      const overview = decodeResponse(target, body, overviewShape)
      const caps = { columns: 100, rows: 40, color: false, unicode: true }
      return renderFrame({ url: 'http://gateway', overview, at, stale: null }, caps)
        .map(({ text }) => text)
        .join('\n')
    })
  })

  testAndDrill('of /reload', () => {
    const decode = (body: unknown) => decodeResponse(target, body, reloadResponseShape)
    expectHarmless(outcome, (body) => `changes\n${renderChanges(decode(body).changes)}`)
  })

  testAndDrill('of /config', () => {
    expectHarmless(running, (body) => {
      const report = decodeResponse(target, body, configShape)
      return `changes\n${renderChanges(diffReports(report, { hash: 'b', config: {}, digests: {} }))}`
    })
  })

  test.each([
    ['JSON', formatJson, (text: string) => JSON.parse(text)],
    ['YAML', formatYaml, (text: string) => yaml.parse(text)],
  ])('as %s says the same, in escapes', (_format, format, parse) => {
    const texts = [evil, '\u202e', 'a\u2066b', 'line\nwith \u202e', `${'word '.repeat(60)}\u009b`, '\x7f']
    const body = { ...Object.fromEntries(texts.map((text) => [text, text])), list: texts }

    const written = format(body)

    expect(written).not.toMatch(controls)
    expect(parse(written)).toEqual(body)
  })

  test('that has more rows than a call takes arguments is a table all the same', () => {
    const rows = Array.from({ length: 300_000 }, (_, i) => [`${i}`, 'b'])

    expect(formatTable(rows).slice(0, 10)).toBe('0       b\n')
  })

  test('that is nested without end is not a gateway’s', async () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    const body = JSON.stringify({ ...healthyStatus, news: 0 }).replace('"news":0', `"news":${deep}`)
    const admin = await scriptedAdmin((response) => void response.end(body))

    const { code, err } = await runCommand(['status', '--admin', admin.url, '--format', 'json'])

    const nested = 'responds with JSON that is nested too deeply: is that the admin listener of a lender gateway?'
    expect({ code, err }).toEqual({ code: 2, err: `lender-gateway: ${admin.url} ${nested}\n` })
  })
})

describeTests('a gateway of another version', () => {
  test('words its status itself', async () => {
    expect(await runStatus({ ...healthyStatus, version: '9.0.0' })).toEqual({
      code: 0,
      err: '',
      out: expect.stringContaining('\nversion  9.0.0, Node'),
    })
  })

  test('is shown as JSON whatever it says, and named as one', async () => {
    const { code, out, err } = await runStatus({ version: '9.0.0', news: 7 }, '--format', 'json')

    const versions = 'is version 9.0.0, this command is version 0.2.0: use the same version'
    expect({ code, err }).toEqual({ code: 0, err: `lender-gateway: http://gateway ${versions}\n` })
    expect(JSON.parse(out)).toEqual({ version: '9.0.0', news: 7 })
  })

  test.each([
    ['status', 'text is expected', { ...healthyStatus, version: '9.0.0' }],
    [
      'top',
      'a number is expected at status.retiring',
      toOverview({ ...healthyStatus, version: '9.0.0', retiring: null }),
    ],
  ])('is named as one in one line when it is not understood: %s', async (command, expected, body) => {
    const admin = await scriptedAdmin(jsonResponse(body))

    const { code, err } = await runCommand([command, '--admin', admin.url])

    expect(code).toBe(2)
    const versions = 'it is version 9.0.0, this command is version 0.2.0: use the same version'
    const understood = 'responds in a form that this version does not know'
    expect(err).toBe(`lender-gateway: ${admin.url} ${understood}: ${expected}; ${versions}\n`)
  })
})
