import { auditFindings } from './audit.ts'
import { clientFindings } from './clients.ts'
import { configFindings } from './config.ts'
import { type Finding, worstFirst } from './finding.ts'
import { limitFindings } from './limits.ts'
import { operationFindings } from './operations.ts'
import { processFindings } from './process.ts'
import type { Reading } from './reading.ts'
import { spanFindings } from './spans.ts'
import { trustFindings } from './trust.ts'
import { upstreamCertificateFindings } from './upstream-certificates.ts'
import { upstreamFindings } from './upstreams.ts'

// On one screen. Of more, the first tell what is wrong.
const most = 50

/** Says what is wrong, each with its cause in words, the worst first; none: nothing is. */
export const findings = (reading: Reading): readonly Finding[] =>
  worstFirst([
    ...processFindings(reading),
    ...auditFindings(reading),
    ...upstreamFindings(reading),
    ...operationFindings(reading),
    ...limitFindings(reading),
    ...trustFindings(reading),
    ...upstreamCertificateFindings(reading),
    ...configFindings(reading),
    ...spanFindings(reading),
    ...clientFindings(reading),
  ]).slice(0, most)
