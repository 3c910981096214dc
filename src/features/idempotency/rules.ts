import { askFacts } from '../../core/config/config-facts.ts'
import { formatKeyPath, type KeyPath } from '../../core/config/problem.ts'
import { type ConfigRule, isEnabledAt, parseAt, valueAt, type WarningRule } from '../../core/config/rules/rule.ts'
import { findField, listOwnFields } from '../../core/config/rules/upstream-rules.ts'
import { foldUnderscores } from '../../core/exchange/header-fields.ts'
import { listSides, sideKey } from '../../core/exchange/sides.ts'
import { allOperations } from '../../operations.ts'
import { isRedisUsed, redisRule } from '../redis/rules.ts'
import { idempotencySchema } from './config.ts'

const encryptedInRedis: ConfigRule = (tree) => {
  const path = ['idempotency', 'redis']
  const keys = valueAt(tree, ['idempotency', 'encryptionKeys']) ?? []
  if (!isEnabledAt(tree, path) || !Array.isArray(keys) || keys.length > 0) return null
  const message = 'responses would be stored in Redis unencrypted'
  const hint = 'make one: openssl rand -base64 32 > KEY; then add encryptionKeys: [file:KEY]'
  return { path, message, expected: 'idempotency.encryptionKeys', found: 'no key', hint }
}

/** An invalid request id is replaced each time; a client's id would be the same key for all its requests. */
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
        message: 'this field already has another use',
        expected: 'a field for the idempotency key alone',
        found: `the field of ${formatKeyPath(own.path)}`,
        hint: 'rename one of the two',
      }
    )
  })
}

export const rules: readonly ConfigRule[] = [encryptedInRedis, keyTwice, redisRule(['idempotency', 'redis'])]

const lostIdempotencyKeys: WarningRule = ({ config: { operations, upstreams } }) =>
  allOperations.map(({ id, group }) => {
    const { idempotency } = operations[id]
    if (idempotency?.onUnknown !== 'forward') return null
    // CGI-like upstreams read `_` as `-`, and so do the edits.
    const isKey = (name: string): boolean => foldUnderscores(name) === idempotency.header
    const edits = listSides(upstreams[group]).flatMap(({ side, upstream: { request } }) => {
      const edit = request.remove.some(isKey) ? 'remove' : request.set.some(({ name }) => isKey(name)) ? 'set' : null
      return edit === null ? [] : [`${sideKey(group, side)}.request.${edit}`]
    })
    return (
      edits[0] !== undefined && {
        path: ['operations', id, 'idempotency'],
        message: 'the key of the client does not reach the upstream, which cannot recognize a repeated request',
        expected: 'the key to be passed on, or onUnknown: reject',
        found: `${idempotency.header} in ${edits[0]}`,
        hint: `take it out of ${edits[0]}, or write onUnknown: reject`,
      }
    )
  })

/** A repetition goes to its client's side, after a takeback not to the upstream that may have processed the request. */
const keysOfTwoSides: WarningRule = ({ config: { operations, upstreams } }) =>
  allOperations.map(
    ({ id, group }) =>
      operations[id].idempotency?.onUnknown === 'forward' &&
      askFacts((facts) => facts.dividesClients?.(upstreams[group])).includes(true) && {
        path: ['operations', id, 'idempotency'],
        message:
          'a request that one side may have processed is forwarded to the other side when its client changes sides',
        expected: 'upstreams that recognize each other’s keys, or onUnknown: reject',
        found: `${sideKey(group, 'candidate')} with clients`,
        hint: 'write onUnknown: reject unless both sides keep their keys in one place',
      },
  )

const unreplicatedKeys: WarningRule = ({ config: { idempotency } }) =>
  idempotency.redis !== null &&
  idempotency.redis.url === null &&
  idempotency.replicas === 0 && {
    path: ['idempotency', 'replicas'],
    message: 'a failover loses keys: repeated requests are then processed again',
    expected: 'as many replicas as each master has, or 1',
    found: '0',
    hint: 'remove replicas: with sentinels or cluster the default is 1',
  }

const unusedIdempotencyRedis: WarningRule = ({ config }) =>
  config.idempotency.redis !== null &&
  !isRedisUsed(config, 'records') &&
  allOperations.every(({ id }) => config.operations[id].idempotency === null) && {
    path: ['idempotency', 'redis'],
    message: 'this does nothing: no operation has idempotency',
    expected: 'idempotency: true under one of operations, or no idempotency.redis',
    found: 'none that has it',
    hint: 'add financing.pre-approval: { idempotency: true } under operations, or remove redis',
  }

export const warnings: readonly WarningRule[] = [
  lostIdempotencyKeys,
  keysOfTwoSides,
  unreplicatedKeys,
  unusedIdempotencyRedis,
]
