import type { Config } from '../config/config.ts'
import type { Origins } from '../config/origins.ts'
import type { Problem } from '../config/problem.ts'
import { preflight, triedIn } from '../upstream/preflight.ts'
import { brought } from './brought.ts'
import { keyless, notReached } from './reload-problems.ts'
import { tryKeys } from './try-keys.ts'

/** Tries the endpoints and the issuer's keys that an edit brings, and tells of the groups of which none is there, and of keys that are not. */
export const tryBrought = async (
  running: Config,
  next: Config,
  origins: Origins,
  file: string,
): Promise<readonly Problem[]> => {
  const { preflight: mode } = next.reload
  if (mode === 'none') return []
  const tried = brought(running, next).map((each) => triedIn(each, mode))
  const [unreached, keys] = await Promise.all([preflight(tried), tryKeys(running, next)])
  return [...notReached(unreached, origins, file), ...(keys === null ? [] : [keyless(keys, origins, file)])]
}
