import type { Config } from '../config/config.ts'
import type { Origins } from '../config/origins.ts'
import type { Problem } from '../config/problem.ts'
import { preflight, triedIn } from '../upstream/preflight.ts'
import { brought } from './brought.ts'
import { notReached } from './reload-problems.ts'

/** Tries the endpoints that an edit brings, and tells of the groups of which none is there. */
export const tryBrought = async (
  running: Config,
  next: Config,
  origins: Origins,
  file: string,
): Promise<readonly Problem[]> => {
  const { preflight: mode } = next.reload
  if (mode === 'none') return []
  const tried = brought(running, next).map(({ group, ...one }) => triedIn(group, one, mode))
  return notReached(await preflight(tried), origins, file)
}
