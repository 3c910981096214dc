/** A reloader whose endpoints can be out of reach. */
import { vi } from 'vitest'
import type { LoadedConfig, LoadResult } from '../../../../src/core/config/load/load.ts'
import type { ReloadOutcome, ReloadTrigger } from '../../../../src/core/runtime/reload/reload-history.ts'
import { unreachableProblems } from '../../../../src/core/runtime/reload/reload-problems.ts'
import { Reloader } from '../../../../src/core/runtime/reload/reloader.ts'
import { parse, sandbox, validConfig, withRisk } from '../../config/helper.ts'

/** Loads a text that is meant to be valid. */
export const loaded = (text: string): LoadedConfig => {
  const result = parse(text)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

/** Two edits with a new endpoint each. */
export const [one, two] = [loaded(withRisk(' http://one.internal')), loaded(withRisk(' http://two.internal'))]

/** The hash of the first configuration. */
export const old = validConfig(sandbox).hash

/**
 * Creates a reloader whose file is `file.content`, and whose new endpoints are unreachable as long as `file.reason`
 * says why.
 */
export const createReloader = (first = loaded(sandbox)) => {
  const file: { content: LoadResult; reason: string | null; reads: number; failing: boolean | Error } = {
    ...{ content: one, reason: 'connection refused', reads: 0, failing: false },
  }
  const outcomes: [ReloadTrigger, ReloadOutcome][] = []
  const preflighted: string[] = []
  const reloader = new Reloader({
    file: 'gateway.yaml',
    initial: first,
    load: async () => {
      file.reads++
      return file.content
    },
    preflight: async ({ hash, upstreams }, provenance) => {
      preflighted.push(hash)
      if (file.reason === 'planted') throw new Error('planted')
      const name = upstreams.risk.endpoints[0]?.origin ?? ''
      if (file.reason === null) return []
      return unreachableProblems(
        [{ group: 'risk', side: 'primary', endpoints: [{ name, reason: file.reason }] }],
        provenance,
        'gateway.yaml',
      )
    },
    apply: async () => {
      if (file.failing === true) throw new Error('planted')
      if (file.failing) throw file.failing
    },
    onOutcome: (trigger, outcome) => void outcomes.push([trigger, outcome]),
  })
  return { reloader, file, outcomes, preflighted }
}

/** Lets time pass. */
export const later = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000)
