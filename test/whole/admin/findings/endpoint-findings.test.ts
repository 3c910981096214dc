import { describe, expect, test } from 'vitest'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import { at, cause, endpoint, risk } from '../../../core/admin/findings/finding-inputs.ts'
import {
  day,
  down,
  edited,
  expectFindings,
  expiredAt,
  explain,
  failing,
  found,
  type Inputs,
  lines,
  other,
  type Row,
  rejectedAt,
  responded,
  riskOf,
  tryIt,
} from './helper.ts'

const rejects = `${risk} refuses connections (ECONNREFUSED)`

const ejectedState = { name: 'ejected', since: at - 5000, reason: '5 failures in a row' } as const
const ejected = (more: Partial<EndpointReport> = {}) => endpoint({ state: ejectedState, ...more })

const certificate = (days: number, address = '192.0.2.1') =>
  ({ address, notAfter: at + days * day, warnFrom: at + (days - 14) * day, seenAt: at - 60_000 }) as const
const showing = (...certificates: readonly ReturnType<typeof certificate>[]) => endpoint({ certificates })
const expiredCertificate = `upstreams.risk 02:04:00 the certificate of ${risk} has expired, at 2026-11-20T02:04:00.000Z; it was last seen at 2026-11-21T02:03:00.000Z`
const unverified = { upstreams: { risk: { endpoints: ['https://risk-a'], tls: { verify: false, insecure: true } } } }

