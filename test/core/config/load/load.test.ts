// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { Environment } from '../../../../src/core/config/environment.ts'
import { loadConfig, parseConfig } from '../../../../src/core/config/load/load-config.ts'
import { formatProblems } from '../../../../src/core/config/problem.ts'
import { parseYamlSource } from '../../../../src/core/config/yaml/yaml-document.ts'
import { describeTests, runs, test, testAndDrill } from '../../../helpers/speed.ts'
import { findProblems, folderWith, parse, sandbox, validConfig, withRisk } from '../helper.ts'

describeTests('a file', () => {
  test.each([
    ['is missing', () => join(folderWith({}), 'none.yaml'), 'no such file'],
    ['is a directory', () => folderWith({}), 'a directory'],
    ['has a NUL in its name', () => 'a\0b', ''],
    ['is a device, which would block', () => '/dev/null', ''],
  ])('that %s cannot be read', (_, name, message) => {
    expect(loadConfig(name(), {})).toMatchObject({
      ...{ ok: false, unreadable: true },
      problems: [{ line: 1, column: 1, path: '', message: expect.stringContaining(message) }],
    })
  })

  test.skipIf(process.getuid?.() === 0)('without permission cannot be read', () => {
    const file = join(folderWith({ 'gateway.yaml': sandbox }), 'gateway.yaml')
    chmodSync(file, 0)

    expect(loadConfig(file, {})).toMatchObject({ ok: false, unreadable: true })
  })

  test('behind a symbolic link is read', () => {
    const folder = folderWith({ 'real.yaml': sandbox })
    symlinkSync('real.yaml', join(folder, 'gateway.yaml'))

    expect(loadConfig(join(folder, 'gateway.yaml'), {}).ok).toBe(true)
  })

  test('larger than 1 MiB is rejected, and one of exactly 1 MiB is not', () => {
    const text = `${sandbox}\n#`
    const fits = text.padEnd(1024 ** 2, 'x')
    const folder = folderWith({ 'fits.yaml': fits, 'large.yaml': `${fits}x` })

    expect(loadConfig(join(folder, 'fits.yaml'), {}).ok).toBe(true)
    expect(loadConfig(join(folder, 'large.yaml'), {})).toMatchObject({ ok: false, unreadable: false })
  })

  test.each([
    ['in Latin-1', Buffer.from(`version: 1\nlisten: {}\n# caf\xe9\n${sandbox}`, 'latin1'), 3],
    ['in UTF-16', Buffer.from(`\uFEFF${sandbox}`, 'utf16le'), 1],
  ])('%s is rejected at the line of the first wrong byte', (_, bytes, line) => {
    expect(parseConfig(bytes, 'f', {})).toMatchObject({ problems: [{ line, message: 'the file is not UTF-8' }] })
  })

  test('may begin with a byte order mark, which shifts no column', () => {
    expect(parse(`\uFEFF${sandbox}`).ok).toBe(true)
    expect(findProblems(`\uFEFFbogus: 1\n${sandbox}`)).toMatchObject([{ line: 1, column: 1, path: 'bogus' }])
  })

  test('may have line ends of any kind', () => {
    expect(parse(`version: 1\r\n${sandbox}\r\n`).ok).toBe(true)
    expect(findProblems(`version: 1\r\nbogus: 1\r\n${sandbox}\r\n`)).toMatchObject([{ line: 2, column: 1 }])
  })

  test('with an alias bomb is rejected in little time', () => {
    const level = (n: number): string =>
      `a${n}: &a${n} [${Array(9)
        .fill(n === 0 ? 'x' : `*a${n - 1}`)
        .join(', ')}]`
    const levels = Array.from({ length: 9 }, (_, n) => level(n))

    const problems = findProblems([...levels, sandbox].join('\n'))

    expect(problems).toMatchObject([{ message: 'too many aliases' }])
  })

  test('with more than 100 aliases is rejected', () => {
    const aliases = (count: number): string =>
      `listen:\n  trustedProxies:\n    - &a 10.0.0.1\n${'    - *a\n'.repeat(count)}${sandbox}`

    expect(parse(aliases(100)).ok).toBe(true)
    expect(findProblems(aliases(101))).toMatchObject([{ line: 104, message: 'too many aliases' }])
  })

  test('nested too deeply is rejected', () => {
    const problems = findProblems(`listen: ${'['.repeat(10_000)}`)

    expect(problems[0]?.message).toBe('nested too deeply')
  })
})

