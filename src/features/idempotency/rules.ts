import { formatKeyPath, type KeyPath } from '../../core/config/problem.ts'
import { findField, listOwnFields } from '../../core/config/rules/own-field.ts'
import { type ConfigRule, isEnabledAt, parseAt, valueAt } from '../../core/config/rules/rule.ts'
import { allOperations } from '../../operations.ts'
import { redisRule } from '../redis/rules.ts'
import { idempotencySchema } from './config.ts'

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

export const rules: readonly ConfigRule[] = [encryptedInRedis, keyTwice, redisRule(['idempotency', 'redis'])]
