import { catalog, type Group } from '../../catalog.ts'
import type { Config } from '../../config/config.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import { type Reason, reasonText } from '../../reasons.ts'
import type { FailureReport } from '../../snapshot/report.ts'
import { formatDuration } from '../../units.ts'
import { kindWords } from '../kind-words.ts'

/** Says in words what went wrong at an endpoint, by its name: `http://risk-a:8080 refuses connections (ECONNREFUSED)`. */
export const saidOf = ({ kind, reason, operation }: CauseReport, endpoint: string, config: Config): string =>
  lastOf({ at: 0, kind, reason, status: null }, endpoint) + boundOf(kind, operation, config)

/** Says in words why a request last failed at an endpoint. */
export const lastOf = ({ kind, reason, status }: FailureReport, endpoint: string): string => {
  if (kind === null) return `${endpoint} answered ${status}`
  return named(reason === null ? kindWords[kind] : reasonText(reason), endpoint) + codeOf(reason)
}

const named = (words: string, endpoint: string): string =>
  words.includes('the endpoint') ? words.replace('the endpoint', endpoint) : `${endpoint}: ${words}`

const codeOf = (reason: Reason | null): string => {
  const code = reason === null ? undefined : codes[reason]
  return code === undefined ? '' : ` (${code})`
}

/** Names the bound that was exceeded, with what it is set to. */
const boundOf = (kind: CauseReport['kind'], id: CauseReport['operation'], config: Config): string => {
  if (id === null) return ''
  const group = groupOf(id)
  const { connectTimeoutMs, headersTimeoutMs } = config.upstreams[group]
  const { deadlineMs } = config.operations[id]
  const bound = {
    'connect-timeout': connectTimeoutMs,
    'headers-timeout': headersTimeoutMs,
    'deadline-exceeded': deadlineMs,
  }[kind as string]
  return bound == null ? '' : ` (${formatDuration(bound)})`
}

/** Finds the group of an operation. */
export const groupOf = (id: NonNullable<CauseReport['operation']>): Group =>
  (catalog.find((each) => each.id === id) as (typeof catalog)[number]).group

/** Writes the command that shows what stands in the way of an operation. */
export const explainCommand = (id: NonNullable<CauseReport['operation']>): string => {
  const { method, path } = catalog.find((each) => each.id === id) as (typeof catalog)[number]
  return `lender-gateway explain ${method} ${path} --live`
}

// As people look for them.
const codes: Partial<Readonly<Record<Reason, string>>> = {
  refused: 'ECONNREFUSED',
  reset: 'ECONNRESET',
  unreachable: 'EHOSTUNREACH',
  'name-not-found': 'ENOTFOUND',
  'name-server-silent': 'EAI_AGAIN',
  'certificate-expired': 'CERT_HAS_EXPIRED',
  'no-descriptors': 'EMFILE',
}