test('beyond a thousand problems the rest is counted', () => {
  const problems = findProblems(`${sandbox}\n${Array.from({ length: 1002 }, (_, i) => `key${i}: 1`).join('\n')}`)

  expect(problems).toHaveLength(1001)
  expect(problems.at(-1)?.message).toBe('2 more problems are not shown')
})

test('several unquoted placeholders are reported with the other problems of the file', () => {
  const text = `admin: { host: $${'{A}'}, port: "1" }\nlisten: { host: $${'{B:-x}'} }\nbogus: 1\n${sandbox}`

  expect(findProblems(text).map(({ line, path }) => [line, path])).toEqual([
    [1, 'admin.host'],
    [1, 'admin.port'],
    [2, 'listen.host'],
    [3, 'bogus'],
  ])
})

test('all problems are reported at once, in the order of the file', () => {
  const problems = findProblems(
    [
      'bogus: 1',
      'listen: { port: "80", maxTarget: 8192 }',
      'admin: { port: 8081 }',
      'admin: { port: 8082 }',
      'shutdown: { wait: 9s, deadline: 9s }',
      'log: { level: "${NONE}" }',
      'upstreams:',
      '  valuation: sandbox',
      '  risk: http://localhost:8082',
      '  market: { endpoints: [http://a], request: { set: { Host: a, X-A: file:none } } }',
    ].join('\n'),
  )

  const missing = ['financing', 'analysis', 'inventory', 'leads', 'compliance']
  expect(problems.map(({ line, path }) => `${line} ${path}`)).toEqual([
    ...['1 bogus', '2 listen.port', '2 listen.maxTarget', '4 admin', '5 shutdown.deadline', '6 log.level'],
    ...missing.map((group) => `7 upstreams.${group}`),
    ...['9 upstreams.risk', '10 upstreams.market.request.set.Host', '10 upstreams.market.request.set.X-A'],
  ])
})

test('a problem within an alias is shown where the value stands', () => {
  const text = `${sandbox}\noperations:\n  market.insights: &slow\n    deadline: 5\n  leads.pipeline: *slow`

  expect(findProblems(text)).toMatchObject([
    { line: 4, column: 15, path: 'operations.leads.pipeline.deadline' },
    { line: 4, column: 15, path: 'operations.market.insights.deadline' },
  ])
})

test('a problem prints as file, line, column, path and message, then what was expected and found, and a hint', () => {
  const problems = findProblems(
    withRisk('\n    endpoints: [http://a]\n    timeouts: { connect: 2 }'),
    {},
    'config/gateway.yaml',
  )

  expect(formatProblems(problems)).toBe(
    [
      'config/gateway.yaml:11:26 upstreams.risk.timeouts.connect: a unit is missing',
      '    expected a duration from 1ms to 24h, such as 250ms, 2s, 1m or 1h; or none',
      '    found    2',
      '    hint     write 2s',
      '1 problem',
      '',
    ].join('\n'),
  )
})

test('the same endpoint twice in a group is a warning', () => {
  const result = parse(withRisk(' { endpoints: [http://a, http://b, "http://A:80/"] }'))

  expect(result).toMatchObject({ ok: true, warnings: [{ line: 9, path: 'upstreams.risk.endpoints[2]' }] })
})