describe('an endpoint', () => {
  test('that fails is named with its cause, how often, since when, and what shows more', () => {
    expect(found({ causes: [cause()] })).toEqual([
      {
        ...{ severity: 'critical', about: 'upstreams.risk', alsoAbout: [], details: [] },
        cause: `${rejects}: 12 requests failed in the last minute`,
        ...{ since: '2026-11-21T02:03:00.000Z', command: `lender-gateway ${tryIt}` },
      },
    ])
  })

  const lastFailure = responded(500, at - 2000)
  const failed = { failingSince: at - 60_000, failuresInARow: 3, onProbation: true, lastFailure }
  const twelve = '12 requests failed in the last minute'
  const isDown = `upstreams.risk 02:03:00 ${rejects}`
  const itsCertificate = `upstreams.risk the certificate of ${risk}`
  const expiredOne = riskOf(showing(certificate(-1)))
  const atOne = riskOf(showing(certificate(300), certificate(9, '::1')))
  const rejected12 = { causes: [cause()] }
  const in9Days = '2026-11-30T02:04:00.000Z'

  const ofCause = (...more: Parameters<typeof cause>) => ({ causes: [cause(...more)] })
  const resets = (kind: 'reset-before-headers' | 'truncated', lastMinute: number) =>
    cause({ kind, reason: 'closed', lastMinute })
  const downBefore = riskOf(endpoint({ state: { name: 'down', since: at - 60_000, reason: 'a 404' } }))
  const outFor10s = ejected({ ejectedForMs: 10_000 })
  const draining = endpoint({ state: { name: 'draining', since: at - 1000, reason: null } })
  const ofTwo = { risk: { endpoints: [showing(certificate(9))] }, market: { endpoints: [showing(certificate(9))] } }
  const untilThen = 'it is ejected until 2026-11-21T02:04:10.000Z: 5 failures in a row'
  const passing = (lastFailure: EndpointReport['lastFailure']) => riskOf(endpoint({ lastFailure }))
  const lateBefore = { kind: 'headers-timeout', reason: null, lastAt: at - 10_000 } as const
  const unresolved = { since: at - 5000, reason: 'the name does not resolve (ENOTFOUND)' }

  test.each<Row>([
    ['closing', { causes: [resets('truncated', 3), resets('reset-before-headers', 2)] }, / closed the connection: 5 /],
    ['in a group twice', { ...rejected12, ...riskOf(endpoint(), endpoint()) }, `critical ${isDown}: ${twelve}`],
    ['out', { ...rejected12, ...riskOf(outFor10s, other) }, /^warning .*\(ECONNREFUSED\): 12 .*; it is ejected until/],
    ['out long ago', riskOf(outFor10s, other), `warning upstreams.risk 02:03:55 ${risk}: ${untilThen}`],
    ['out for its last failure', riskOf(ejected({ lastFailure: expiredAt() }), other), /_EXPIRED\); it is ejected: 5/],
    ['made good', passing(rejectedAt(at - 1000)), /^notice .*\(ECONNREFUSED\), and another attempt was made$/],
    ['passed on', passing(responded(503, at - 1000)), /^notice .* responded with 503, which is passed on$/],
    ['well after a minute', passing(rejectedAt(at - 61_000))],
    ['dead', riskOf(failing(at - 600_400), other), /^warning \S+ 01:53:59 .*; its last requests failed$/],
    ['dead and ejected', riskOf(ejected(failed), other), /^warning upstreams.risk 02:03:00 /],
    ['dead after its ejection', riskOf(endpoint(failed), other), /02:03:00 .*has succeeded since it was ejected$/],
    ['well after its ejection', riskOf(endpoint({ ...failed, failingSince: null }), other), /^notice /],
    ['failed before its drain', { ...ofCause({ lastMinute: 0 }), ...riskOf(draining, other) }, /^notice \S+ 02:03:00 /],
    ['left alone', { causes: [cause()], ...riskOf(ejected(), other) }, /^warning /],
    ['down, and responds', downBefore, /^warning .*it is down: a 404, but still responds$/],
    ['failing 15 s ago', ofCause({ lastAt: at - 14_999 }), `critical ${isDown}: ${twelve}`],
    ['failing before that', ofCause({ lastAt: at - 15_000 }), `warning ${isDown}: ${twelve}, none since 02:03:45`],
    ['failing a minute ago', ofCause({ lastMinute: 0, last15Min: 7 }), /^notice .* 7 .*15 minutes, none in the last/],
    [
      'unnamed',
      riskOf(endpoint({ outdated: unresolved })),
      /cannot be resolved any more: .*\(ENOTFOUND\); requests still go/,
    ],
    ['late before an edit', { ...ofCause(lateBefore), loadedAt: at - 5_000 }, / within timeouts.headers: 12 requests/],
    ['slow', riskOf(endpoint({ latencyMs: 9000 })), /takes 9s .*is given up after 15s \(timeouts.headers\)$/],
    ['less slow', riskOf(endpoint({ latencyMs: 7000 }))],
    ['not resolved', ofCause({ reason: 'name-not-found' }), / the name of http:\S+ does not resolve \(ENOTFOUND\): 12/],
    ['misnamed', ofCause({ reason: 'certificate-name' }), / the certificate of http:\S+ is for another name: 12/],
    ['good for 14.1 days', riskOf(showing(certificate(14.1)))],
    ['good for 9 days', riskOf(showing(certificate(9))), `warning ${itsCertificate} expires at ${in9Days}`],
    ['expired', expiredOne, `critical ${expiredCertificate}`],
    ['expired, unverified', { ...expiredOne, settings: unverified }, `warning ${expiredCertificate}`],
    ['expired, and fails', { ...expiredOne, ...ofCause(expiredAt()) }, / \(CERT_HAS_EXPIRED\): 12 /],
    ['first at ::1', atOne, `warning ${itsCertificate}, as ::1 shows it, expires at ${in9Days}`],
    ['of two groups', { upstreams: ofTwo }, / expires at 2026-11-30T02:04:00.000Z \(the same behind market\)$/],
  ])('is found as one that is %s', expectFindings)

  test('whose certificate has expired is named once where another endpoint makes good what fails for it', () => {
    const broken = { ...failed, certificates: [certificate(-1)], onProbation: false, lastFailure: expiredAt() }

    expect(
      lines(riskOf(endpoint(broken), other))
        .join()
        .match(/has expired/g),
    ).toHaveLength(1)
  })

  test('that does not respond is named with the limit, and once, whatever it failed by', () => {
    const kinds = ['headers-timeout', 'deadline-exceeded'] as const
    const said = `${risk} did not respond within timeouts.headers (15s): ${twelve}`
    const details = [`${risk}: there was no response within the deadline of the operation (30s): ${twelve}`]

    const causes = kinds.map((kind) => cause({ kind, reason: null }))
    expect(found({ causes })).toMatchObject([{ cause: said, alsoAbout: [], details }])
  })

  test.each<[string, Inputs, string]>([
    [
      'not tried while the file differs from the running configuration',
      { ...riskOf(failing(at - 2000)), ...edited },
      explain,
    ],
    ['not tried where probes find it down: a trial does not ask for the path', riskOf(down('it'), other), explain],
    ['tried where its certificate ends soon', riskOf(showing(certificate(9))), tryIt],
  ])('is %s', (_, inputs, command) => {
    expect(found(inputs)[0]?.command).toBe(`lender-gateway ${command}`)
  })

  test.each([
    ['connect-timeout', tryIt],
    ['tls-failed', tryIt],
    ['headers-timeout', explain],
    ['reset-before-headers', explain],
  ] as const)('is tried where no connection was made: %s', (kind, command) => {
    const dead = failing(at - 1000, { lastFailure: { ...rejectedAt(at), kind, reason: null } })

    for (const inputs of [{ causes: [cause({ kind, reason: null })] }, riskOf(dead, other), riskOf(dead)])
      expect(found(inputs)[0]?.command).toBe(`lender-gateway ${command}`)
  })
})
