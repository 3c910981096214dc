import { loadConfig } from '../../../src/config/load/load.ts'
import { nullAuditSink } from '../../../src/observe/audit/audit-sink.ts'
import { RequestMetrics } from '../../../src/observe/metrics/request-metrics.ts'
import { createAuthProvider } from '../../../src/runtime/pipeline/auth-provider.ts'
import { layerTable } from '../../../src/runtime/pipeline/layer-stack.ts'
import { createEmptyCache } from '../../../src/runtime/resources/cache-registry.ts'
import { acquireClientLimits } from '../../../src/runtime/resources/client-limits.ts'
import { createProcessLoad } from '../../../src/runtime/resources/process-load.ts'
import { TokenVerifiers } from '../../../src/runtime/resources/token-verifiers.ts'
import { RateLimiterRegistry } from '../../../src/shared/rate-limiter/rate-limiter-registry.ts'
import { get } from '../workload.ts'

/** Reads from the file that a gateway runs which layers stand in the list that it composes, the outermost first. */
export const readLayerList = (file: string): readonly string[] => {
  const loaded = loadConfig(file, {})
  if (!loaded.ok) throw new Error(`${file}: ${JSON.stringify(loaded.problems)}`)
  const { config } = loaded
  const { operation } = get
  const guard = createAuthProvider(
    config,
    new TokenVerifiers(() => {}),
    new RateLimiterRegistry({ kind: 'alone' }, () => {}),
  )
  const rows = layerTable({
    operation,
    config,
    retryBudget: null,
    addressLimiter: null,
    authProvider: guard,
    clientLimits: acquireClientLimits(
      config.clients,
      config.limits,
      new RateLimiterRegistry({ kind: 'primary' }, () => {}),
    ),
    processLoad: createProcessLoad(),
    tracing: null,
    requestMetrics: new RequestMetrics(),
    auditSink: nullAuditSink,
    caches: createEmptyCache(config),
  })
  guard.release()
  return rows.filter(({ layer }) => layer !== null).map(({ name }) => name)
}