describeTests('the environment', () => {
  test('fills in scalars of every kind', () => {
    const { listen, upstreams, allowSandbox, log } = validConfig(
      [
        'allowSandbox: ${ALLOW}',
        'listen: { port: "${PORT}", basePath: "/${TENANT}/v1", maxConnections: "${MOST}" }',
        'log: { level: "${LEVEL:-warn}", access: "${ACCESS}" }',
        withRisk(' http://${RISK}:80${EMPTY}'),
      ].join('\n'),
      { ALLOW: 'true', PORT: '0', TENANT: 'acme', MOST: 'none', ACCESS: 'false', RISK: 'risk.internal', EMPTY: '' },
    )

    expect(listen).toMatchObject({ port: 0, basePath: '/acme/v1', maxConnections: null })
    expect(log).toMatchObject({ level: 'warn', access: false })
    expect(allowSandbox).toBe(true)
    expect(upstreams.risk.endpoints[0]?.origin).toBe('http://risk.internal')
  })

  test('gives way to the default when a variable is missing or empty', () => {
    const portOf = (environment: Environment) =>
      validConfig(`listen: { port: "\${PORT:-81}" }\n${sandbox}`, environment).listen.port

    expect([portOf({}), portOf({ PORT: '' }), portOf({ PORT: '82' })]).toEqual([81, 81, 82])
  })

  test.each([
    ['that looks like a number stays a text', '${A}', { A: '0042' }, '0042'],
    ['is escaped by a doubled dollar sign', '$${HOME} $x $$', { HOME: 'no' }, '${HOME} $x $$'],
    ['is not filled in again within its own values', '${A}', { A: '${B}', B: 'no' }, '${B}'],
  ])('in a text %s', (_, written, environment, value) => {
    const text = withRisk(`\n    endpoints: [http://a]\n    request: { set: { X-A: "${written}" } }`)

    expect(validConfig(text, environment).upstreams.risk.request.set[0]?.value).toBe(value)
  })

  test('cannot inject YAML', () => {
    const [problem] = findProblems(`listen: { host: "\${HOST}" }\n${sandbox}`, { HOST: 'x"}\nallowSandbox: true' })

    expect(problem).toMatchObject({ path: 'listen.host', message: 'not an address' })
  })

  test('never fills in a key', () => {
    expect(findProblems(`"\${KEY}": 1\n${sandbox}`, { KEY: 'version' })).toMatchObject([{ message: 'unknown key' }])
  })
})

describeTests('a file: reference', () => {
  const text = (reference: string): string =>
    withRisk(`\n    endpoints: [http://a]\n    request: { set: { X-Api-Key: "${reference}" } }`)
  const setBy = (folder: string, reference: string): unknown =>
    validConfig(text(reference), { FOLDER: folder }, join(folder, 'gateway.yaml')).upstreams.risk.request.set[0]

  test('is relative to the folder of the configuration file, and loses one line end', () => {
    const folder = folderWith({ key: 'hunter2\n', windows: 'hunter2\r\n', plain: 'hunter2' })
    mkdirSync(join(folder, 'run'))
    writeFileSync(join(folder, 'run', 'key'), 'nested')

    for (const name of ['key', 'windows', 'plain', './run/../key', '${FOLDER}/key', join(folder, 'key')]) {
      expect(setBy(folder, `file:${name}`)).toMatchObject({ name: 'X-Api-Key', value: 'hunter2', secret: true })
    }
    expect(setBy(folder, 'file:run/key')).toMatchObject({ value: 'nested' })
  })

  test('may hold bytes up to U+00FF and 64 KiB', () => {
    const files = { latin: 'caf\u00e9', large: 'x'.repeat(65_536) }
    const folder = folderWith(files)

    for (const [name, value] of Object.entries(files)) expect(setBy(folder, `file:${name}`)).toMatchObject({ value })
  })

  test('to a file that is not there is told the folder that relative names start at, and no variable', () => {
    const folder = folderWith({})
    const hints = ['file:none', 'file:${NAME}', `file:${folder}/none`].map(
      (reference) => findProblems(text(reference), { NAME: 's3cret' }, join(folder, 'gateway.yaml'))[0]?.hint,
    )

    const here = `a relative name starts at the folder of the configuration file, ${folder}`
    expect(hints).toEqual([here, here, undefined])
  })

  test.each([
    ['none', 'no such file'],
    ['folder', 'it is a directory'],
    ['empty', 'it is empty'],
    ['newline', 'it is empty'],
    ['large', 'it is too large'],
    ['binary', 'it is not UTF-8'],
    ['lines', 'a control character'],
    ['emoji', 'above U+00FF'],
    ['blank', 'blanks around it'],
  ])('to a file that cannot be used is a problem at its key: %s', (name, message) => {
    const folder = folderWith({
      ...{ empty: '', newline: '\n', lines: 'a\nb', emoji: '🔑', blank: 'hunter2 \n' },
      ...{ large: 'x'.repeat(65_537), binary: new Uint8Array([0xff, 0xfe, 0x41]) },
    })
    mkdirSync(join(folder, 'folder'))

    const problems = findProblems(text(`file:${name}`), {}, join(folder, 'gateway.yaml'))

    const path = 'upstreams.risk.request.set.X-Api-Key'
    expect(problems).toMatchObject([{ line: 11, path, message: expect.stringContaining(message) }])
  })
})

