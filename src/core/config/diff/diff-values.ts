import type { Group } from '../../../operations.ts'
import { isPlainObject, ownMember } from '../../lib/plain-object.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'

/**
 * `path` is where the values differ. Null: not set. A secret is `***`. A file that changed under the same name has the
 * start of its digest: `contract.yaml@1f0c9a7be2d4`.
 */
export interface ValueChange {
  readonly path: string
  readonly from: unknown
  readonly to: unknown
}

export type Digests = { readonly [path: string]: string }

export type ReportTree = { readonly [key: string]: unknown }

export interface ConfigReport {
  readonly hash: string
  readonly config: ReportTree
  readonly digests: Digests
}

export interface ConfigChange extends ValueChange {
  readonly part: string
  readonly group: Group | null
}

interface ComparedValue {
  readonly shown: unknown
  /** JSON, equal for equal values. A masked value is represented by its digest. */
  readonly identity: unknown
  /** Members of a map by key, of a list with named entries by name; null: one value. */
  readonly members: ReadonlyMap<string, ComparedValue> | null
}

export const toComparedValue = (value: unknown, path: KeyPath, digests: Digests): ComparedValue => {
  const digest = ownMember(digests, formatKeyPath(path))
  if (Array.isArray(value)) {
    const entries = value.map((entry, index) => toComparedValue(entry, [...path, index], digests))
    return { shown: value, identity: [digest, entries.map(({ identity }) => identity)], members: groupByName(entries) }
  }
  if (isPlainObject(value)) {
    const members = new Map(
      Object.entries(value).map(([key, member]) => [key, toComparedValue(member, [...path, key], digests)]),
    )
    return { shown: value, identity: identityOf(members), members }
  }
  return { shown: value, identity: [digest, value], members: null }
}

/** Compares maps by key and named entries by name. Any other list is one value: order counts. */
export const diffValues = (
  path: KeyPath,
  from: ComparedValue | undefined,
  to: ComparedValue | undefined,
): readonly ValueChange[] => {
  if (from?.members && to?.members) {
    const [before, after] = [from.members, to.members]
    const keys = [...new Set([...before.keys(), ...after.keys()])]
    const changes = keys.flatMap((key) => diffValues([...path, key], before.get(key), after.get(key)))
    if (changes.length > 0 || !Array.isArray(to.shown)) return changes
  }
  if (JSON.stringify(from?.identity) === JSON.stringify(to?.identity)) return []
  return [{ path: formatKeyPath(path), from: from?.shown ?? null, to: to?.shown ?? null }]
}

const identityOf = (members: ReadonlyMap<string, ComparedValue>): unknown =>
  [...members].map(([key, { identity }]) => [key, identity])

const groupByName = (entries: readonly ComparedValue[]): ComparedValue['members'] => {
  const named = Map.groupBy(entries, ({ members }) => {
    const name = nameKeys.map((key) => members?.get(key)?.shown).find((value) => value !== undefined)
    return typeof name === 'string' ? name : null
  })
  if (named.has(null)) return null
  return new Map([...named].map(([name, same]) => [name as string, joinEntries(same.map(withoutName))]))
}

const nameKeys = ['id', 'name'] as const

const withoutName = ({ members }: ComparedValue): ComparedValue => {
  const own = new Map([...(members ?? [])].filter(([key]) => !nameKeys.some((name) => name === key)))
  const shown = [...own].flatMap(([key, member]) => (member.shown === '***' ? [] : [[key, member.shown]]))
  const single = shown.length === 1 ? shown[0]?.[1] : Object.fromEntries(shown)
  return { shown: single, identity: identityOf(own), members: own }
}

/** While a token is being replaced, an operator has two tokens of one name. */
const joinEntries = (entries: readonly ComparedValue[]): ComparedValue => {
  const [only] = entries
  if (only !== undefined && entries.length === 1) return only
  const identities = entries.map(({ identity }) => JSON.stringify(identity))
  return { shown: entries.map(({ shown }) => shown), identity: identities.sort(), members: null }
}
