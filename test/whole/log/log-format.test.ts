/** Lines of the log in the formats of others, against the field lists of their schemas. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { findServiceName } from '../../../src/core/config/config-facts.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { logAccess } from '../../../src/core/log/access-log.ts'
import { serializeError } from '../../../src/core/log/log.ts'
import { createLineRewriter, fieldNameIn, fieldNames } from '../../../src/core/log/log-format.ts'
import { logShift } from '../../../src/features/candidate/primary.ts'
import type { ShiftState } from '../../../src/features/candidate/shift/shift-state.ts'
import { exchangeRecord } from '../../core/log/exchange-record.ts'
import { testConfig } from '../../helpers/gateway.ts'

type Foreign = 'ecs' | 'otel'
type Line = Readonly<Record<string, unknown>>

/** Opens a log of a format, and the lines that it has written. */
const openLogIn = (format: Foreign, more = {}) => {
  const config = testConfig({ log: { format }, ...more })
  const rewrite = createLineRewriter(config, findServiceName(config))
  const texts: string[] = []
  const options = { level: 'trace', base: null, serializers: { err: serializeError } }
  const log = pino(options, { write: (line) => texts.push(rewrite?.(line) ?? line) })
  return { log, texts, lines: () => texts.map((text) => JSON.parse(text) as Line) }
}

const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

// Of the package @elastic/ecs 8.11.5, which has ECS 8.11.0: the fields that are used, by their types.
const ecsTypes = {
  date: ['@timestamp'],
  keyword: [
    ...['client.address', 'client.user.id', 'ecs.version', 'error.code', 'error.type', 'event.dataset', 'event.reason'],
    ...['file.path', 'http.request.id', 'http.request.method', 'log.level', 'service.environment', 'service.name'],
    ...['service.node.name', 'trace.id', 'user.name'],
  ],
  match_only_text: ['error.message', 'message'],
  wildcard: ['error.stack_trace', 'url.path'],
  long: [
    ...['event.duration', 'http.request.body.bytes', 'http.response.body.bytes', 'http.response.status_code'],
    ...['process.exit_code', 'process.pid'],
  ],
}
const ecsFields: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(ecsTypes).flatMap(([type, names]) => names.map((name) => [name, type])),
)

describe('names', () => {
  const inTable = (format: Foreign): readonly string[] =>
    Object.values(fieldNames).flatMap((names) => names[format] ?? [])
  const isOwn = (name: string): boolean => name.startsWith('lender_gateway.')

  test('of ECS are in its field list', () => {
    const named = [...inTable('ecs'), 'ecs.version', 'event.dataset'].filter((name) => !isOwn(name))

    expect(named.filter((name) => !(name in ecsFields))).toEqual([])
    expect(named.length).toBeGreaterThan(20)
  })

  test('of OpenTelemetry are those of its conventions, and of its data model', () => {
    const known = new Set<unknown>(Object.values(conventions))
    const ofModel = ['Timestamp', 'SeverityText', 'Body', 'TraceId']

    const named = inTable('otel').filter((name) => !isOwn(name) && !ofModel.includes(name))

    expect(named.filter((name) => !known.has(name))).toEqual([])
    expect(named.length).toBeGreaterThan(12)
  })

  test('which neither has are our own, in snake case', () => {
    expect(fieldNameIn('ecs', 'failedAttempts')).toBe('lender_gateway.failed_attempts')
    expect(fieldNameIn('otel', 'err.code')).toBe('lender_gateway.err_code')
  })

  test('stand in docs/operations.md', () => {
    const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
    const [, section = ''] = page.split('## Other formats of the log\n')
    const rows = section.split('\n').filter((line) => line.startsWith('| `'))

    expect(rows).toEqual(
      Object.keys(fieldNames).map((name) => {
        const otel = name === 'durationNs' ? '' : ` \`${fieldNameIn('otel', name)}\``
        return `| \`${name}\` | \`${fieldNameIn('ecs', name)}\` |${otel} |`
      }),
    )
  })
})

test('pino’s lines stay as they are', () => {
  expect(createLineRewriter(testConfig({}))).toBeNull()
})

