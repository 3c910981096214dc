import { authRules } from '../../../features/auth/rules.ts'
import { mtlsRule, senderConstraintRule } from '../../../features/auth/tokens/proof-of-possession-rules.ts'
import { operationCacheSchema } from '../../../features/cache/config.ts'
import { exposeSchema } from '../../../features/candidate/config/candidate.ts'
import { shadowRules } from '../../../features/candidate/shadow-rules.ts'
import { idempotencySchema } from '../../../features/idempotency/config.ts'
import { redisRules } from '../../../features/redis/rules.ts'
import { allOperations, groups } from '../../../operations.ts'
import { formatSize } from '../../lib/text/units.ts'
import { configParts } from '../config-parts.ts'
import { configSchema } from '../config-schema.ts'
import { type ConfigIssue, formatKeyPath, type KeyPath } from '../problem.ts'
import { adminRules } from './admin-rules.ts'
import { listenRules } from './listen-rules.ts'
import { findField, findOtherUse, listOwnFields } from './own-field.ts'
import { applyRules, type ConfigRule, isEnabledAt, parseAt, valueAt } from './rule.ts'
import { upstreamPolicyRule } from './upstream-policy-rules.ts'
import { endpointRules, headerMutationRule } from './upstream-rules.ts'

/** Checks the rules across several keys, on a tree that may be broken. */
export const validateCrossKeyRules = (tree: unknown): readonly ConfigIssue[] => applyRules(rules, tree)

const entryFitsCache: ConfigRule = (tree) => {
  const cache = parseAt(tree, configSchema.shape.cache, ['cache'])
  if (cache === undefined) return null
  return allOperations.map(({ id }) => {
    const path = ['operations', id, 'cache']
    const policy = parseAt(tree, operationCacheSchema, path)
    return (
      policy &&
      policy.maxEntry > cache.maxBytes && {
        path: [...path, 'maxEntry'],
        message: 'more than there is room for',
        expected: `at most cache.maxBytes, ${formatSize(cache.maxBytes)}`,
        found: formatSize(policy.maxEntry),
        hint: 'write less, or more for cache.maxBytes',
      }
    )
  })
}

const fileOrLearning: ConfigRule = (tree) =>
  isEnabledAt(tree, ['contract']) &&
  valueAt(tree, ['contract', 'file']) === undefined &&
  !isEnabledAt(tree, ['contract', 'learn']) && {
    path: ['contract'],
    message: 'there is no contract to hold messages to',
    expected: 'a file, or learn: true',
    found: 'neither',
    hint: 'write file: contract.yaml for an OpenAPI document, or learn: true to draw one up from what passes',
  }

const encryptedInRedis: ConfigRule = (tree) => {
  const path = ['idempotency', 'redis']
  const keys = valueAt(tree, ['idempotency', 'encryptionKeys']) ?? []
  if (!isEnabledAt(tree, path) || !Array.isArray(keys) || keys.length > 0) return null
  return {
    path,
    message: 'answers would lie in Redis for all to read',
    expected: 'idempotency.encryptionKeys',
    found: 'no key',
    hint: 'make one: openssl rand -base64 32 > KEY; then add encryptionKeys: [file:KEY]',
  }
}

/**
 * Rejects a field that is to carry the key and says something else. A key that is no valid request id would be replaced
 * by a new one each time, and its request done again; of what names the client, all its requests would have one key.
 */
const keyTwice: ConfigRule = (tree) => {
  const ofAll: KeyPath = ['idempotency', 'header']
  const paths = allOperations.flatMap(({ id }) => {
    const policy: KeyPath = ['operations', id, 'idempotency']
    if (!isEnabledAt(tree, policy)) return []
    const own: KeyPath = [...policy, 'header']
    return [valueAt(tree, own) === undefined ? ofAll : own]
  })
  return [...new Set(paths)].map((path) => {
    const name = parseAt(tree, idempotencySchema.shape.header, path)
    const own = name === undefined ? undefined : findField(listOwnFields(tree), name)
    return (
      own && {
        path: valueAt(tree, path) === undefined ? own.path : path,
        message: 'the field of the key says something else already',
        expected: 'a field of its own for the key of idempotency',
        found: `the field of ${formatKeyPath(own.path)}`,
        hint: 'rename one of the two',
      }
    )
  })
}

const exposedTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const upstream: KeyPath = ['upstreams', group]
    const path: KeyPath = [...upstream, 'candidate', 'expose']
    const field = parseAt(tree, exposeSchema, path)
    if (field == null) return null
    const found = findOtherUse(tree, field, {
      // Of the gateway's own fields, responses have this one alone.
      fields: listOwnFields(tree).filter(({ path: [section] }) => section === 'requestId'),
      edits: [
        [...upstream, 'response', 'set'],
        [...upstream, 'candidate', 'response', 'set'],
      ],
    })
    return (
      found !== null && {
        path,
        message: 'this field says something else already',
        expected: 'a field of its own',
        found,
        hint: 'rename one of the two',
      }
    )
  })

const shutdown = configSchema.shape.shutdown.unwrap().shape

const shutdownOrder: ConfigRule = (tree) => {
  const wait = parseAt(tree, shutdown.wait, ['shutdown', 'wait'])
  const deadline = parseAt(tree, shutdown.deadline, ['shutdown', 'deadline'])
  return (
    wait !== undefined &&
    deadline !== undefined &&
    wait >= deadline && {
      path: ['shutdown', 'deadline'],
      message: 'the deadline is over before the wait is',
      expected: 'more than shutdown.wait',
      found: 'no more',
      hint: 'the deadline is for the whole shutdown: make it longer than the wait',
    }
  )
}

const rules: readonly ConfigRule[] = [
  ...adminRules,
  ...listenRules,
  ...authRules,
  mtlsRule,
  senderConstraintRule,
  entryFitsCache,
  fileOrLearning,
  encryptedInRedis,
  keyTwice,
  ...redisRules,
  ...endpointRules,
  exposedTwice,
  upstreamPolicyRule,
  ...shadowRules,
  headerMutationRule,
  shutdownOrder,
  ...configParts.flatMap((part) => part.rules ?? []),
]
