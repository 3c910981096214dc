import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../../src/core/config/diff/report.ts'
import { findProblems, folderWith, parse, sandbox, validConfig } from '../../../../core/config/helper.ts'

const key = Buffer.alloc(32, 7)

test.each(['', ', encryptionKeys: []'])('Redis without encryption keys is an error (%s)', (keys) => {
  expect(findProblems(`${sandbox}\nidempotency: { redis: { url: redis://redis }${keys} }`)).toMatchObject([
    { path: 'idempotency.redis', hint: expect.stringContaining('openssl rand -base64 32') },
  ])
})

test('memory needs no key', () => {
  expect(validConfig(`${sandbox}\nidempotency: { redis: none }`).idempotency.encryptionKeys).toEqual([])
})

test.each([
  ['requestId: { header: Idempotency-Key }', 'true', 'requestId.header'],
  ['idempotency: { header: x_request_id }', 'true', 'idempotency.header'],
  ['', '{ header: X-Request-Id }', 'operations.valuation.score.idempotency.header'],
])('a key in the field of the request id is an error (%s, idempotency: %s)', (top, policy, path) => {
  expect(findProblems(`${sandbox}\n${top}\noperations: { valuation.score: { idempotency: ${policy} } }`)).toMatchObject(
    [{ path, found: 'the field of requestId.header' }],
  )
})

test.each([
  ['auth: { methods: [apiKey] }', 'X-Api-Key', 'auth.apiKey.field'],
  ['auth: { methods: [apiKey], identityField: X-Client-Id }', 'X_Client_Id', 'auth.identityField'],
])('a key in a field that names the client is an error (%s)', (auth, header, other) => {
  const text = `${sandbox}\n${auth}\nclients: [{ id: a, operations: all }]\nidempotency: { header: ${header} }`

  expect(findProblems(`${text}\noperations: { valuation.score: { idempotency: true } }`)).toMatchObject([
    { path: 'idempotency.header', found: `the field of ${other}` },
  ])
})

test.each([
  ['requestId: { header: Idempotency-Key }', 'false'],
  ['requestId: { header: none }', '{ header: X-Request-Id }'],
  ['idempotency: { header: X-Request-Id }', '{ header: X-Key }'],
])('a key in a field of its own is none (%s, idempotency: %s)', (top, policy) => {
  expect(findProblems(`${sandbox}\n${top}\noperations: { valuation.score: { idempotency: ${policy} } }`)).toEqual([])
})

describe('an encryption key', () => {
  test.each(['base64', 'hex'] as const)('is read from a file in %s, and shown nowhere', (encoding) => {
    const folder = folderWith({ key: `${key.toString(encoding)}\n` })

    const result = parse(
      `${sandbox}\nidempotency: { redis: { url: redis://r }, encryptionKeys: [file:key] }`,
      {},
      join(folder, 'gateway.yaml'),
    )

    expect(result).toMatchObject({ ok: true, config: { idempotency: { encryptionKeys: [key.toString('base64')] } } })
    expect(result.ok && JSON.stringify(reportConfig(result.config))).not.toContain(key.toString('base64').slice(0, 8))
  })

  test.each([
    ['of 31 bytes', Buffer.alloc(31, 7).toString('base64')],
    ['of 33 bytes', Buffer.alloc(33, 7).toString('base64')],
    ['that is a word', 'secretsecretsecretsecretsecretse'],
    ['of half a hex', key.toString('hex').slice(1)],
  ])('%s is an error, without the key', (_, text) => {
    const problems = findProblems(`${sandbox}\nidempotency: { encryptionKeys: ["${text}"] }`)

    expect(problems).toMatchObject([{ path: 'idempotency.encryptionKeys[0]' }])
    expect(JSON.stringify(problems)).not.toContain(text)
  })

  test('is one of two at most', () => {
    const text = key.toString('base64')

    expect(
      findProblems(`${sandbox}\nidempotency: { encryptionKeys: ["${text}", "${text}", "${text}"] }`),
    ).toMatchObject([{ path: 'idempotency.encryptionKeys' }])
  })
})