test('stdout has lines by the name of now, and those of workers and of the audit log as they come', async () => {
  const script = `
    import { applyLogConfig, getRawLogDestination, openLog } from '${new URL('../../../src/core/log/log.ts', import.meta.url)}'
    const named = (name) => ({ log: { level: 'info', buffer: 65_536, format: 'ecs' }, instance: { name, environment: null } })
    const { log, forwardLines, close } = await openLog(named('blue'))
    log.info('listening')
    applyLogConfig(log, named('green'))
    log.info('exchange')
    getRawLogDestination(log).write('{"seq":1}\\n')
    forwardLines(Buffer.from('{"message":"of a worker"}\\n'))
    await close()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])

  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  expect(lines.slice(0, 2)).toMatchObject([
    { message: 'listening', 'service.node.name': 'blue' },
    { message: 'exchange', 'service.node.name': 'green' },
  ])
  expect(lines.slice(2)).toEqual([{ seq: 1 }, { message: 'of a worker' }])
})

describe('a line of ECS', () => {
  test('of an exchange has its fields by their names there, the time, the level and the message first', () => {
    const { log, texts, lines } = openLogIn('ecs')
    logAccess(log, exchangeRecord({ trace: { traceId: 'ab'.repeat(16) } as never }))

    expect(texts[0]).toMatch(/^\{"@timestamp":"2[^"]*","log.level":"info","message":"exchange","ecs.version":"8/)
    expect(lines()).toEqual([
      {
        ...{ '@timestamp': expect.stringMatching(at), 'log.level': 'info', message: 'exchange' },
        ...{ 'ecs.version': '8.11.0', 'service.name': 'lender-gateway', 'event.dataset': 'lender_gateway.access' },
        ...{ 'event.duration': 12_000_000, 'trace.id': 'ab'.repeat(16), 'http.request.id': 'id' },
        ...{ 'client.address': '192.0.2.7', 'lender_gateway.operation': 'market.insights' },
        ...{ 'http.response.status_code': 200, 'http.request.body.bytes': 3, 'http.response.body.bytes': 5 },
        ...{ 'lender_gateway.endpoint': 'http://market:8080', 'lender_gateway.attempts': 1 },
        ...{ 'lender_gateway.gateway_ms': 3, 'lender_gateway.upstream_ms': 9 },
        'lender_gateway.config_hash': '0123456789ab',
      },
    ])
  })

  test('of a failed exchange says what failed, and has no field that is null', () => {
    const { log, lines } = openLogIn('ecs')
    const cause = new Error('connect "ECONNREFUSED"')
    const failure = new GatewayError('connect-failed', { reason: 'refused', cause })
    logAccess(log, exchangeRecord({ status: 502, failure, upstreamMs: null, endpoint: null }))

    const [line = {}] = lines()
    expect(Object.entries(line).filter(([name, value]) => !hasType(value, ecsFields[name]))).toEqual([])
    expect(line).toMatchObject({
      ...{ 'log.level': 'warn', 'error.type': 'connect-failed', 'error.message': 'connect "ECONNREFUSED"' },
      ...{ 'event.reason': 'refused', 'lender_gateway.fault': 'upstream', 'event.duration': 12_000_000 },
    })
    expect(Object.values(line)).not.toContain(null)
    expect(line).not.toHaveProperty(['lender_gateway.endpoint'])
  })

  test('has one type for one name: each change is a text, of an error only what may be shown', () => {
    const { log, lines } = openLogIn('ecs')
    const changes = [{ path: 'workers', from: 1, to: 'auto' }]
    log.info({ changes, groups: ['risk'] }, 'configuration applied')
    log.error({ err: Object.assign(new TypeError('no'), { code: 'E_NO', socket: 'secret' }) }, 'admin request failed')
    log.error({ err: 'thrown' }, 'cache failed')

    const stack = expect.stringMatching(/^TypeError: no\n/)
    expect(lines()).toMatchObject([
      { 'lender_gateway.changes': ['{"path":"workers","from":1,"to":"auto"}'], 'lender_gateway.groups': ['risk'] },
      { 'error.type': 'TypeError', 'error.message': 'no', 'error.code': 'E_NO', 'error.stack_trace': stack },
      { 'error.message': 'a string was thrown' },
    ])
    expect(JSON.stringify(lines())).not.toContain('secret')
  })

  test('has the id of a client by the name of ids, where `client` is one', () => {
    const { log, lines } = openLogIn('ecs')
    log.info({ operation: 'market.insights', client: 'bank-a', removed: 3 }, 'cache cleared')
    log.info({ client: '192.0.2.7' }, 'login')

    expect(lines()).toMatchObject([{ 'client.user.id': 'bank-a' }, { 'client.address': '192.0.2.7' }])
    expect(lines()[0]).not.toHaveProperty(['client.address'])
  })
})

describe.each(['ecs', 'otel'] as const)('lines of %s', (format) => {
  test('of a shift are no errors: `cause` is what the share comes from', () => {
    const { log, texts } = openLogIn(format)
    for (const news of ['step', 'taken back'] as const) logShift(log, () => {}, 'risk', news, shiftOf('operator'))

    expect(texts.join()).not.toContain('"error.')
    expect(texts[0]).toContain('"lender_gateway.shift_cause":"operator"')
    expect(texts[1]).toContain('risk')
  })

  test('say who gave an order as they say who has logged in, by the name or else by the address', () => {
    const { log, texts } = openLogIn(format)
    log.info({ operation: 'inventory.sync', state: 'reject', by: 'oncall-anna' }, 'operation override')
    log.info({ operation: 'inventory.sync', client: 'bank-a', removed: 3, by: '2001:db8::7' }, 'cache cleared')
    log.info({ client: '192.0.2.7', operator: 'oncall-anna' }, 'login')

    expect(texts[0]).toContain('"user.name":"oncall-anna"')
    expect(texts[1]).toContain('"client.address":"2001:db8::7"')
    expect(texts[2]).toContain('"user.name":"oncall-anna"')
    expect(texts.join()).not.toContain('lender_gateway.by')
  })

  test('have one type for the end of what an operator orders and of what the gateway does', () => {
    const { log, texts } = openLogIn(format)
    const until = '2026-11-21T12:24:21.295Z'
    log.info({ operation: 'inventory.sync', state: 'reject', until, by: 'oncall-anna' }, 'operation override')
    log.warn({ endpoint: 'http://risk:8080', forMs: 10_000, until: Date.parse(until) }, 'endpoint ejected')

    for (const text of texts) expect(text).toContain(`"lender_gateway.until":"${until}"`)
  })
})

/** A shift by which half of the clients are on the candidate. */
const shiftOf = (cause: ShiftState['cause']): ShiftState => ({
  ...{ digest: 'digest', share: 0.5, cause, isStopped: false, since: 0 },
  ...{ by: null, reason: null, until: null, afterwards: null, paused: null, step: null },
})

describe('a line of OpenTelemetry', () => {
  test('has the fields of the data model, and attributes by the conventions', () => {
    const { log, lines } = openLogIn('otel', {
      instance: { name: 'gateway-eu-1', environment: 'production' },
      tracing: { otlp: 'http://localhost:4318/v1/traces', serviceName: 'edge' },
    })
    logAccess(log, exchangeRecord({ trace: { traceId: 'ab'.repeat(16) } as never, upstreamMs: null, endpoint: null }))

    expect(lines()).toEqual([
      {
        ...{ Timestamp: expect.stringMatching(at), SeverityText: 'INFO', SeverityNumber: 9, Body: 'exchange' },
        TraceId: 'ab'.repeat(16),
        Resource: {
          ...{ 'service.name': 'edge', 'lender_gateway.instance_name': 'gateway-eu-1' },
          'deployment.environment.name': 'production',
        },
        Attributes: {
          ...{ 'lender_gateway.request_id': 'id', 'client.address': '192.0.2.7' },
          ...{ 'lender_gateway.operation': 'market.insights', 'http.response.status_code': 200 },
          ...{ 'lender_gateway.attempts': 1, 'lender_gateway.gateway_ms': 12 },
          ...{ 'http.request.body.size': 3, 'http.response.body.size': 5 },
          'lender_gateway.config_hash': '0123456789ab',
        },
      },
    ])
  })

  test('has each level by its name and its number, and may have no attribute', () => {
    const { log, lines } = openLogIn('otel')
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log[level]('said')

    const named = lines().map(({ SeverityText, SeverityNumber }) => `${SeverityText} ${SeverityNumber}`)
    expect(named).toEqual(['TRACE 1', 'DEBUG 5', 'INFO 9', 'WARN 13', 'ERROR 17', 'FATAL 21'])
    expect(lines()[0]).toMatchObject({ Body: 'said', Attributes: {} })
  })
})

/** Checks whether Elasticsearch takes a value for a field of a type; undefined: the field is our own. */
const hasType = (value: unknown, type: string | undefined): boolean =>
  type === undefined || typeof value === (/^(long|float)$/.test(type) ? 'number' : 'string')
