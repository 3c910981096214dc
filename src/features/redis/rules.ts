import { validateCaBundle, validateKeyPair } from '../../core/config/certificates.ts'
import type { Config } from '../../core/config/config.ts'
import { configParts } from '../../core/config/config-part.ts'
import type { KeyPath } from '../../core/config/problem.ts'
import { type ConfigRule, findUnmetNeeds, parseAt, type RuleResult, valueAt } from '../../core/config/rules/rule.ts'
import { isPlainObject } from '../../core/lib/plain-object.ts'
import { type RedisPurpose, redisKeys, redisNeeds, redisPlaces } from './config.ts'

type RedisRule = (tree: unknown, path: KeyPath) => RuleResult

type RedisKey = keyof typeof redisKeys

const isStated = (tree: unknown, path: KeyPath, key: RedisKey): boolean => valueAt(tree, [...path, key]) !== undefined

const onePlace: RedisRule = (tree, path) => {
  const [first, ...more] = redisPlaces.filter((key) => isStated(tree, path, key))
  if (first === undefined) {
    const [message, hint] = ['url, sentinels or cluster is missing', 'add url: file:/run/secrets/redis']
    return { path, message, expected: 'url, sentinels and name, or cluster', found: 'none of them', hint }
  }
  return more.map((key) => ({
    path: [...path, key],
    message: 'the address of Redis is stated twice',
    expected: `one of ${redisPlaces.join(', ')}`,
    found: `${key}, and ${first}`,
    hint: `remove ${key} or ${first}`,
  }))
}

const credentials: RedisRule = (tree, path) => {
  const url = parseAt(tree, redisKeys.url, [...path, 'url'])
  const parsed = url ? new URL(url) : null
  const isInUrl = parsed !== null && (parsed.username !== '' || parsed.password !== '')
  return (['username', 'password'] as const).map(
    (key) =>
      isInUrl &&
      isStated(tree, path, key) && {
        path: [...path, key],
        message: 'the URL names a user or a password already',
        expected: 'both in the URL, or both beside it',
        found: key,
        hint: `remove ${key}, or take the name and the password out of the URL`,
      },
  )
}

const tlsOfUrls: RedisRule = (tree, path) => {
  const url = parseAt(tree, redisKeys.url, [...path, 'url'])
  const nodes = parseAt(tree, redisKeys.cluster, [...path, 'cluster'])
  const urls = [...(url ? [url] : []), ...(nodes ?? [])]
  const plain = urls.filter((each) => !/^rediss:/i.test(each))
  if (plain.length === 0) return null
  if (plain.length < urls.length)
    return {
      path: [...path, 'cluster'],
      message: 'some nodes with TLS, and some without',
      expected: 'rediss:// for all nodes, or redis:// for all',
      found: 'both',
      hint: 'the gateway connects to the nodes of a cluster as these URLs say',
    }
  return (
    isStated(tree, path, 'tls') && {
      path: [...path, 'tls'],
      message: 'tls does nothing: the URL has no TLS',
      expected: 'a URL with rediss://',
      found: 'redis://',
      hint: 'write rediss://, or remove tls',
    }
  )
}

const { ca, certificate, key } = redisKeys.tls.in.unwrap().shape

const certificates: RedisRule = (tree, path) => {
  const base = [...path, 'tls']
  const authority = parseAt(tree, ca, [...base, 'ca'])
  const shown = parseAt(tree, certificate, [...base, 'certificate'])
  const secret = parseAt(tree, key, [...base, 'key'])
  return [
    authority ? validateCaBundle([...base, 'ca'], authority) : null,
    shown && secret ? validateKeyPair(base, { certificate: shown, key: secret }) : null,
    shown && secret === null ? halfPair(base, 'certificate', 'key') : null,
    secret && shown === null ? halfPair(base, 'key', 'certificate') : null,
  ]
}

const halfPair = (base: KeyPath, name: string, other: string): RuleResult => {
  const [message, hint] = [`a ${name} without its ${other}`, `add ${other}: file:PATH beside it`]
  return { path: [...base, name], message, expected: 'both or neither', found: `a ${name} alone`, hint }
}

export const redisRule =
  (path: KeyPath): ConfigRule =>
  (tree) =>
    isPlainObject(valueAt(tree, path)) && [
      onePlace(tree, path),
      credentials(tree, path),
      findUnmetNeeds(tree, path, redisNeeds),
      tlsOfUrls(tree, path),
      certificates(tree, path),
    ]

/** By features other than the section's own. */
export const isRedisUsed = (config: Config, purpose: RedisPurpose): boolean =>
  configParts.some((part) => part.usesRedis?.(config, purpose))
