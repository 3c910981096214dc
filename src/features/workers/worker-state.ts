import type { Config } from '../../core/config/config.ts'
import { type PackedConfig, packConfig, unpackConfig } from '../../core/config/transfer-parts.ts'
import type { OverridesView } from '../../core/runtime/overrides.ts'
import type { SnapshotInput } from '../../core/runtime/runtime-part.ts'

/** A {@link SnapshotInput} that can be sent to another process: plain data. */
export interface SerializedSnapshotInput extends PackedConfig {
  /** The overrides of each kind. */
  readonly overrides: Readonly<Record<string, readonly (readonly [string, unknown])[]>>
  readonly sandboxOrigin: string | null
}

export const serializeInput = ({ config, overrides, sandboxOrigin }: SnapshotInput): SerializedSnapshotInput => ({
  ...packConfig({ ...config, admin: withoutCredentials(config.admin) }, 'worker'),
  overrides: Object.fromEntries(Object.entries(overrides).map(([kind, { all }]) => [kind, all])),
  sandboxOrigin,
})

/** Leaves out what opens the admin listener: workers speak with clients, and the primary alone with operators. */
const withoutCredentials = (admin: Config['admin']): Config['admin'] => ({
  ...admin,
  token: null,
  metricsToken: null,
  tokens: [],
  tls: null,
})

export const deserializeInput = async (
  { config, packed, overrides, sandboxOrigin }: SerializedSnapshotInput,
  running: Config | null,
): Promise<SnapshotInput> => ({
  config: await unpackConfig({ config, packed }, running),
  overrides: Object.fromEntries(
    Object.entries(overrides).map(([kind, all]) => [kind, toLookup(all)]),
  ) as unknown as OverridesView,
  sandboxOrigin,
})

const toLookup = <Key, Value>(all: readonly (readonly [Key, Value])[]) => {
  const byKey = new Map(all)
  return { all, get: (key: Key): Value | null => byKey.get(key) ?? null }
}
