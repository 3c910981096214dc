import { auditFindings } from '../../../features/audit/findings.ts'
import { candidateFindings, comparisonFindings } from '../../../features/candidate/findings.ts'
import { contractFindings } from '../../../features/contract/findings.ts'
import { idempotencyFindings } from '../../../features/idempotency/findings.ts'
import { limitFindings } from '../../../features/limits/findings.ts'
import { tracingFindings } from '../../../features/tracing/findings.ts'
import { credentialFindings, upstreamCertificateFindings } from './credentials.ts'
import { type Finding, type FindingSource, worstFirst } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { configFindings, processFindings } from './gateway-findings.ts'
import { clientFindings, operationFindings } from './operations.ts'
import { upstreamFindings } from './upstreams.ts'

/** In the order in which findings of the same severity are shown. */
const findingSources: readonly FindingSource[] = [
  processFindings,
  auditFindings,
  upstreamFindings,
  candidateFindings,
  comparisonFindings,
  operationFindings,
  contractFindings,
  limitFindings,
  idempotencyFindings,
  credentialFindings,
  upstreamCertificateFindings,
  configFindings,
  tracingFindings,
  clientFindings,
]

// What fits on one screen. The first ones say what is wrong.
const maxFindings = 50

/** Collects what is wrong, the worst first; none: nothing is. */
export const collectFindings = (inputs: FindingInputs): readonly Finding[] =>
  worstFirst(findingSources.flatMap((find) => find(inputs))).slice(0, maxFindings)
