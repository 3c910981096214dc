import type { LoadedConfig } from '../load/load.ts'
import { type ConfigProblem, locateKey } from '../problem.ts'
import type { RestartOnlySettings } from './report.ts'

type NextConfig = Pick<LoadedConfig, 'restartOnly' | 'provenance'>

/** `file` names the new configuration. */
export const findRestartRequired = (
  running: RestartOnlySettings,
  { restartOnly, provenance }: NextConfig,
  file: string,
): readonly ConfigProblem[] =>
  Object.keys(restartOnly).flatMap((path): readonly ConfigProblem[] => {
    const [current, wanted] = [running[path] ?? null, restartOnly[path] ?? null]
    if (current === wanted) return []
    const keys = [path, `${path}.certificate`, `${path}.certificates`, `${path}.ca`]
    const key = keys.find((each) => provenance.has(each)) ?? path
    return [
      {
        ...locateKey(key, provenance, file),
        path,
        expected: `${current ?? `no ${path}`}, which the gateway was started with`,
        found: wanted ?? 'nothing',
        message: 'this cannot change while the gateway runs: it needs a restart',
        hint: `restart the gateway, or ${current === null ? `remove ${path}` : `put ${current} back`}`,
      },
    ]
  })
