import { type ConfigRule, isEnabledAt, valueAt } from './rule.ts'

const redisPath = ['idempotency', 'redis']

/** Requires a key where responses leave the process: what lenders are told must not lie open in Redis. */
const encryptedInRedis: ConfigRule = (tree) => {
  const keys = valueAt(tree, ['idempotency', 'encryptionKeys']) ?? []
  if (!isEnabledAt(tree, redisPath) || !Array.isArray(keys) || keys.length > 0) return null
  return {
    path: redisPath,
    message: 'answers would lie in Redis for all to read',
    expected: 'idempotency.encryptionKeys',
    found: 'no key',
    hint: 'make one: openssl rand -base64 32 > KEY; then add encryptionKeys: [file:KEY]',
  }
}

/** The rules of idempotency. */
export const idempotencyRules: readonly ConfigRule[] = [encryptedInRedis]
