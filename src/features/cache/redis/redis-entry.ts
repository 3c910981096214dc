import { hash, randomBytes } from 'node:crypto'
import { allOperations, type OperationId } from '../../../operations.ts'
import { createScript } from '../../redis/redis-server.ts'
import type { PurgeScope } from '../store/cache-store.ts'
import type { CacheKey } from '../store/stored-response.ts'

/** A digest, because text from clients may be long and have any character. */
const digestTexts = (...texts: readonly string[]): string => hash('sha256', JSON.stringify(texts), 'base64url')

export interface CacheKeySpace {
  readonly prefix: string
  /** A script's keys must share a slot, so an operation's keys share a `{tag}`. */
  readonly isCluster: boolean
}

// Without a tag outside clusters: neighboring versions share these keys (docs/versioning.md).
const operationPrefix = ({ prefix, isCluster }: CacheKeySpace, operation: OperationId): string =>
  isCluster ? `${prefix}:cache:{${operation}}` : `${prefix}:cache`

/** For all variants. `shape`: gateways with another configuration do not share entries. */
export const baseKey = (space: CacheKeySpace, shape: string, operation: OperationId, key: CacheKey): string =>
  `${operationPrefix(space, operation)}:${digestTexts(shape, operation, key.client, key.site, key.query)}`

export const variantKey = (base: string, selecting: string): string => `${base}:${digestTexts(selecting)}`

const generationCount = 3

/** Of an operation, a client and a query. Without `shape`: a purge is for all gateways. */
export const generationKeys = (space: CacheKeySpace, operation: OperationId, { client, query }: CacheKey) => [
  operationGenerationKey(space, operation),
  clientGenerationKey(space, operation, client),
  queryGenerationKey(space, operation, query),
]

export const purgedGenerationKeys = (space: CacheKeySpace, { operation, client }: PurgeScope): readonly string[] =>
  allOperations
    .filter(({ id, method }) => method === 'GET' && (operation === null || operation === id))
    .map(({ id }) => (client === null ? operationGenerationKey(space, id) : clientGenerationKey(space, id, client)))

const operationGenerationKey = (space: CacheKeySpace, operation: OperationId): string =>
  `${operationPrefix(space, operation)}:of:${operation}`

const clientGenerationKey = (space: CacheKeySpace, operation: OperationId, client: string): string =>
  `${operationGenerationKey(space, operation)}:client:${digestTexts(client)}`

export const queryGenerationKey = (space: CacheKeySpace, operation: OperationId, query: string): string =>
  `${operationGenerationKey(space, operation)}:query:${digestTexts(query)}`

// An entry is a hash. `g`: generations. Then `v`: Vary names; or `t`: Redis's time, `d`: Date, `h`: head, `b`: body.

/**
 * KEYS: entry, generations. ARGV: most bytes. Returns time in ms, generations, and `v`, `t`, `h`, `b` if valid and
 * short.
 */
export const findScript = createScript(`
local time = redis.call('TIME')
local found = { string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) }
local now = ''
for i = 2, #KEYS do
  local generation = redis.pcall('GET', KEYS[i])
  if type(generation) ~= 'string' then generation = false end
  found[i] = generation
  now = now .. (generation or '-') .. ' '
end
local bytes = 0
for _, name in ipairs({ 'g', 'v', 't', 'h', 'b' }) do
  local length = redis.pcall('HSTRLEN', KEYS[1], name)
  if type(length) ~= 'number' then return found end
  bytes = bytes + length
end
if bytes == 0 or bytes > tonumber(ARGV[1]) then return found end
local stored = redis.call('HMGET', KEYS[1], 'g', 'v', 't', 'h', 'b')
if stored[1] ~= now then return found end
for i = 2, 5 do found[#KEYS + i - 1] = stored[i] end
return found
`)

/**
 * Stores a response unless, since the lookup, a generation ended or a response with a later Date was stored. KEYS: base
 * key, entry, generations. ARGV: generations at the lookup (empty: none), a new one, lifetimes of generation and
 * response, Vary names, head, body, `1` to replace no other, Date, time of the lookup. Returns 1 if stored.
 */
export const storeScript = createScript(`
for i = 3, 5 do
  if (redis.call('GET', KEYS[i]) or '') ~= ARGV[i - 2] then return 0 end
end
local now = ''
for i = 3, 5 do
  local generation = ARGV[i - 2]
  if generation == '' then
    generation = ARGV[4]
    redis.call('SET', KEYS[i], generation, 'PX', ARGV[5])
  else
    redis.call('PEXPIRE', KEYS[i], ARGV[5])
  end
  now = now .. generation .. ' '
end
if ARGV[10] == '1' and redis.pcall('HMGET', KEYS[1], 'g')[1] == now then return 0 end
local stored = redis.pcall('HMGET', KEYS[2], 'g', 't', 'd')
local cameSince = (tonumber(stored[2]) or 0) > tonumber(ARGV[12])
if stored[1] == now and cameSince and (tonumber(stored[3]) or 0) > tonumber(ARGV[11]) then return 0 end
local time = redis.call('TIME')
local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if KEYS[1] ~= KEYS[2] then
  local left = math.max(tonumber(ARGV[6]), redis.call('PTTL', KEYS[1]))
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'g', now, 'v', ARGV[7])
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left))
end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'g', now, 't', at, 'd', ARGV[11], 'h', ARGV[8], 'b', ARGV[9])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return 1
`)

export const maxLifetimeMs = 7 * 24 * 3_600_000

// Entries expire before their generation.
export const generationMs = String(maxLifetimeMs + 24 * 3_600_000)

export const newGeneration = (): string => randomBytes(16).toString('hex')

/** KEYS: generations. ARGV: the new one, and its lifetime. */
export const renewScript = createScript(`
for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return 1
`)

export interface RedisEntry {
  /** Redis's clock, in milliseconds since the epoch. */
  readonly foundAt: number
  readonly generations: readonly string[]
  /** Null: no variants. */
  readonly names: readonly string[] | null
  readonly stored: { readonly head: Buffer; readonly body: Buffer; readonly ageMs: number } | null
}

const maxNamesLength = 4096

export const parseEntry = (reply: unknown): RedisEntry | null => {
  if (!Array.isArray(reply)) return null
  const [time, ...rest] = reply as readonly unknown[]
  const foundAt = parseNumber(time)
  const generations = rest.slice(0, generationCount).map((each) => (each === null ? '' : parseText(each)))
  if (Number.isNaN(foundAt) || generations.length < generationCount) return null
  if (!generations.every((each) => /^([0-9a-f]{32})?$/.test(each))) return null
  const [varies, writtenTime, head, body] = rest.slice(generationCount)
  const entry = { foundAt, generations, names: null, stored: null }
  if (varies instanceof Buffer)
    return varies.length > maxNamesLength ? entry : { ...entry, names: parseText(varies).split(',') }
  const writtenAt = parseNumber(writtenTime)
  if (Number.isNaN(writtenAt) || !(head instanceof Buffer) || !(body instanceof Buffer)) return entry
  return { ...entry, stored: { head, body, ageMs: Math.max(0, foundAt - writtenAt) } }
}

/** ' ' matches no pattern. */
const parseText = (bytes: unknown): string => (bytes instanceof Buffer ? bytes.toString('latin1') : ' ')

const parseNumber = (bytes: unknown): number => {
  const text = parseText(bytes)
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}
