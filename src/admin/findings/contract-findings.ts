import type { DriftReport, DriftRow, RecentDrift } from '../../observe/contract/drift-report.ts'
import { formatShare } from '../../units.ts'
import { formatTimeOfDay } from '../format-time.ts'
import { createFinding, type Finding } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

// As for failures at an endpoint: fewer in five minutes may be a hiccup.
const minBroken = 3

const maxPlaces = 3

// Where none was broken for that long, the finding says so. It goes after five minutes.
const quietMs = 60_000

/**
 * Finds what has broken the contract in the last five minutes: requests of an operation, and responses of each
 * endpoint. It holds nothing that a client wrote: places and rules are the contract's words.
 */
export const contractFindings = ({ at, config, report: { drift } }: FindingInputs): readonly Finding[] =>
  (drift?.recent ?? []).flatMap((recent): readonly Finding[] => {
    const { operation, direction, endpoint, checked, broken, brokenSince, lastBrokenAt } = recent
    if (drift === null || brokenSince === null || lastBrokenAt === null) return []
    const mode = config.operations[operation].contract[direction]
    if (mode === 'off') return []
    const whose = direction === 'request' ? 'requests' : `responses of ${endpoint ?? 'other endpoints'}`
    const instead = mode === 'report' ? '' : direction === 'request' ? ', and are rejected' : ', and clients get 502'
    const isQuiet = at - lastBrokenAt >= quietMs
    const quiet = isQuiet ? `, none since ${formatTimeOfDay(lastBrokenAt, at)}` : ''
    const cause = `${formatShare(broken, checked)} of the ${whose} break the contract since ${formatTimeOfDay(brokenSince, at)}${instead} (${broken} of ${checked} in the last 5 minutes${quiet}): ${placesPhrase(drift, recent)}`
    const severity = direction === 'request' || isQuiet || broken < minBroken ? 'notice' : 'warning'
    return [createFinding(severity, `operations.${operation}`, cause, { since: brokenSince, command: reportCommand })]
  })

const reportCommand = 'lender-gateway contract report'

/** Names where it is broken, the most frequent first. */
const placesPhrase = ({ rows }: DriftReport, { operation, direction, endpoint, brokenSince }: RecentDrift): string => {
  const own = rows.filter(
    (row) => row.operation === operation && row.direction === direction && row.lastAt >= (brokenSince ?? 0),
  )
  // A row knows the endpoint of its last message only.
  const ofEndpoint = direction === 'response' ? own.filter(({ example }) => example.endpoint === endpoint) : own
  const places = (ofEndpoint.length > 0 ? ofEndpoint : own).map(placeText)
  if (places.length === 0) return 'where is not known, since the table is full'
  const more = places.length - maxPlaces
  return places.slice(0, maxPlaces).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

const placeText = ({ in: place, pointer, rule }: DriftRow): string =>
  `${place === 'body' && pointer !== '' ? '' : `${place} `}${pointer === '' ? '' : `${pointer} `}${rule}`
