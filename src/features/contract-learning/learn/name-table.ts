import { hash } from 'node:crypto'
import { copyText } from '../../../core/lib/buffers.ts'

/** A name that fewer than three requests had may be a misplaced secret: only its keyed hash is kept (decision 058). */
export interface NameTable<T> {
  readonly named: Map<string, { readonly hash: string; readonly learned: T }>
  readonly unnamed: Map<string, UnnamedEntry<T>>
  leftOut: number
}

interface UnnamedEntry<T> {
  /** A lower bound. */
  sightings: number
  lastSeenIn: number
  readonly learned: T
}

export const addCounts =
  <Name extends string>(...names: readonly Name[]) =>
  (into: Record<Name, number>, from: Readonly<Record<Name, number>>): void => {
    for (const name of names) into[name] += from[name]
  }

export interface Sighting {
  /** Tables that are merged have the same key. */
  readonly key: string
  message: number
}

const sightingsToName = 3

export const createNameTable = <T>(): NameTable<T> => ({ named: new Map(), unnamed: new Map(), leftOut: 0 })

export const tableSize = ({ named, unnamed }: NameTable<unknown>): number => named.size + unnamed.size

export const learnedInTable = <T>({ named, unnamed }: NameTable<T>): readonly T[] =>
  [...named.values(), ...unnamed.values()].map(({ learned }) => learned)

/** Keeps the name at its third sighting. Undefined: the name is new. */
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

export const addName = <T>(table: NameTable<T>, name: string, learned: T, { key, message }: Sighting): T => {
  table.unnamed.set(hashName(key, name), { sightings: 1, lastSeenIn: message, learned })
  return learned
}

/** `sighting` null: no client can have made up the name. Undefined: the table is full. */
export const findOrAddName = <T>(
  table: NameTable<T>,
  name: string,
  sighting: Sighting | null,
  { max, create }: { readonly max: number; readonly create: () => T },
): T | undefined => {
  const found = sighting === null ? table.named.get(name)?.learned : findByName(table, name, sighting)
  if (found !== undefined) return found
  if (tableSize(table) >= max) {
    table.leftOut++
    return undefined
  }
  const learned = create()
  if (sighting !== null) return addName(table, name, learned, sighting)
  table.named.set(name, { hash: name, learned })
  return learned
}

/** One message may be in both tables: the larger number holds. A name that a full table lacks is dropped. */
export const mergeNameTable = <T>(
  into: NameTable<T>,
  from: NameTable<T>,
  create: () => T,
  merge: (into: T, from: T) => void,
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

/** 72 bits. V8 copies texts of up to twelve characters; a longer part would keep the whole hash alive. */
const hashName = (key: string, name: string): string => hash('sha256', `${key}\n${name}`, 'base64url').slice(0, 12)
