import { insertBeside } from '../../lib/beside.ts'
import { adminParts } from '../admin-parts.ts'
import { certificateFindings, upstreamCertificateFindings } from './credentials.ts'
import { type Finding, type FindingSource, worstFirst } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { configFindings, eventLoopFindings, heapFindings, logFindings, servingFindings } from './gateway-findings.ts'
import {
  clientFindings,
  drainedFindings,
  gatewayErrorFindings,
  rejectedFindings,
  relayedErrorFindings,
} from './operations.ts'
import { upstreamFindings } from './upstreams.ts'

/** In the order in which findings of the same severity are shown. */
const findingSources: readonly FindingSource[] = insertBeside(
  {
    serving: servingFindings,
    eventLoop: eventLoopFindings,
    heap: heapFindings,
    log: logFindings,
    upstreams: upstreamFindings,
    refused: rejectedFindings,
    drained: drainedFindings,
    relayedErrors: relayedErrorFindings,
    gatewayErrors: gatewayErrorFindings,
    certificates: certificateFindings,
    upstreamCertificates: upstreamCertificateFindings,
    configuration: configFindings,
    clients: clientFindings,
  },
  adminParts.flatMap(({ findings = [] }) => findings),
)

// What fits on one screen; the worst come first.
const maxFindings = 50

/** The worst first, without those that another finding explains. */
export const collectFindings = (inputs: FindingInputs): readonly Finding[] => {
  const found = findingSources.flatMap((find) => find(inputs))
  const explained = new Set(found.map(({ explains }) => explains))
  return worstFirst(found.filter(({ code }) => !explained.has(code))).slice(0, maxFindings)
}
