import type { Config } from '../config/config.ts'
import { openChannel, type ProcessPlace } from './channel.ts'
import {
  type ProcessPart,
  type ProcessParts,
  runtimePartLoaders,
  type ServingProcess,
  type SnapshotContext,
  type SnapshotInput,
  type SnapshotPart,
  type SnapshotParts,
} from './runtime-part.ts'

/** In the order of the list of features. */
export const runtimeParts = await runtimePartLoaders.byFeature()

export const prepareParts = async (config: Config): Promise<void> => {
  await Promise.all([...runtimeParts.values()].map((part) => part.prepare?.(config)))
}

export const openParts = (
  process: Omit<ServingProcess, 'channel' | 'parts'> & { readonly place: ProcessPlace },
): ProcessParts => {
  const opened: Record<string, ProcessPart> = {}
  const parts = opened as ProcessParts
  for (const [name, part] of runtimeParts)
    opened[name] = part.open({ ...process, channel: openChannel(name, process.place), parts })
  return parts
}

type OpenUpstreams = Pick<SnapshotContext, 'upstreams' | 'openUpstream'>

/** `acquired` gets each part at once: if a later one throws, the caller releases the earlier ones. */
export const acquireParts = (
  opened: ProcessParts,
  input: SnapshotInput,
  previous: SnapshotParts | null,
  { upstreams, openUpstream }: OpenUpstreams,
  acquired: Record<string, SnapshotPart> = {},
): SnapshotParts => {
  const parts = acquired as SnapshotParts
  const context = createContext(opened, input, parts, { upstreams, openUpstream })
  for (const [name, part] of Object.entries(opened))
    acquired[name] = part.acquire(input, previous?.[name] ?? null, context)
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