describe('load never throws', () => {
  const settles = (bytes: Uint8Array): void => {
    const result = parseConfig(bytes, 'gateway.yaml', { A: 'x' })
    if (!result.ok) expect(result.problems.length).toBeGreaterThan(0)
  }

  test('whatever the bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), settles), { numRuns: 100 })
  })

  testAndDrill('whatever the text', () => {
    const words = 'upstreams risk sandbox &a *a << ${A} ... __proto__ file:x'.split(' ')
    const signs = [...'{}[]:,-?&*!|>\'"%@`#${}~ \n\t', '\n  ', ': ', '- ', '---\n']
    const word = fc.constantFrom(...words, ...signs)
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), (words) => settles(Buffer.from(words.join('')))),
      { numRuns: runs(500) },
    )
  })

  testAndDrill('whatever the tree', () => {
    const keys =
      'upstreams listen risk endpoints url request set X-A port operations market.insights defaults timeouts tls ca ' +
      'healthCheck path retry on backoff outlier drain constructor toString'
    const key = fc.constantFrom(...keys.split(' '))
    const leaf = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('sandbox', 'http://a', '2s', '10%', 'none', 502, '${A}', 'file:.'),
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.dictionary(key, tie('tree')),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    }))
    fc.assert(
      fc.property(tree, (value) => settles(Buffer.from(JSON.stringify(value)))),
      { numRuns: runs(500) },
    )
  })

  testAndDrill('whatever is changed in a valid file', () => {
    const good = Buffer.from(
      `listen: { port: "\${A:-1}" }\n${withRisk('\n    endpoints: [http://a, {url: http://b, weight: 3}]\n    request: { set: { X-A: b } }')}`,
    )
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(255), (at, byte) => {
        const bytes = Buffer.from(good)
        bytes[at] = byte
        settles(bytes)
      }),
      { numRuns: runs(500) },
    )
  })
})

test('a tag on a map or a list is rejected as on a word', () => {
  const problems = findProblems(`listen: !a { port: 1 }\nadmin: { hosts: !b [x] }\nlog: { level: !c info }\n${sandbox}`)

  expect(problems.map(({ line, path, message }) => [line, path, message])).toEqual([
    [1, 'listen', 'a tag'],
    [2, 'admin.hosts', 'a tag'],
    [3, 'log.level', 'a tag'],
  ])
})

test.each(['\ue000', '\ue001', '\ue000\ue001'])(
  'a character for private use stays as it is beside a placeholder: %j',
  (sign) => {
    const text = `a: "${sign} $${'{A}'}"\nb: $${'{B}'}`

    expect(parseYamlSource(text).document.toJS()).toEqual({ a: `${sign} $${'{A}'}`, b: '$' + '{B}' })
  },
)
