import type { Group } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import { openChannel, type ProcessPlace } from './channel.ts'
import {
  type OtherSide,
  type ProcessPart,
  type ProcessParts,
  type RuntimePart,
  runtimePartLoaders,
  type ServingProcess,
  type SnapshotInput,
  type SnapshotPart,
  type SnapshotParts,
} from './runtime-part.ts'

/** By the name of the feature, in the order of the list of features. */
export const runtimeParts: ReadonlyMap<string, RuntimePart> = new Map(
  await Promise.all([...runtimePartLoaders].map(async ([name, load]) => [name, await load()] as const)),
)

/** Loads what a configuration needs, before a snapshot is built from it. */
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

export const acquireParts = (
  opened: ProcessParts,
  input: SnapshotInput,
  previous: SnapshotParts | null,
): SnapshotParts => {
  const acquired: Record<string, SnapshotPart> = {}
  const parts = acquired as SnapshotParts
  const otherSide = (group: Group) =>
    Object.values(opened).reduce<OtherSide | null>(
      (found, part) => found ?? part.findOtherSide?.(input, group) ?? null,
      null,
    )
  for (const [name, part] of Object.entries(opened))
    acquired[name] = part.acquire(input, previous?.[name] ?? null, { parts, otherSide })
  return parts
}
