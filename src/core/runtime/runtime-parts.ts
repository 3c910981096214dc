import { openChannel, type ProcessPlace } from './channel.ts'
import {
  type ProcessPart,
  type ProcessParts,
  type RuntimePart,
  runtimePartSources,
  type ServingProcess,
  type SnapshotContext,
  type SnapshotInput,
  type SnapshotPart,
  type SnapshotParts,
} from './runtime-part.ts'

const loaded = new Map<string, RuntimePart>()

export const listUsedParts = (input: SnapshotInput): readonly string[] => {
  const used = new Set(
    [...runtimePartSources].flatMap(([name, { isUsed }]) => ((isUsed?.(input) ?? true) ? [name] : [])),
  )
  for (const name of used) for (const other of runtimePartSources.get(name)?.runsWith ?? []) used.add(other)
  return [...runtimePartSources.keys()].filter((name) => used.has(name))
}

export const prepareParts = async (input: SnapshotInput): Promise<void> => {
  const parts = await loadParts(listUsedParts(input))
  await Promise.all(parts.map((part) => part.prepare?.(input.config)))
}

export const loadParts = (names: Iterable<string> = runtimePartSources.keys()): Promise<readonly RuntimePart[]> =>
  Promise.all(
    [...names].map(async (name) => {
      const part = await find(runtimePartSources, name).load()
      loaded.set(name, part)
      return part
    }),
  )

const find = <Part>(parts: ReadonlyMap<string, Part>, name: string): Part => {
  const part = parts.get(name)
  if (part === undefined) throw new TypeError(`the part of ${name} is not loaded`)
  return part
}

// Parts that every configuration uses load with this file, while the configuration is read.
await loadParts([...runtimePartSources].flatMap(([name, { isUsed }]) => (isUsed === null ? [name] : [])))

export const openParts = (
  process: Omit<ServingProcess, 'channel' | 'parts'> & { readonly place: ProcessPlace },
  names: Iterable<string>,
  opened: Record<string, ProcessPart> = {},
): ProcessParts => {
  const parts = opened as ProcessParts
  for (const name of names)
    opened[name] ??= find(loaded, name).open({ ...process, channel: openChannel(name, process.place), parts })
  return parts
}

type OpenUpstreams = Pick<SnapshotContext, 'upstreams' | 'openUpstream'>

/** `acquired` gets each part at once: if a later part throws, the caller releases the earlier ones. */
export const acquireParts = (
  opened: ProcessParts,
  input: SnapshotInput,
  previous: SnapshotParts | null,
  { upstreams, openUpstream }: OpenUpstreams,
  acquired: Record<string, SnapshotPart> = {},
): SnapshotParts => {
  const parts = acquired as SnapshotParts
  const context = createContext(opened, input, parts, { upstreams, openUpstream })
  for (const name of runtimePartSources.keys()) {
    const part = opened[name]
    if (part !== undefined) acquired[name] = part.acquire(input, previous?.[name] ?? null, context)
  }
  return parts
}

const createContext = (
  opened: ProcessParts,
  input: SnapshotInput,
  parts: SnapshotParts,
  { upstreams, openUpstream }: OpenUpstreams,
): SnapshotContext => ({
  parts,
  upstreams,
  openUpstream,
  otherSide: (group) => firstOf(opened, (part) => part.findOtherSide?.(input, group)),
  repeatKeyField: (operation, upstream) => firstOf(parts, (part) => part.repeatKeyField?.(operation, upstream)),
  findUpstream: (group, side) =>
    side === 'primary' ? upstreams[group] : firstOf(parts, ({ others }) => others?.[group]),
})

export const firstOf = <Part, T>(
  parts: Readonly<Record<string, Part>>,
  find: (part: Part) => T | null | undefined,
): T | null => {
  for (const part of Object.values(parts)) {
    const found = find(part)
    if (found != null) return found
  }
  return null
}
