import '../../../test/helpers/install-features.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { createAuthProvider } from '../../../src/features/auth/auth-provider.ts'
import { TokenVerifiers } from '../../../src/features/auth/tokens/token-verifiers.ts'
import { describeLayers } from '../../../src/features/explain/operation-details.ts'
import { RateLimiterRegistry } from '../../../src/features/limits/rate-limiter/rate-limiter-registry.ts'
import { get, post } from '../workload.ts'

/** Reads from the file that a gateway runs which layers stand in the list that it composes, the outermost first. */
export const readLayerList = (file: string): readonly string[] => {
  const loaded = loadConfig(file, {})
  if (!loaded.ok) throw new Error(`${file}: ${JSON.stringify(loaded.problems)}`)
  const { config } = loaded
  const guard = createAuthProvider(
    config,
    new TokenVerifiers(() => {}),
    new RateLimiterRegistry({ kind: 'alone' }, () => {}),
  )
  const rowsOf = ({ operation }: typeof get) => describeLayers(config, operation, guard)
  // A GET happens as often as it is asked for.
  const rows = [...rowsOf(post).filter(({ name }) => name === 'idempotency'), ...rowsOf(get)]
  guard.release()
  // A contract is evaluated only where traffic is served, so its rows have no layer here.
  const isOn = ({ name, setting, layer }: (typeof rows)[number]): boolean =>
    layer !== null || (name.endsWith('-contract') && setting !== 'off')
  return rows.filter(isOn).map(({ name }) => name)
}
