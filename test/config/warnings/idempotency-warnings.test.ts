import { expect, test } from 'vitest'
import { parse, sandbox } from '../helper.ts'

const key = Buffer.alloc(32).toString('base64')

const warned = (operations: string) => {
  const text = `${sandbox}\nidempotency: { redis: { url: redis://r }, encryptionKeys: ["${key}"] }\noperations: ${operations}`
  const result = parse(text)
  return result.ok ? result.warnings.map(({ path }) => path) : result.problems
}

test('a Redis for idempotency that no operation has does nothing', () => {
  expect(warned('{}')).toEqual(['idempotency.redis'])
  expect(warned('{ financing.pre-approval: { idempotency: true } }')).toEqual([])
})
