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

/** A mistake in a line below the upstream of risk. */
const risky = (written: string, path: string, problem: string, fix: string): Mistake =>
  oneLineMistake(riskUpstream(written), 7, `${riskPath}.${path}`, problem, fix)

const retry: Readonly<Record<string, Mistake>> = {
  'a single attempt': risky('retry: { attempts: 1 }', 'retry.attempts', 'too small', 'at least 2'),
  'attempts for a policy': risky('retry: 3', 'retry', 'not a policy', 'write { }, or none to turn it off'),
  'a status in quotes': risky(
    'retry: { on: ["503"] }',
    'retry.on[0]',
    'not what a retry can follow',
    'write 503, without quotes',
  ),
  'a failure that no attempt would change': risky(
    'retry: { on: [connect-failed, content-too-large] }',
    'retry.on[1]',
    'not what a retry can follow',
    'one of connect-failed',
  ),
  'a status of success': risky('retry: { on: [200] }', 'retry.on[0]', 'not what a retry can', '429, 500'),
  'the same twice': risky('retry: { on: [503, 502, 503] }', 'retry.on[2]', '503 twice', 'remove one'),
  'an empty list': risky('retry: { on: [] }', 'retry.on', 'the list is empty', 'remove the key'),
  'one word for a list': risky('retry: { on: 503 }', 'retry.on', 'the wrong kind of value', 'a list'),
  'a first pause longer than the longest': risky(
    'retry: { backoff: { base: 2s, max: 1s } }',
    'retry.backoff.base',
    'the first pause is longer than the longest',
    'at most 1s, which is retry.backoff.max',
  ),
  'a longest pause below the built-in first': risky(
    'retry: { backoff: { max: 10ms } }',
    'retry.backoff.max',
    'the first pause is longer than the longest',
    'at least 25ms, which is retry.backoff.base',
  ),
  'a first pause longer than the longest of the defaults': oneLineMistake(
    riskUpstream('retry: { backoff: { base: 2s } }').replace(
      'upstreams:',
      'defaults: { retry: { backoff: { max: 1s } } }\nupstreams:',
    ),
    8,
    `${riskPath}.retry.backoff.base`,
    'the first pause is longer than the longest',
    'at most 1s',
  ),
  'a budget as a share': risky(
    'retry: { budget: { share: 0.1 } }',
    'retry.budget.share',
    'a unit is missing',
    'write 10%',
  ),
  'a budget without a bound': risky('retry: { budget: none }', 'retry.budget', 'the wrong kind of value', 'a map'),
  'retry under an operation': oneLineMistake(
    withTopLines('operations:', '  market.insights:', '    retry: { attempts: 2 }'),
    3,
    'operations.market.insights.retry',
    'unknown key',
    'one of state, deadline',
  ),
}

const tls: Readonly<Record<string, Mistake>> = {
  'verify: false alone': risky(
    'tls: { verify: false }',
    'tls.verify',
    'whoever answers would be believed',
    'insecure: true',
  ),
  'verify: false alone in the defaults, which eight groups inherit': oneLineMistake(
    defaults('tls: { verify: false }'),
    2,
    'defaults.tls.verify',
    'whoever answers would be believed',
    'ca: file:PATH',
  ),
  'no for false': risky('tls: { verify: no }', 'tls.verify', 'not a boolean', 'write false, without quotes'),
  'a path without file:': risky('tls: { ca: /etc/ca.pem }', 'tls.ca', 'not a certificate in PEM', 'file:'),
  'a file that is not there': risky('tls: { ca: file:/no/such }', 'tls.ca', 'no such file', 'readable'),
  'an authority that is no certificate': risky(
    `tls: { ca: ${pem('CERTIFICATE')} }`,
    'tls.ca',
    'a certificate that cannot be read',
    'it may be cut short',
  ),
  'a key for an authority': risky(`tls: { ca: ${pem('PRIVATE KEY')} }`, 'tls.ca', 'not a certificate', 'PEM'),
  'a certificate without its key': risky(
    `tls: { certificate: ${pem('CERTIFICATE')} }`,
    'tls.certificate',
    'a certificate without its key',
    'add key: file:PATH',
  ),
  'a key without its certificate': risky(
    `tls: { key: ${pem('PRIVATE KEY')} }`,
    'tls.key',
    'a key without its certificate',
    'add certificate: file:PATH',
  ),
  'a pair that cannot be read': risky(
    `tls: { certificate: ${pem('CERTIFICATE')}, key: ${pem('PRIVATE KEY')} }`,
    'tls.certificate',
    'a certificate that cannot be read',
    'cut short',
  ),
  'a key with a password': risky(
    `tls: { certificate: ${pem('CERTIFICATE')}, key: ${pem('ENCRYPTED PRIVATE KEY')} }`,
    'tls.key',
    'a key with a password',
    'openssl pkey',
  ),
  'an old version': risky('tls: { minVersion: TLSv1.1 }', 'tls.minVersion', 'unknown value', 'one of TLSv1.2, TLSv1.3'),
  'a version as a number': risky('tls: { minVersion: 1.3 }', 'tls.minVersion', 'unknown value', 'TLSv1.3'),
  'an address for a name': risky(
    'tls: { serverName: 10.0.0.1 }',
    'tls.serverName',
    'an address',
    'a name that stands in the certificate',
  ),
  'a port behind a name': risky(
    'tls: { serverName: "risk.internal:443" }',
    'tls.serverName',
    'not a host name',
    'write the name alone',
  ),
  'a dot behind a name': risky(
    'tls: { serverName: risk.internal. }',
    'tls.serverName',
    'not a host name',
    'risk.internal',
  ),
  'a switch for the whole': risky('tls: none', 'tls', 'the wrong kind of value', 'a map'),
  'a key of another program': risky('tls: { caFile: ca.pem }', 'tls.caFile', 'unknown key', 'one of ca'),
}

const areas = { retry, tls }

describe.each(Object.entries(areas))('a mistake about %s', (_area, mistakes) => tryMistakes(mistakes))

test('at least 30 mistakes are tried', () => {
  expect(Object.values(areas).flatMap(Object.keys).length).toBeGreaterThanOrEqual(30)
})
