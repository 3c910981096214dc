import { describe, expect, test } from 'vitest'
import { parse, sandbox } from '../../core/config/helper.ts'

const key = Buffer.alloc(32).toString('base64')

const on = '{ financing.pre-approval: { idempotency: true } }'

const warned = (operations: string, redis = 'url: redis://r', more = '') => {
  const store = `{ redis: { ${redis} }, encryptionKeys: ["${key}"]${more} }`
  const result = parse(`${sandbox}\nidempotency: ${store}\noperations: ${operations}`)
  return result.ok ? result.warnings.map(({ path }) => path) : result.problems
}

test('a Redis for idempotency that no operation has does nothing', () => {
  expect(warned('{}')).toEqual(['idempotency.redis'])
  expect(warned(on)).toEqual([])
})

describe('a Redis that replaces its masters', () => {
  const sentinels = 'sentinels: ["a:26379"], name: m'
  const cluster = 'cluster: ["redis://a"]'

  test.each([sentinels, cluster])('gets a warning where no replica has to have a key: %s', (redis) => {
    expect(warned(on, redis, ', replicas: 0')).toEqual(['idempotency.replicas'])
  })

  test.each([
    [sentinels, ''],
    [cluster, ', replicas: 2'],
    ['url: "redis://a"', ', replicas: 0'],
  ])('gets none otherwise: %s%s', (redis, replicas) => {
    expect(warned(on, redis, replicas)).toEqual([])
  })
})

describe('onUnknown: forward beside a candidate', () => {
  const warnedOf = (candidate: string, onUnknown: string) => {
    const financing = `financing: { endpoints: ["http://a"], healthCheck: { path: /h }, candidate: ${candidate} }`
    const result = parse(
      `${sandbox.replace('financing: sandbox', financing)}\noperations: { financing.pre-approval: { idempotency: { onUnknown: ${onUnknown} } } }`,
    )
    return result.ok ? result.warnings.map(({ path }) => path) : result.problems
  }

  test.each(['share: 5%', 'steps: { shares: [5%], every: 15m }', 'clients: [bank-a]'])(
    'gets a warning where clients may be on it: %s',
    (own) => {
      expect(warnedOf(`{ endpoints: ["http://b"], ${own} }`, 'forward')).toContain(
        'operations.financing.pre-approval.idempotency',
      )
    },
  )

  test.each([
    ['{ endpoints: ["http://b"] }', 'forward'],
    ['{ endpoints: ["http://b"], share: 5% }', 'refuse'],
  ])('gets none otherwise: %s with %s', (candidate, onUnknown) => {
    expect(warnedOf(candidate, onUnknown)).toEqual([])
  })
})
