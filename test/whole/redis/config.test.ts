import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { diffReports } from '../../../src/core/config/diff/diff-reports.ts'
import { renderEffectiveConfig, reportConfig } from '../../../src/core/config/diff/report.ts'
import { jsonSchema } from '../../../src/core/config/schema/schema-keys.ts'
import { findProblems, folderWith, sandbox, validConfig } from '../../core/config/helper.ts'
import { needCertificates } from '../../helpers/certificates.ts'

const { made, missing } = await needCertificates()

const nothing = {
  ...{ url: null, sentinels: null, name: null, cluster: null, username: null, password: null },
  ...{ sentinelUsername: null, sentinelPassword: null, tls: null, prefix: 'lender-gateway' },
}

const sections = ['limits', 'cache', 'idempotency'] as const
const insights = 'operations: { market.insights: { cache: true } }'
const encryptionKey = Buffer.alloc(32, 1).toString('base64')
const withRedis = (redis: string, section: (typeof sections)[number] = 'limits'): string =>
  `${section}: { redis: ${redis}${section === 'idempotency' ? `, encryptionKeys: [${encryptionKey}]` : ''} }\n${sandbox}\n${insights}`

const systemTls = { ca: null, certificate: null, key: null }
const forms = [
  ['{ url: "rediss://a:b@redis/1" }', { url: 'rediss://a:b@redis/1' }],
  ['{ url: redis://redis, username: u, password: p }', { url: 'redis://redis', username: 'u', password: 'p' }],
  [
    '{ sentinels: ["A:26379", "[::1]:26380"], name: m, sentinelPassword: s, password: p, tls: {} }',
    { sentinels: ['a:26379', '[::1]:26380'], name: 'm', sentinelPassword: 's', password: 'p', tls: systemTls },
  ],
  [
    '{ cluster: ["redis://a:7000", "redis://b"], username: u, password: p, timeout: 30ms, prefix: x }',
    { cluster: ['redis://a:7000', 'redis://b'], username: 'u', password: 'p', timeout: 30, prefix: 'x' },
  ],
] as const

describe('the Redis of limits', () => {
  test.each(forms)('%s', (written, redis) => {
    expect(validConfig(withRedis(written)).limits.redis).toEqual({ ...nothing, timeout: 20, ...redis })
  })
})

// A POST should wait rather than be rejected; a limit or a cache works on without Redis.
test.each([
  ['cache', 20],
  ['idempotency', 500],
] as const)('that of %s is the same, and waits for %i ms', (section, timeout) => {
  const [[written, redis]] = forms
  expect(validConfig(withRedis(written, section))[section].redis).toEqual({ ...nothing, timeout, ...redis })
})

test.each(sections.flatMap((section, i) => [forms[i], forms[3]].map((form) => [section, form?.[0] ?? ''] as const)))(
  'the Redis of %s is shown without its secrets, and as a file that is the same: %s',
  (section, written) => {
    const config = validConfig(withRedis(written, section))

    const shown = JSON.stringify(reportConfig(config).config)
    expect(shown).not.toMatch(/"(p|s|rediss:.*)"/)
    expect(validConfig(JSON.stringify(renderEffectiveConfig(config), revealSecrets)).hash).toBe(config.hash)
  },
)

/** Writes secrets as the file has them. */
function revealSecrets(this: unknown, key: string, value: unknown): unknown {
  const original = Object(this)[key]
  return original !== null && typeof original === 'object' && 'reveal' in original ? original.reveal() : value
}

test('a password that changes is a difference, and is not shown', () => {
  const written = (password: string): string => withRedis(`{ cluster: [redis://a], password: ${password} }`)

  const [before, after] = [reportConfig(validConfig(written('one1'))), reportConfig(validConfig(written('two2')))]

  const changes = diffReports(before, after)
  expect(changes).toMatchObject([{ path: 'limits.redis.password' }])
  expect(JSON.stringify(changes)).not.toMatch(/one1|two2/)
})

test('a password comes from a file', () => {
  const folder = folderWith({ password: 'from a file\n' })
  const config = validConfig(withRedis(`{ url: redis://a, password: "file:${folder}/password" }`))

  expect(config.limits.redis?.password).toBe('from a file')
})

describe('an editor', () => {
  const validate = new Ajv({ strict: true, allErrors: true }).compile(jsonSchema())

  test.each(forms)('takes %s', (written) => {
    expect(validate(parseYaml(withRedis(written)))).toBe(true)
  })

  test.each([
    '{ prefix: x }',
    '{ sentinels: ["a:1"] }',
    '{ url: redis://a, cluster: [redis://a] }',
    '{ cluster: [redis://a], sentinels: ["a:1"], name: m }',
    '{ url: redis://a, username: "file:user", password: p }',
    '{ sentinels: ["a:1"], name: m, sentinelUsername: "file:user", sentinelPassword: p }',
  ])('and the gateway reject %s', (written) => {
    expect(validate(parseYaml(withRedis(written)))).toBe(false)
    expect(findProblems(withRedis(written))).toHaveLength(1)
  })
})

describe.skipIf(missing)('TLS', () => {
  const { authority, client, right } = made
  const broken = authority.cert.replace(/\n.{20}/, `\n${'A'.repeat(20)}`)
  const files = { ca: authority.cert, cert: client.cert, key: client.key, other: right.key, broken }

  const problems = (tls: string) => {
    const folder = folderWith(files)
    const written = tls.replace(/: (\w+)/g, `: "file:${folder}/$1"`)
    return findProblems(withRedis(`{ url: rediss://redis, tls: ${written} }`)).map(({ path, message }) => [
      path,
      message,
    ])
  }

  test('with an authority and a certificate of its own is good', () => {
    expect(problems('{ ca: ca, certificate: cert, key: key }')).toEqual([])
  })

  test.each([
    ['{ certificate: cert }', 'limits.redis.tls.certificate', 'a certificate without its key'],
    ['{ key: key }', 'limits.redis.tls.key', 'a key without its certificate'],
    ['{ certificate: cert, key: other }', 'limits.redis.tls.key', 'the key does not belong to the certificate'],
    ['{ ca: broken }', 'limits.redis.tls.ca', 'a certificate that cannot be read'],
  ])('%s is rejected', (tls, path, message) => {
    expect(problems(tls)).toEqual([[path, message]])
  })
})
