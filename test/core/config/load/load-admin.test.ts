// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Environment } from '../../../../src/core/config/environment.ts'
import { loadAdmin } from '../../../../src/core/config/load/load-admin.ts'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import { folderWith, sandbox } from '../helper.ts'

const builtIn = { host: '127.0.0.1', port: 9901, token: null, tls: null }
const read = { isGuessed: false, isUnreadable: false, reason: null }
const token = 'abcdefghijklmnop-0123456789'

/** Writes a file among others, and loads its admin section. */
const readAdmin = (
  text: string | Uint8Array,
  environment: Environment = {},
  others: Readonly<Record<string, string>> = {},
) => loadAdmin(join(folderWith({ 'gateway.yaml': text, ...others }), 'gateway.yaml'), environment)

test('a valid file gives what a gateway takes from it', () => {
  const folder = folderWith({
    'gateway.yaml': `admin: { host: "::1", port: 9000, hosts: [Ops.internal], token: "file:token" }\n${sandbox}`,
    token: `${token}\n`,
  })
  const file = join(folder, 'gateway.yaml')
  const loaded = loadConfig(file, {})

  expect(loadAdmin(file, {})).toEqual({ ...read, host: '::1', port: 9000, token, tls: null })
  expect(loaded.ok && loaded.config.admin).toMatchObject({ host: '::1', port: 9000, token, tls: null })
})

test('a file without the section gives the built-in values, which are those of the schema', () => {
  const loaded = loadConfig(join(folderWith({ 'gateway.yaml': sandbox }), 'gateway.yaml'), {})

  expect(readAdmin(sandbox)).toEqual({ ...read, ...builtIn })
  expect(loaded.ok && loaded.config.admin).toMatchObject(builtIn)
})

test('the certificate alone says that the listener is served by TLS: only the gateway needs the key', () => {
  const pem = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----'

  const found = readAdmin('admin: { tls: { certificate: "file:cert", key: "file:none" } }', {}, { cert: pem })

  expect(found).toEqual({ ...read, ...builtIn, tls: { certificate: pem } })
})

describe('a broken part elsewhere does not matter', () => {
  test.each([
    ['upstreams that are missing', ''],
    ['an unknown key', 'bogus: 1'],
    ['a wrong value', 'listen: { port: "80" }'],
    ['a variable that is not set', 'listen:\n  host: ${NOWHERE}'],
    ['an upstream’s secret that is missing', 'upstreams: { risk: { request: { set: { X-A: "file:none" } } } }'],
    ['a key that stands twice', 'log: {}\nlog: {}'],
    ['a bracket that is never closed', 'upstreams: [ a'],
    ['a tab', 'listen:\n\tport: 1'],
    ['a quote that is never closed', 'listen: { host: "a'],
    ['a second colon', 'listen: a: b'],
    ['an alias without an anchor', 'listen: *nowhere'],
    ['a key that is no word', '? [a, b]\n: 1'],
  ])('%s', (_what, rest) => {
    const found = readAdmin(`admin:\n  port: 9000\n  token: ${token}\n${rest}\n`)

    expect(found).toEqual({ ...read, ...builtIn, port: 9000, token })
  })

  test('a rule across keys: a running gateway may have been started before the address was edited', () => {
    expect(readAdmin('admin: { host: 0.0.0.0 }')).toEqual({ ...read, ...builtIn, host: '0.0.0.0' })
  })

  test.each([
    ['hosts', '["${NOWHERE}"]'],
    ['insecure', '"yes"'],
    ['metricsToken', 'short'],
    ['clientCertificates', '1'],
  ])('a key of the section that no command uses: %s: %s', (key, value) => {
    expect(readAdmin(`admin: { port: 9000, ${key}: ${value} }`)).toEqual({ ...read, ...builtIn, port: 9000 })
  })
})

describe('a part that cannot be read has its built-in value, with the reason', () => {
  test.each([
    ['an empty list', 'admin: []', 'admin in'],
    ['a word', 'admin: yes', 'admin in'],
    ['a variable', 'admin: "${HOME:-x}"', 'admin in'],
    ['an alias without an anchor', 'admin: *nowhere', 'aliases'],
    ['an error of syntax in front of it', '"', 'syntax errors'],
    ['an empty file', '', 'is empty, or is not a map'],
    ['a file of comments', '# admin: { port: 9000 }', 'is empty, or is not a map'],
    ['a list', '- admin: { port: 9000 }', 'is empty, or is not a map'],
    ['other bytes', Buffer.from('# caf\xe9', 'latin1'), 'not UTF-8'],
  ])('%s', (_what, text, reason) => {
    expect(readAdmin(text)).toEqual({
      ...builtIn,
      reason: expect.stringContaining(reason),
      isGuessed: true,
      isUnreadable: false,
    })
  })

  test('a file that is not there', () => {
    const file = join(folderWith({}), 'none.yaml')

    const reason = `${file} cannot be read: no such file`
    expect(loadAdmin(file, {})).toEqual({ ...builtIn, reason, isGuessed: true, isUnreadable: true })
  })

  test.each([
    ['token', 'short'],
    ['token', 'file:none'],
    ['token', '"${NOWHERE}"'],
    ['tls', '{ certificate: "file:none", key: "file:none" }'],
    ['tls', '{ key: "file:none" }'],
    ['tls', 'true'],
  ])('a single key, and the others are taken: %s: %s', (key, value) => {
    const found = readAdmin(`admin: { port: 9000, ${key}: ${value} }`)

    expect(found).toEqual({ ...read, ...builtIn, port: 9000, reason: expect.stringContaining(`admin.${key} in`) })
  })
})

test('a reason never quotes a token', () => {
  const secret = 'hunter2 hunter2 hunter2'

  expect(readAdmin(`admin: { token: "${secret}" }`).reason).not.toContain('hunter2')
  expect(readAdmin('admin: { token: "${SECRET}" }', { SECRET: secret }).reason).not.toContain('hunter2')
  expect(readAdmin('admin: { token: "file:token" }', {}, { token: secret }).reason).not.toContain('hunter2')
})

test('the parser emits no warnings, which would quote the file', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))

  const { port } = readAdmin('admin:\n  port: 9000\n  ? [hunter2]\n  : 1\n')
  await setImmediate() // warnings are emitted on the next turn

  expect(port).toBe(9000)
  expect(warnings).toEqual([])
})

test('it returns a result for any text', () => {
  const words = ['admin:', ' ', '\n', '  port: 1', '{', '}', '[', '"', '&a', '*a', '${', '!t', '<<:', '- ']
  const text = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 3 })), { maxLength: 20 })

  fc.assert(
    fc.property(text, (parts) => {
      expect(readAdmin(parts.join('')).port).toBeTypeOf('number')
    }),
    { numRuns: 100 },
  )
  expect(loadAdmin('a\0', {})).toMatchObject(builtIn)
})
