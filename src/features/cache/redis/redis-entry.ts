import { hash, randomBytes } from 'node:crypto'
import { allOperations, type OperationId } from '../../../operations.ts'
import { createScript } from '../../redis/redis-server.ts'
import type { PurgeScope } from '../store/cache-store.ts'
import type { CacheKey } from '../store/stored-response.ts'

/** Hashes texts: what a client says may be long, and hold anything. */
const digestTexts = (...texts: readonly string[]): string => hash('sha256', JSON.stringify(texts), 'base64url')

export interface CacheKeySpace {
  readonly prefix: string
  /** Whether it is a cluster. There a script needs keys of one slot, so those of one operation share a `{tag}`. */
  readonly isCluster: boolean
}

// Not in other Redises too: gateways of neighbouring versions share what is in them (docs/versioning.md).
const operationPrefix = ({ prefix, isCluster }: CacheKeySpace, operation: OperationId): string =>
  isCluster ? `${prefix}:cache:{${operation}}` : `${prefix}:cache`

/**
 * Builds the Redis key of all variants of a cache key. `shape` is of the configuration that decides what a response is:
 * gateways with another one do not find it.
 */
export const baseKey = (
  space: CacheKeySpace,
  shape: string,
  operation: OperationId,
  { client, site, query }: CacheKey,
): string => `${operationPrefix(space, operation)}:${digestTexts(shape, operation, client, site, query)}`

export const variantKey = (base: string, selecting: string): string => `${base}:${digestTexts(selecting)}`

/** The generations of a response: of its operation, and within that of its client and of its query. */
const generationCount = 3

/** They have no shape: a purge is for all gateways. */
export const generationKeys = (
  space: CacheKeySpace,
  operation: OperationId,
  { client, query }: CacheKey,
): readonly string[] => [
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

// A stored entry is a hash. `g` holds its generations. Then follows either `v`, the names of the fields that responses
// vary by, or a response: `t` when it was written, by Redis's own clock, `d` its Date, `h` its head, `b` its body.

/**
 * Finds a stored entry. KEYS: its key, and its generations. ARGV: the most bytes wanted. Returns the time in
 * milliseconds, the present generations, and `v`, `t`, `h` and `b`, unless they are of another generation, or too long.
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
 * Stores a response, unless since it was looked up a generation has ended, or one with a later Date was stored. KEYS:
 * its base key, its own key, and its generations. ARGV: these as they were (empty: there was none), a new one, how long
 * a generation lives, how long the response lives, the names of what it varies by, its head and its body, `1` if it
 * must replace no other, its Date, and when it was looked up. Returns 1 if it is stored.
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

// An entry of a forgotten generation has expired before it.
export const generationMs = String(maxLifetimeMs + 24 * 3_600_000)

export const newGeneration = (): string => randomBytes(16).toString('hex')

/** Ends generations. KEYS: theirs. ARGV: the new one, and how long it lives. */
export const renewScript = createScript(`
for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return 1
`)

export interface RedisEntry {
  /** When, by Redis's own clock: in milliseconds since the epoch. */
  readonly foundAt: number
  /** The generations as they were; an empty text means that there was none. */
  readonly generations: readonly string[]
  readonly content: RedisEntryContent | null
}

/** The content of a key: the names that responses vary by, or one response. */
type RedisEntryContent =
  | { readonly kind: 'varies'; readonly names: string }
  | { readonly kind: 'response'; readonly head: Buffer; readonly body: Buffer; readonly ageMs: number }

// Of the names of fields that responses vary by.
const maxNamesLength = 4096

/** Parses what {@link findScript} returns; null: it is no entry. */
export const parseEntry = (reply: unknown): RedisEntry | null => {
  if (!Array.isArray(reply)) return null
  const [time, ...rest] = reply as readonly unknown[]
  const now = parseNumber(time)
  const knownGenerations = rest.slice(0, generationCount).map((each) => (each === null ? '' : parseText(each)))
  if (
    Number.isNaN(now) ||
    knownGenerations.length < generationCount ||
    !knownGenerations.every((each) => /^([0-9a-f]{32})?$/.test(each))
  )
    return null
  return { foundAt: now, generations: knownGenerations, content: parseContent(rest.slice(generationCount), now) }
}

const parseContent = ([names, time, head, body]: readonly unknown[], now: number): RedisEntryContent | null => {
  if (names instanceof Buffer) return names.length > maxNamesLength ? null : { kind: 'varies', names: parseText(names) }
  const writtenAt = parseNumber(time)
  if (Number.isNaN(writtenAt) || !(head instanceof Buffer) || !(body instanceof Buffer)) return null
  return { kind: 'response', head, body, ageMs: Math.max(0, now - writtenAt) }
}

/** Reads a short text; for anything else, one that matches no pattern. */
const parseText = (bytes: unknown): string => (bytes instanceof Buffer ? bytes.toString('latin1') : ' ')

const parseNumber = (bytes: unknown): number => {
  const text = parseText(bytes)
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}
