import { type Group, groups } from '../catalog.ts'
import type { Config } from '../config/config.ts'
import type { Origins } from '../config/origins.ts'
import type { Problem } from '../config/problem.ts'
import { triedIn, tryAll } from '../upstream/preflight.ts'

/** Is what came of trying one endpoint, as JSON says it. */
export interface TriedEndpoint {
  readonly group: Group
  readonly url: string
  readonly reached: boolean
  /** Null: it was reached. */
  readonly reason: string | null
}

/** Tries every endpoint of every group as `reload.preflight` does (`none`: as `connect`), all at once, for at most 2 s. The sandbox is left out. */
export const tryEndpoints = async ({ upstreams, reload }: Config): Promise<readonly TriedEndpoint[]> => {
  const mode = reload.preflight === 'health' ? 'health' : 'connect'
  const found = await tryAll(
    groups.flatMap((group) => {
      const upstream = upstreams[group]
      const real = upstream.endpoints.filter(({ origin }) => origin !== 'sandbox')
      return real.map((endpoint) => triedIn(group, { endpoint, upstream }, mode))
    }),
  )
  return found.map(({ group, name, reason }) => ({ group, url: name, reached: reason === null, reason }))
}

/** Holds what is to be said of endpoints that were not reached. */
export interface Judgement {
  /** One for each group of which none was. */
  readonly problems: readonly Problem[]
  /** One for each of the others. */
  readonly warnings: readonly Problem[]
}

/** Judges what was tried; `origins` and `file` are those of the configuration. */
export const judge = (tried: readonly TriedEndpoint[], origins: Origins, file: string): Judgement => {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const group of groups) {
    const own = tried.filter((each) => each.group === group)
    const lost = own.filter(({ reached }) => !reached)
    const path = `upstreams.${group}.endpoints`
    const { line = 1, column = 1 } = origins.get(path) ?? {}
    const at = { file, line, column, path }
    if (lost.length > 0 && lost.length === own.length) {
      problems.push({
        ...at,
        message: `no endpoint of ${group} can be reached`,
        expected: 'at least one of them to be there',
        found: lost.map(({ url, reason }) => `${url}: ${reason}`).join('; '),
      })
      continue
    }
    for (const { url, reason } of lost) {
      const message = `${url} cannot be reached: ${reason}`
      warnings.push({ ...at, message, expected: 'every endpoint to be there', found: `${reason}` })
    }
  }
  return { problems, warnings }
}
