import { hash } from 'node:crypto'
import { copyText } from '../../../core/lib/buffers.ts'

/**
 * What was learnt by name. A name that fewer than three requests had may be a secret in the wrong place: until then its
 * entry is found by a keyed hash, and the name is nowhere
 * (docs/decisions/058-learning-keeps-no-names-it-has-seen-once.md).
 */
export interface NameTable<T> {
  readonly named: Map<string, NamedEntry<T>>
  /** By hash. */
  readonly unnamed: Map<string, UnnamedEntry<T>>
  /** How often a name was not recorded, because the table was full. */
  leftOut: number
}

interface NamedEntry<T> {
  readonly hash: string
  readonly learned: T
}

interface UnnamedEntry<T> {
  /** How many requests, or responses, had the name, at least. */
  sightings: number
  /** The number of the one that had it last. */
  lastSeenIn: number
  readonly learned: T
}

export interface Counted {
  count: number
}

export const countedEntries = {
  create: (): Counted => ({ count: 0 }),
  merge: (into: Counted, from: Counted): void => {
    into.count += from.count
  },
}

export interface Sighting {
  /** The key of the hashes. Tables that are merged have the same. */
  readonly key: string
  /** Its number: many sightings in one request are one. */
  message: number
}

/** How many requests, or responses, have to have a name before it is kept. */
const sightingsToName = 3

export const createNameTable = <T>(): NameTable<T> => ({ named: new Map(), unnamed: new Map(), leftOut: 0 })

export const tableSize = ({ named, unnamed }: NameTable<unknown>): number => named.size + unnamed.size

/** Lists what was learnt of each name, those without a name included. */
export const learnedInTable = <T>({ named, unnamed }: NameTable<T>): readonly T[] =>
  [...named.values(), ...unnamed.values()].map(({ learned }) => learned)

/** Finds what was learnt of a name, and keeps the name at its third sighting. Undefined: it is new. */
export const findByName = <T>(table: NameTable<T>, name: string, { key, message }: Sighting): T | undefined => {
  const known = table.named.get(name)
  if (known !== undefined) return known.learned
  const hashed = hashName(key, name)
  const entry = table.unnamed.get(hashed)
  if (entry === undefined) return undefined
  if (entry.lastSeenIn !== message) entry.sightings++
  entry.lastSeenIn = message
  if (entry.sightings >= sightingsToName) {
    table.unnamed.delete(hashed)
    table.named.set(copyText(name), { hash: hashed, learned: entry.learned })
  }
  return entry.learned
}

/** Adds a name that {@link findByName} has not found. */
export const addName = <T>(table: NameTable<T>, name: string, learned: T, { key, message }: Sighting): T => {
  table.unnamed.set(hashName(key, name), { sightings: 1, lastSeenIn: message, learned })
  return learned
}

/** Finds or adds a name, in a table of at most `max`. Undefined: the table is full. */
export const findOrAddName = <T>(
  table: NameTable<T>,
  name: string,
  sighting: Sighting,
  { max, create }: { readonly max: number; readonly create: () => T },
): T | undefined => {
  const found = findByName(table, name, sighting)
  if (found !== undefined) return found
  if (tableSize(table) < max) return addName(table, name, create(), sighting)
  table.leftOut++
  return undefined
}

/** Finds or adds a name that no client can have made up: it is kept at once. Undefined: the table is full. */
export const findOrAddKnownName = <T>(
  table: NameTable<T>,
  name: string,
  { max, create }: { readonly max: number; readonly create: () => T },
): T | undefined => {
  const known = table.named.get(name)
  if (known !== undefined) return known.learned
  if (tableSize(table) >= max) {
    table.leftOut++
    return undefined
  }
  const learned = create()
  table.named.set(name, { hash: name, learned })
  return learned
}

/**
 * Merges a table into another. One request may stand behind the sightings of both, as of two members of a map: the
 * larger number holds, and not the sum. Of a table that has left names out, a name that it lacks may be one of those:
 * what the other learnt of that name is not all, so it is dropped.
 */
export const mergeNameTable = <T>(
  into: NameTable<T>,
  from: NameTable<T>,
  { create, merge }: { readonly create: () => T; readonly merge: (into: T, from: T) => void },
): void => {
  const full = [into, from].filter(({ leftOut }) => leftOut > 0).map(hashesIn)

  for (const [name, { hash: hashed, learned }] of from.named) {
    const entry = into.named.get(name) ?? { hash: hashed, learned: into.unnamed.get(hashed)?.learned ?? create() }
    into.unnamed.delete(hashed)
    into.named.set(name, entry)
    merge(entry.learned, learned)
  }
  const byHash = new Map([...into.named.values()].map((entry) => [entry.hash, entry]))
  for (const [hashed, { sightings, lastSeenIn, learned }] of from.unnamed) {
    const entry = byHash.get(hashed) ?? into.unnamed.get(hashed) ?? { sightings: 0, lastSeenIn: 0, learned: create() }
    if ('sightings' in entry) {
      entry.sightings = Math.max(entry.sightings, sightings)
      entry.lastSeenIn = Math.max(entry.lastSeenIn, lastSeenIn)
      into.unnamed.set(hashed, entry)
    }
    merge(entry.learned, learned)
  }

  into.leftOut += from.leftOut
  const isWhole = (hashed: string) => full.every((hashes) => hashes.has(hashed))
  for (const [name, { hash: hashed }] of into.named) if (!isWhole(hashed)) into.named.delete(name)
  for (const hashed of into.unnamed.keys()) if (!isWhole(hashed)) into.unnamed.delete(hashed)
}

const hashesIn = ({ named, unnamed }: NameTable<unknown>): Set<string> =>
  new Set([...[...named.values()].map((entry) => entry.hash), ...unnamed.keys()])

/**
 * Hashes a name. Twelve characters are 72 bits, and the longest piece that V8 copies: a longer one would keep the whole
 * hash alive.
 */
const hashName = (key: string, name: string): string => hash('sha256', `${key}\n${name}`, 'base64url').slice(0, 12)
