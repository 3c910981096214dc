import { expect, test } from 'vitest'
import { at, findingInputs, renderFindings } from '../../core/admin/findings/finding-inputs.ts'

const findingsOf = (...differs: Parameters<typeof findingInputs>) => renderFindings(findingInputs(...differs))

test('spans that are lost are worth knowing, with why and since when, where there is a receiver', () => {
  const exportFailure = { since: at - 60_000, reason: 'ECONNREFUSED' }
  const report = { spans: { exported: 0, dropped: 0, failed: 3, exportFailure } }
  const tracing = { otlp: 'http://collector:4318/v1/traces' }

  expect(findingsOf({ settings: { tracing }, report })).toEqual([
    {
      ...{ severity: 'notice', about: 'tracing', alsoAbout: [], details: [], command: null },
      cause: 'spans are lost: http://collector:4318 does not accept them (ECONNREFUSED); requests are still served',
      since: '2026-11-21T02:03:00.000Z',
    },
  ])
  expect(findingsOf({ report })).toEqual([])
  expect(findingsOf({ settings: { tracing } })).toEqual([])
})
