import type { RestartOnlySettings } from '../../config/diff/report.ts'
import type { LoadedConfig } from '../../config/load/load.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import { type ConfigProblem, fileProblem, locateKey } from '../../config/problem.ts'
import { describeSide, sideKey } from '../../exchange/sides.ts'
import { errorMessage } from '../../lib/try.ts'
import type { UnreachableUpstream } from '../../upstream/health/preflight.ts'

const maxNamedEndpoints = 5

export const heldBackTip = 'to apply it anyway: lender-gateway reload --force'

export const unreachableProblems = (
  unreached: readonly UnreachableUpstream[],
  provenance: ProvenanceMap,
  file: string,
): readonly ConfigProblem[] =>
  unreached.map(({ group, side, endpoints }) => {
    const named = endpoints.slice(0, maxNamedEndpoints).map(({ name, reason }) => `${name} ${reason}`)
    const more = endpoints.length - named.length
    return {
      ...locateKey(`${sideKey(group, side)}.endpoints`, provenance, file),
      expected: 'at least one reachable endpoint before traffic goes there',
      found: [...named, ...(more > 0 ? [`${more} more`] : [])].join(', '),
      message: `no new endpoint of ${describeSide(group, side)} can be reached`,
      hint: heldBackTip,
    }
  })

/** Without `reload.watch`, the operator says when an edit is complete. */
export const unannouncedChangeProblem = (file: string): ConfigProblem => ({
  ...fileProblem(
    file,
    'the file has changed again, and is not read automatically: reload.watch is false',
    'the held-back edit, which is retried',
    'another edit',
  ),
  hint: 'to apply it: lender-gateway reload',
})

export const applyFailedMessage = 'the configuration is valid, but could not be applied'

export const applyFailedProblem = (file: string, error: unknown, tip?: string): ConfigProblem => ({
  ...fileProblem(file, applyFailedMessage, 'a configuration that can be applied', errorMessage(error)),
  ...(tip === undefined ? {} : { hint: tip }),
})

export const findRestartRequired = (
  running: RestartOnlySettings,
  { restartOnly, provenance }: Pick<LoadedConfig, 'restartOnly' | 'provenance'>,
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
