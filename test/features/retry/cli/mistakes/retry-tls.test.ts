/** Mistakes of operators about retries and about TLS to an upstream. */
import { describe, expect, test } from 'vitest'
import {
  defaults,
  type Mistake,
  oneLineMistake,
  pem,
  riskPath,
  riskUpstream,
  tryMistakes,
  withTopLines,
} from '../../../../core/cli/mistakes/mistakes.ts'

/** Lines below the upstream of risk, each with the key that is named, what is said of it, and the remedy. */
type Row = readonly [written: string, key: string, problem: string, fix: string]

const risky = (rows: readonly Row[]): Readonly<Record<string, Mistake>> =>
  Object.fromEntries(
    rows.map(([written, key, problem, fix]) => [
      written,
      oneLineMistake(riskUpstream(written), 7, `${riskPath}.${key}`, problem, fix),
    ]),
  )

const longestOfDefaults = 'defaults: { retry: { backoff: { max: 1s } } }\nupstreams:'
const retry: Readonly<Record<string, Mistake>> = {
  ...risky([
    ['retry: { attempts: 1 }', 'retry.attempts', 'too small', 'at least 2'],
    ['retry: 3', 'retry', 'not a policy', 'write { }, or none to turn it off'],
    ['retry: { on: ["503"] }', 'retry.on[0]', 'not what a retry can follow', 'write 503, without quotes'],
    [
      'retry: { on: [connect-failed, content-too-large] }',
      'retry.on[1]',
      'not what a retry can',
      'one of connect-failed',
    ],
    ['retry: { on: [200] }', 'retry.on[0]', 'not what a retry can', '429, 500'],
    ['retry: { on: [503, 502, 503] }', 'retry.on[2]', '503 twice', 'remove one'],
    ['retry: { on: [] }', 'retry.on', 'the list is empty', 'remove the key'],
    ['retry: { on: 503 }', 'retry.on', 'the wrong kind of value', 'a list'],
    [
      ...['retry: { backoff: { base: 2s, max: 1s } }', 'retry.backoff.base'],
      ...['the first pause is longer than the longest', 'at most 1s, which is retry.backoff.max'],
    ] as const,
    [
      ...['retry: { backoff: { max: 10ms } }', 'retry.backoff.max'],
      ...['the first pause is longer than the longest', 'at least 25ms, which is retry.backoff.base'],
    ] as const,
    ['retry: { budget: { share: 0.1 } }', 'retry.budget.share', 'a unit is missing', 'write 10%'],
    ['retry: { budget: none }', 'retry.budget', 'the wrong kind of value', 'a map'],
  ]),
  'a first pause longer than the longest of the defaults': oneLineMistake(
    riskUpstream('retry: { backoff: { base: 2s } }').replace('upstreams:', longestOfDefaults),
    ...([8, `${riskPath}.retry.backoff.base`, 'the first pause is longer than the longest', 'at most 1s'] as const),
  ),
  'retry under an operation': oneLineMistake(
    withTopLines('operations:', '  market.insights:', '    retry: { attempts: 2 }'),
    ...([3, 'operations.market.insights.retry', 'unknown key', 'one of state, deadline'] as const),
  ),
}

const [certificate, key, encrypted] = [pem('CERTIFICATE'), pem('PRIVATE KEY'), pem('ENCRYPTED PRIVATE KEY')]
const believed = 'whoever answers would be believed'
const tls: Readonly<Record<string, Mistake>> = {
  ...risky([
    ['tls: { verify: false }', 'tls.verify', believed, 'insecure: true'],
    ['tls: { verify: no }', 'tls.verify', 'not a boolean', 'write false, without quotes'],
    ['tls: { ca: /etc/ca.pem }', 'tls.ca', 'not a certificate in PEM', 'file:'],
    ['tls: { ca: file:/no/such }', 'tls.ca', 'no such file', 'readable'],
    [`tls: { ca: ${certificate} }`, 'tls.ca', 'a certificate that cannot be read', 'it may be cut short'],
    [`tls: { ca: ${key} }`, 'tls.ca', 'not a certificate', 'PEM'],
    [`tls: { certificate: ${certificate} }`, 'tls.certificate', 'a certificate without its key', 'add key: file:PATH'],
    [`tls: { key: ${key} }`, 'tls.key', 'a key without its certificate', 'add certificate: file:PATH'],
    [`tls: { certificate: ${certificate}, key: ${key} }`, 'tls.certificate', 'cannot be read', 'cut short'],
    [`tls: { certificate: ${certificate}, key: ${encrypted} }`, 'tls.key', 'a key with a password', 'openssl pkey'],
    ['tls: { minVersion: TLSv1.1 }', 'tls.minVersion', 'unknown value', 'one of TLSv1.2, TLSv1.3'],
    ['tls: { minVersion: 1.3 }', 'tls.minVersion', 'unknown value', 'TLSv1.3'],
    ['tls: { serverName: 10.0.0.1 }', 'tls.serverName', 'an address', 'a name that stands in the certificate'],
    ['tls: { serverName: "risk.internal:443" }', 'tls.serverName', 'not a host name', 'write the name alone'],
    ['tls: { serverName: risk.internal. }', 'tls.serverName', 'not a host name', 'risk.internal'],
    ['tls: none', 'tls', 'the wrong kind of value', 'a map'],
    ['tls: { caFile: ca.pem }', 'tls.caFile', 'unknown key', 'one of ca'],
  ]),
  'verify: false alone in the defaults, which eight groups inherit': oneLineMistake(
    defaults('tls: { verify: false }'),
    ...([2, 'defaults.tls.verify', believed, 'ca: file:PATH'] as const),
  ),
}

const areas = { retry, tls }

describe.each(Object.entries(areas))('a mistake about %s', (_area, mistakes) => tryMistakes(mistakes))

test('at least 30 mistakes are tried', () => {
  expect(Object.values(areas).flatMap(Object.keys).length).toBeGreaterThanOrEqual(30)
})
