import { formatKey } from '../problem.ts'
import type { ConfigChange, ConfigReport } from './diff-reports.ts'

type Entry = { readonly name: string; readonly [member: string]: unknown }
type ValueChange = Pick<ConfigChange, 'path' | 'from' | 'to'>
type Digests = ConfigReport['digests']

/**
 * Splits the change of a list whose entries have names, such as `admin.tokens`, by name: whole, it is a line of JSON in
 * which an operator who came or went is hard to find. Other changes stay as they are.
 */
export const splitByName = (change: ValueChange, before: Digests, after: Digests): readonly ValueChange[] => {
  const [from, to] = [readEntries(change.from), readEntries(change.to)]
  if (from === null || to === null) return [change]
  const names = [...new Set([...from, ...to].map(({ name }) => name))]
  const changes = names.flatMap((name): readonly ValueChange[] => {
    const [was, is] = [pickNamed(name, from, change.path, before), pickNamed(name, to, change.path, after)]
    return was.identity === is.identity
      ? []
      : [{ path: `${change.path}.${formatKey(name)}`, from: was.value, to: is.value }]
  })
  return changes.length === 0 ? [change] : changes // they stand in another order
}

/** Reads a list whose entries all have names; null: it is another value. */
const readEntries = (value: unknown): readonly Entry[] | null =>
  Array.isArray(value) && value.every((entry) => typeof Object(entry).name === 'string') ? value : null

/**
 * Picks what is said of a name: of several entries a list, as while a token is being replaced; null: nothing. Secrets
 * are left out, and tell by their digests alone whether it is the same as before.
 */
const pickNamed = (
  wanted: string,
  entries: readonly Entry[],
  path: string,
  digests: Digests,
): { readonly identity: string; readonly value: unknown } => {
  const own = entries.flatMap(({ name, ...rest }, index) => (name === wanted ? [{ rest, index }] : []))
  const identity = own.map(({ rest, index }) => {
    const secrets = Object.entries(digests).filter(([key]) => key.startsWith(`${path}[${index}].`))
    return JSON.stringify([rest, secrets.map(([, digest]) => digest)])
  })
  const values = own.map(({ rest }) => simplify(Object.entries(rest).filter(([, value]) => value !== '***')))
  return { identity: identity.sort().join('\n'), value: values.length > 1 ? values : (values[0] ?? null) }
}

/** Gives the value of a single member in place of a map of it. */
const simplify = (members: readonly (readonly [string, unknown])[]): unknown =>
  members.length === 1 ? members[0]?.[1] : Object.fromEntries(members)
