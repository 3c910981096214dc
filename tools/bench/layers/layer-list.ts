import '../../../test/helpers/install-features.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { describeLayers } from '../../../src/features/explain/operation-details.ts'
import { get, post } from '../workload.ts'

/** Reads from the file that a gateway runs which layers stand in the list that it composes, the outermost first. */
export const readLayerList = (file: string): readonly string[] => {
  const loaded = loadConfig(file, {})
  if (!loaded.ok) throw new Error(`${file}: ${JSON.stringify(loaded.problems)}`)
  const { config } = loaded
  const rowsOf = ({ operation }: typeof get) => describeLayers(config, operation)
  // A GET happens as often as it is asked for.
  const rows = [...rowsOf(post).filter(({ name }) => name === 'idempotency'), ...rowsOf(get)]
  // A contract is evaluated only where traffic is served, so its rows have no layer here.
  const isOn = ({ name, setting, layer }: (typeof rows)[number]): boolean =>
    layer !== null || (name.endsWith('-contract') && setting !== 'off')
  return rows.filter(isOn).map(({ name }) => name)
}
