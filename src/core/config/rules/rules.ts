import { validateCaBundle, validateChainsToRoots, validateKeyPair, validateRevocationLists } from '../certificates.ts'
import { configParts } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import { listenTlsSchema } from '../sections/listen.ts'
import { adminRules } from './admin-rules.ts'
import { applyRules, type ConfigRule, listAt, parseAt, type RuleResult, valueAt } from './rule.ts'
import { endpointRules, headerMutationRule, upstreamPolicyRule } from './upstream-rules.ts'

const base: KeyPath = ['listen', 'tls']
const { certificates, clientCertificates, clientCa, clientCrl } = listenTlsSchema.shape

const keyPairs: ConfigRule = (tree) =>
  listAt(tree, [...base, 'certificates']).map((_, index) => {
    const path = [...base, 'certificates', index]
    const pair = parseAt(tree, certificates.element, path)
    return pair && validateKeyPair(path, pair)
  })

const clientCaPresence: ConfigRule = (tree) => {
  const mode = parseAt(tree, clientCertificates, [...base, 'clientCertificates'])
  const hasAuthority = valueAt(tree, [...base, 'clientCa']) !== undefined
  if (mode === 'none') {
    const hasLists = listAt(tree, [...base, 'clientCrl']).length > 0
    return [hasAuthority && unusedKey('clientCa'), hasLists && unusedKey('clientCrl')]
  }
  return (
    mode !== undefined &&
    !hasAuthority && {
      path: [...base, 'clientCertificates'],
      message: 'clients are asked for certificates, and no authority of theirs is trusted',
      expected: 'clientCa beside it',
      found: `${mode}, and no clientCa`,
      hint: 'add clientCa: file:PATH, the certificates of the authorities that issue client certificates',
    }
  )
}

const unusedKey = (key: string): RuleResult => ({
  path: [...base, key],
  message: 'this does nothing: no client is asked for a certificate',
  expected: 'clientCertificates: optional or required beside it',
  found: 'none',
  hint: `add clientCertificates: required, or remove ${key}`,
})

const clientCaBundle: ConfigRule = (tree) => {
  const ca = parseAt(tree, clientCa, [...base, 'clientCa'])
  if (typeof ca !== 'string') return null
  const path = [...base, 'clientCa']
  const unreadable = validateCaBundle(path, ca)
  const isRevocable = listAt(tree, [...base, 'clientCrl']).length > 0
  return unreadable.length === 0 && isRevocable ? validateChainsToRoots(path, ca) : unreadable
}

const revocationLists: ConfigRule = (tree) =>
  listAt(tree, [...base, 'clientCrl']).map((_, index) => {
    const path = [...base, 'clientCrl', index]
    const text = parseAt(tree, clientCrl.unwrap().element, path)
    return text !== undefined && validateRevocationLists(path, text)
  })

export const validateCrossKeyRules = (tree: unknown): readonly ConfigIssue[] =>
  applyRules([...rules, ...configParts.flatMap((part) => part.rules ?? [])], tree)

const shutdown = coreSchema.shape.shutdown.unwrap().shape

const shutdownOrder: ConfigRule = (tree) => {
  const wait = parseAt(tree, shutdown.wait, ['shutdown', 'wait'])
  const deadline = parseAt(tree, shutdown.deadline, ['shutdown', 'deadline'])
  return (
    wait !== undefined &&
    deadline !== undefined &&
    wait >= deadline && {
      path: ['shutdown', 'deadline'],
      message: 'the deadline ends before the wait',
      expected: 'more than shutdown.wait',
      found: 'less, or the same',
      hint: 'the deadline is for the whole shutdown: make it longer than the wait',
    }
  )
}

const rules: readonly ConfigRule[] = [
  ...adminRules,
  keyPairs,
  clientCaPresence,
  clientCaBundle,
  revocationLists,
  ...endpointRules,
  upstreamPolicyRule,
  headerMutationRule,
  shutdownOrder,
]
