import type { LoadResult } from '../load/load.ts'
import type { ConfigProblem } from '../problem.ts'
import type { RestartOnlySettings } from './report.ts'

type NextConfig = Pick<Extract<LoadResult, { ok: true }>, 'restartOnly' | 'provenance'>

/** Lists what a new configuration changes that needs a restart. `file` names the new configuration. */
export const findRestartRequired = (
  running: RestartOnlySettings,
  { restartOnly, provenance }: NextConfig,
  file: string,
): readonly ConfigProblem[] =>
  Object.keys(restartOnly).flatMap((path): readonly ConfigProblem[] => {
    const [current, wanted] = [running[path] ?? null, restartOnly[path] ?? null]
    if (current === wanted) return []
    const stated =
      provenance.get(path) ??
      provenance.get(`${path}.certificate`) ??
      provenance.get(`${path}.certificates`) ??
      provenance.get(`${path}.ca`)
    const { line, column } = stated === undefined || stated.line === 0 ? { line: 1, column: 1 } : stated
    return [
      {
        file,
        line,
        column,
        path,
        expected: `${current ?? `no ${path}`}, which the gateway was started with`,
        found: wanted ?? 'nothing',
        message: 'this cannot change while the gateway runs: it needs a restart',
        hint: `restart the gateway, or ${current === null ? `remove ${path}` : `put ${current} back`}`,
      },
    ]
  })
