import { auth } from './families/auth.ts'
import { cache } from './families/cache.ts'
import { configuration } from './families/configuration.ts'
import { limits } from './families/limits.ts'
import { processes } from './families/process.ts'
import { recording } from './families/recording.ts'
import { spans } from './families/spans.ts'
import { traffic } from './families/traffic.ts'
import { upstreams } from './families/upstreams.ts'
import type { Metric } from './metric.ts'

/** Lists every metric that there is, in the order of the answer. */
export const families: readonly Metric[] = [
  ...traffic,
  ...upstreams,
  ...cache,
  ...limits,
  ...auth,
  ...configuration,
  ...processes,
  ...recording,
  ...spans,
]
