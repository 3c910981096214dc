import { expect, test } from 'vitest'
import { allOperations } from '../../../src/operations.ts'
import { findLostProtections } from '../../../src/runtime/reload/lost-protections.ts'
import { folderWith, sandbox, validConfig } from '../../config/helper.ts'

const folder = folderWith({ key: 'k'.repeat(32) })
const at = (text: string) => validConfig(`${text}\n${sandbox}`, {}, `${folder}/gateway.yaml`)

const keys = 'auth: { methods: [apiKey] }'
const clients = `clients: [{ id: a, operations: all, apiKeys: [{ id: k, sha256: "${'a'.repeat(64)}" }] }]`
const audit = 'audit: { file: stdout, key: file:key }'
const unverified = 'defaults: { tls: { verify: false, insecure: true } }'

test.each([
  ['authentication of all', `${keys}\n${clients}`, '', ['auth']],
  [
    'authentication of some',
    `${keys}\n${clients}`,
    `${keys}\n${clients}\noperations: { market.insights: { auth: none }, valuation.score: { auth: none } }`,
    ['operations.valuation.score.auth', 'operations.market.insights.auth'],
  ],
  ['the audit log', audit, '', ['audit']],
  [
    'verification of endpoints',
    '',
    unverified,
    [
      'upstreams.valuation.tls.verify',
      'upstreams.financing.tls.verify',
      'upstreams.analysis.tls.verify',
      'upstreams.risk.tls.verify',
      'upstreams.inventory.tls.verify',
      'upstreams.leads.tls.verify',
      'upstreams.compliance.tls.verify',
      'upstreams.market.tls.verify',
    ],
  ],
  ['several', `${keys}\n${clients}\n${audit}`, '', ['auth', 'audit']],
])('%s is lost, and none the other way', (_, from, to, lost) => {
  expect(findLostProtections(at(from), at(to))).toEqual(lost)
  expect(findLostProtections(at(to), at(from))).toEqual([])
})

test('what authentication asks for may change: it is on', () => {
  const both = at(
    `auth: { methods: [apiKey, mtls], mtls: { from: client-cert } }\nlisten: { trustedProxies: [10.0.0.1] }\n${clients}`,
  )

  expect(findLostProtections(both, at(`${keys}\n${clients}`))).toEqual([])
})

test('authentication that no operation asks for protects nothing', () => {
  const open = `operations: { ${allOperations.map(({ id }) => `${id}: { auth: none }`).join(', ')} }`

  expect(findLostProtections(at(`${keys}\n${open}`), at(''))).toEqual([])
})
