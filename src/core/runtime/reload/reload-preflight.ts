import type { Config } from '../../config/config.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { findUnreachableUpstreams, toPreflightTarget } from '../../upstream/health/preflight.ts'
import { primaryFeatures } from '../primary-parts.ts'
import { newEndpoints } from './new-endpoints.ts'
import { unreachableProblems } from './reload-problems.ts'

export const preflightReload = async (
  running: Config,
  next: Config,
  provenance: ProvenanceMap,
  file: string,
): Promise<readonly ConfigProblem[]> => {
  const { preflight: mode } = next.reload
  if (mode === 'none') return []
  const targets = newEndpoints(running, next).map((each) => toPreflightTarget(each, mode))
  const [unreached, ...others] = await Promise.all([
    findUnreachableUpstreams(targets),
    ...[...primaryFeatures.values()].map((feature) => feature.preflight?.(running, next, provenance, file) ?? []),
  ])
  return [...unreachableProblems(unreached, provenance, file), ...others.flat()]
}
