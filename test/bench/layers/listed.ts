import { loadConfig } from '../../../src/config/load.ts'
import { noAuditor } from '../../../src/observe/audit/line.ts'
import { Meter } from '../../../src/observe/metrics/meter.ts'
import { Limiters } from '../../../src/shared/limiter/limiters.ts'
import { noCaches } from '../../../src/snapshot/caches.ts'
import { holdClientLimits } from '../../../src/snapshot/client-limits.ts'
import { guardOf } from '../../../src/snapshot/guard.ts'
import { noPressure } from '../../../src/snapshot/pressure.ts'
import { stackRows } from '../../../src/snapshot/stack.ts'
import { TokenSources } from '../../../src/snapshot/token-sources.ts'
import { get } from '../workload.ts'

/** Reads from the file that a gateway runs which layers stand in the list that it composes, the outermost first. */
export const listed = (file: string): readonly string[] => {
  const loaded = loadConfig(file, {})
  if (!loaded.ok) throw new Error(`${file}: ${JSON.stringify(loaded.problems)}`)
  const { config } = loaded
  const { operation } = get
  const guard = guardOf(config, new TokenSources(() => {}), new Limiters({ is: 'alone' }, () => {}))
  const rows = stackRows({
    operation,
    config,
    budget: null,
    addressLimiter: null,
    guard,
    clientLimits: holdClientLimits(config.clients, config.limits, new Limiters({ is: 'primary' }, () => {})),
    pressure: noPressure(),
    traces: null,
    meter: new Meter(),
    auditor: noAuditor,
    caches: noCaches(config),
  })
  guard.release()
  return rows.filter(({ layer }) => layer !== null).map(({ name }) => name)
}
