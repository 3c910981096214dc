import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { renderEffectiveConfig } from '../../../src/core/config/diff/report.ts'
import { findProblems, folderWith, parse, sandbox, validConfig } from '../../core/config/helper.ts'

const folder = folderWith({ token: 'Bearer planted-in-a-file\n' })
const at = join(folder, 'gateway.yaml')
const otlp = 'otlp: https://collector.example/v1/traces'

const read = (tracing: string) => validConfig(`tracing: ${tracing}\n${sandbox}`, {}, at).tracing
const warningsOf = (tracing: string) => {
  const result = parse(`tracing: ${tracing}\n${sandbox}`, {}, at)
  return result.ok ? result.warnings.map(({ path, message }) => `${path}: ${message}`) : null
}

test('it is off by default', () => {
  expect(validConfig(sandbox).tracing).toBeNull()
  expect(read('none')).toBeNull()
  expect(renderEffectiveConfig(validConfig(sandbox)).tracing).toBe('none')
})

test('with a URL, one in a hundred traces that begin here is sent', () => {
  const byDefault = { headers: [], sample: 0.01, serviceName: 'lender-gateway', serverTiming: false }
  expect(read(`{ ${otlp} }`)).toEqual({ otlp: 'https://collector.example/v1/traces', ...byDefault })
})

test('Server-Timing needs no receiver', () => {
  expect(read('{ serverTiming: true }')).toMatchObject({ otlp: null, serverTiming: true })
  expect(renderEffectiveConfig(validConfig(`tracing: { serverTiming: true }\n${sandbox}`)).tracing).toEqual({
    serverTiming: true,
  })
})

// Services of traces name their keys freely: X-Honeycomb-Team, Lightstep-Access.
test('the value of a header is shown only where its name is known to be harmless', () => {
  const headers =
    'headers: { Authorization: file:token, X-Api-Key: planted-in-the-file, X-Honeycomb-Team: planted-too, Accept: a }'
  const config = validConfig(`tracing: { ${otlp}, ${headers} }\n${sandbox}`, {}, at)

  const values = ['Bearer planted-in-a-file', 'planted-in-the-file', 'planted-too', 'a']
  expect(config.tracing?.headers.map(({ value }) => value)).toEqual(values)
  expect(JSON.parse(JSON.stringify(renderEffectiveConfig(config).tracing))).toMatchObject({
    headers: { Authorization: '***', 'X-Api-Key': '***', 'X-Honeycomb-Team': '***', Accept: 'a' },
    sample: '1%',
  })
})

test('the shown text, loaded again, gives the same', () => {
  const config = validConfig(`tracing: { ${otlp}, sample: 12.5%, serviceName: gw, serverTiming: true }\n${sandbox}`)
  const shown = JSON.stringify({ ...renderEffectiveConfig(config), version: 1 })

  expect(validConfig(shown).hash).toBe(config.hash)
})

describe('is rejected', () => {
  test.each([
    ['true', 'tracing', 'not a policy'],
    ['{ otlp: collector:4318 }', 'tracing.otlp', 'not a URL'],
    ['{ otlp: "grpc://collector:4317/x" }', 'tracing.otlp', 'not a URL'],
    ['{ otlp: "http://collector:4318" }', 'tracing.otlp', 'a URL without a path'],
    ['{ otlp: "https://planted:planted@collector/v1/traces" }', 'tracing.otlp', 'a URL with a user name or a password'],
    ['{ otlp: "https://collector/v1/traces?key=planted" }', 'tracing.otlp', 'a URL with a query or a fragment'],
    [`{ ${otlp}, sample: 1 }`, 'tracing.sample', 'a unit is missing'],
    [`{ ${otlp}, sample: 101% }`, 'tracing.sample', 'too large'],
    [`{ ${otlp}, serviceName: "" }`, 'tracing.serviceName', 'not a name'],
    [`{ ${otlp}, serverTiming: 1 }`, 'tracing.serverTiming', 'wrong kind of value'],
    [`{ ${otlp}, headers: { Host: planted } }`, 'tracing.headers.Host', 'Host is set by the gateway'],
    [`{ ${otlp}, headers: { Content-Encoding: planted } }`, 'tracing.headers.Content-Encoding', 'set by the gateway'],
    [`{ ${otlp}, headers: { X: file:nowhere } }`, 'tracing.headers.X', 'the file cannot be used'],
    [`{ ${otlp}, headers: { X: [planted] } }`, 'tracing.headers.X', 'not a string'],
    [`{ ${otlp}, header: planted }`, 'tracing.header', 'unknown key'],
  ])('tracing: %s at %s', (written, path, message) => {
    const problems = findProblems(`tracing: ${written}\n${sandbox}`, {}, at)

    expect(problems.find((problem) => problem.path === path)?.message).toContain(message)
    expect(JSON.stringify(problems)).not.toContain('planted')
  })

  test('the hint for a URL without a path has the whole URL', () => {
    const [problem] = findProblems(`tracing: { otlp: "http://collector:4318" }\n${sandbox}`)

    expect(problem?.hint).toBe('write http://collector:4318/v1/traces')
  })
})

describe('gets a warning', () => {
  test.each([
    ['{}', ['tracing: this does nothing: nothing is sent, and no response says how long it took']],
    ['{ serverTiming: true, headers: { X: y } }', ['tracing.headers: this does nothing: no spans are sent']],
    [
      '{ otlp: "http://collector:4318/v1/traces", headers: { Authorization: file:token } }',
      ['tracing.otlp: secrets are sent in the clear: the network between can read tracing.headers'],
    ],
    ['{ otlp: "http://collector:4318/v1/traces", headers: { X-Tenant: lender } }', []],
    ['{ otlp: "http://127.0.0.1:4318/v1/traces", headers: { Authorization: file:token } }', []],
    ['{ otlp: "http://[::1]:4318/v1/traces", headers: { Authorization: file:token } }', []],
    [`{ ${otlp}, headers: { Authorization: file:token } }`, []],
  ])('tracing: %s', (written, warnings) => {
    expect(warningsOf(written)).toEqual(warnings)
  })
})
