import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../../core/config/config.ts'
import { type ConfigChange, diffReports } from '../../../core/config/diff/diff-reports.ts'
import type { Environment } from '../../../core/config/environment.ts'
import type { LoadedConfig } from '../../../core/config/load/load.ts'
import { parseConfig } from '../../../core/config/load/load-config.ts'
import type { ConfigProblem } from '../../../core/config/problem.ts'
import { type Group, groups } from '../../../operations.ts'
import { promoteCandidate } from './promote-candidate.ts'

export type Promotion =
  | {
      readonly ok: true
      readonly text: string
      readonly hash: string
      readonly changes: readonly ConfigChange[]
    }
  /** `problems`: those of the edited file. None: it would change something else too. */
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

export const promotedUpstream = ({ upstreams }: Pick<Config, 'upstreams'>, group: Group) => {
  const { candidate, retry, concurrency } = upstreams[group]
  // One of each for both sides: a candidate has none of its own.
  return candidate && { ...candidate.upstream, retry, concurrency, candidate: null }
}

/**
 * Edits the text of a file so that the candidate of a group is its upstream, and verifies the edit: read anew, the file
 * has to say that and nothing else. `loaded` is what it says now.
 */
export const planPromotion = (
  text: string,
  file: string,
  group: Group,
  loaded: LoadedConfig,
  environment: Environment = process.env,
): Promotion => {
  const rendered = Object(Object(loaded.report.config.upstreams)[group]).candidate
  const edited = promoteCandidate(text, group, rendered)
  const next = parseConfig(Buffer.from(edited), file, environment)
  if (!next.ok) return { ok: false, problems: next.problems }
  const expected = { ...loaded.config.upstreams, [group]: promotedUpstream(loaded.config, group) }
  const isExact = groups.every((each) => isDeepStrictEqual(next.config.upstreams[each], expected[each]))
  const changes = diffReports(loaded.report, next.report)
  if (!isExact || changes.some(({ part }) => part !== `upstreams.${group}`)) return { ok: false, problems: [] }
  return { ok: true, text: edited, hash: next.config.hash, changes }
}
