import { expect, test } from 'vitest'
import { findLostProtections } from '../../../../src/core/runtime/reload/rollback-target.ts'
import { allOperations, groups } from '../../../../src/operations.ts'
import { folderWith, sandbox, validConfig, withRisk } from '../../../core/config/helper.ts'
import { sampleContract } from '../../../helpers/contract.ts'

const folder = folderWith({ key: 'k'.repeat(32), 'contract.json': JSON.stringify(sampleContract) })
const at = (text: string) => validConfig(`${text}\n${sandbox}`, {}, `${folder}/gateway.yaml`)

const keys = 'auth: { methods: [apiKey] }'
const clients = `clients: [{ id: a, operations: all, apiKeys: [{ id: k, sha256: "${'a'.repeat(64)}" }] }]`
const known = `${keys}\n${clients}`
const audit = 'audit: { file: stdout, key: file:key }'
const enforced = 'contract: { file: contract.json, request: enforce, response: enforce }'
const bothDirections = ['contract.request', 'contract.response']
const unverified = 'defaults: { tls: { verify: false, insecure: true } }'

const someOpen = 'operations: { market.insights: { auth: none }, valuation.score: { auth: none } }'
const [score, valuation] = ['operations.valuation.score', 'operations.risk.asset-valuation']
const twice = 'operations: { valuation.score: { idempotency: true }, risk.asset-valuation: { idempotency: true } }'
const weaker = 'operations: { valuation.score: { idempotency: { required: true, onUnknown: forward } } }'
const reported = `${enforced}\noperations: { market.insights: { contract: { request: report } } }`
const rejecting = enforced.replace('}', ', unchecked: reject }')

test.each([
  ['authentication of all', known, '', ['auth']],
  ['authentication of some', known, `${known}\n${someOpen}`, [`${score}.auth`, 'operations.market.insights.auth']],
  ['idempotency of an operation', twice, weaker, [`${valuation}.idempotency`]],
  ['the audit log', audit, '', ['audit']],
  ['verification of endpoints', '', unverified, groups.map((group) => `upstreams.${group}.tls.verify`)],
  ['enforcement of the contract, by its mode', enforced, 'contract: { file: contract.json }', bothDirections],
  ['enforcement of the contract, with its file', enforced, '', bothDirections],
  ['enforcement for one operation', enforced, reported, ['operations.market.insights.contract.request']],
  ['rejection of what cannot be checked', rejecting, enforced, ['contract.unchecked']],
  ['several', `${known}\n${audit}`, '', ['auth', 'audit']],
])('%s is lost, and none the other way', (_, from, to, lost) => {
  expect(findLostProtections(at(from), at(to))).toEqual(lost)
  expect(findLostProtections(at(to), at(from))).toEqual([])
})

test('verification of a candidate is lost with one that is not verified, and not with one that is gone', () => {
  const withCandidate = (tls: string) =>
    validConfig(withRisk(` { endpoints: [https://a], candidate: { endpoints: [https://b], tls: { ${tls} } } }`))
  const unverifiedCandidate = withCandidate('verify: false, insecure: true')
  const lost = ['upstreams.risk.candidate.tls.verify']

  expect(findLostProtections(withCandidate(''), unverifiedCandidate)).toEqual(lost)
  expect(findLostProtections(at(''), unverifiedCandidate)).toEqual(lost)
  expect(findLostProtections(unverifiedCandidate, at(''))).toEqual([])
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

test('a mode of an operation that the contract does not name protects nothing', () => {
  const modes = 'operations: { risk.asset-valuation: { contract: { request: enforce } } }'

  expect(findLostProtections(at(`contract: { file: contract.json }\n${modes}`), at(''))).toEqual([])
})
