import type { LoadResult } from './load.ts'
import type { Problem } from './problem.ts'
import type { Fixed } from './report.ts'

type Next = Pick<Extract<LoadResult, { ok: true }>, 'fixed' | 'origins'>

/** Lists what a new configuration changes that the running gateway cannot; `file` is the new one's. */
export const needsRestart = (running: Fixed, { fixed, origins }: Next, file: string): readonly Problem[] =>
  Object.keys(fixed).flatMap((path): readonly Problem[] => {
    const [is, wanted] = [running[path] ?? null, fixed[path] ?? null]
    if (is === wanted) return []
    const stated = origins.get(path) ?? origins.get(`${path}.certificate`) ?? origins.get(`${path}.certificates`)
    const { line, column } = stated === undefined || stated.line === 0 ? { line: 1, column: 1 } : stated
    return [
      {
        file,
        line,
        column,
        path,
        expected: `${is ?? `no ${path}`}, which the gateway was started with`,
        found: wanted ?? 'nothing',
        message: 'this cannot change while the gateway runs: it needs a restart',
        hint: `restart the gateway, or ${is === null ? `remove ${path}` : `put ${is} back`}`,
      },
    ]
  })
