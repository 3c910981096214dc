import { insertBeside } from '../../lib/beside.ts'
import { adminParts } from '../admin-parts.ts'
import { certificateFindings, upstreamCertificateFindings } from './credentials.ts'
import { type Finding, type FindingSource, worstFirst } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { configFindings, processFindings, servingFindings } from './gateway-findings.ts'
import { clientFindings, operationFindings } from './operations.ts'
import { upstreamFindings } from './upstreams.ts'

/** In the order in which findings of the same severity are shown. */
const findingSources: readonly FindingSource[] = insertBeside(
  {
    serving: servingFindings,
    process: processFindings,
    upstreams: upstreamFindings,
    operations: operationFindings,
    credentials: certificateFindings,
    certificates: upstreamCertificateFindings,
    configuration: configFindings,
    clients: clientFindings,
  },
  adminParts.flatMap(({ findings = [] }) => findings),
)

// What fits on one screen. The first ones say what is wrong.
const maxFindings = 50

/** Collects what is wrong, the worst first; none: nothing is. */
export const collectFindings = (inputs: FindingInputs): readonly Finding[] =>
  worstFirst(findingSources.flatMap((find) => find(inputs))).slice(0, maxFindings)
