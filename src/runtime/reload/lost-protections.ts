import type { Config } from '../../config/config.ts'
import { allOperations, groups } from '../../operations.ts'

/** A setting that is on or off, and keeps out attackers, or shows what they did. */
interface Protection {
  /** The key of the file. */
  readonly path: string
  isOn(config: Config): boolean
}

// All that a rollback switches off by force alone. `listen.tls` and `auth.mtls` are not here: a rollback keeps them.
const protections: readonly Protection[] = [
  ...allOperations.map(({ id }) => ({
    path: `operations.${id}.auth`,
    isOn: ({ operations }: Config) => operations[id].auth !== null,
  })),
  { path: 'audit', isOn: ({ audit }) => audit !== null },
  ...groups.map((group) => ({
    path: `upstreams.${group}.tls.verify`,
    isOn: ({ upstreams }: Config) => upstreams[group].tls.verify,
  })),
]

/**
 * Lists the protections that the current configuration has and the next one lacks, by their keys. The key `auth` stands
 * for all operations, where the next one has no authentication at all.
 */
export const findLostProtections = (current: Config, next: Config): readonly string[] => {
  const lost = protections.filter(({ isOn }) => isOn(current) && !isOn(next)).map(({ path }) => path)
  if (next.auth !== null) return lost
  const others = lost.filter((path) => !path.endsWith('.auth'))
  return others.length === lost.length ? lost : ['auth', ...others]
}
