import { catalog, type Group } from '../../catalog.ts'
import type { Config } from '../../config/config.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import { type Reason, reasonText } from '../../reasons.ts'
import { formatDuration } from '../../units.ts'
import { kindWords } from '../kind-words.ts'

/** Says in words what went wrong at an endpoint, by its name: `http://risk-a:8080 refuses connections (ECONNREFUSED)`. */
export const saidOf = ({ kind, reason, operation }: CauseReport, endpoint: string, config: Config): string => {
  const words = reason === null ? kindWords[kind] : reasonText(reason)
  const named = words.includes('the endpoint') ? words.replace('the endpoint', endpoint) : `${endpoint}: ${words}`
  const code = reason === null ? undefined : codes[reason]
  return `${named}${code === undefined ? '' : ` (${code})`}${boundOf(kind, operation, config)}`
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
  return `lender-gateway explain ${method} ${path}`
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
