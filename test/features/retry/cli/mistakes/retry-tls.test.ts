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

const retry: Readonly<Record<string, Mistake>> = {
  'a single attempt': oneLineMistake(
    riskUpstream('retry: { attempts: 1 }'),
    7,
    `${riskPath}.retry.attempts`,
    'too small',
    'at least 2',
  ),
  'attempts for a policy': oneLineMistake(
    riskUpstream('retry: 3'),
    7,
    `${riskPath}.retry`,
    'not a policy',
    'write { }, or none to turn it off',
  ),
  'a status in quotes': oneLineMistake(
    riskUpstream('retry: { on: ["503"] }'),
    7,
    `${riskPath}.retry.on[0]`,
    'not what a retry can follow',
    'write 503, without quotes',
  ),
  'a failure that no attempt would change': oneLineMistake(
    riskUpstream('retry: { on: [connect-failed, content-too-large] }'),
    7,
    `${riskPath}.retry.on[1]`,
    'not what a retry can follow',
    'one of connect-failed',
  ),
  'a status of success': oneLineMistake(
    riskUpstream('retry: { on: [200] }'),
    7,
    `${riskPath}.retry.on[0]`,
    'not what a retry can',
    '429, 500',
  ),
  'the same twice': oneLineMistake(
    riskUpstream('retry: { on: [503, 502, 503] }'),
    7,
    `${riskPath}.retry.on[2]`,
    '503 twice',
    'remove one',
  ),
  'an empty list': oneLineMistake(
    riskUpstream('retry: { on: [] }'),
    7,
    `${riskPath}.retry.on`,
    'the list is empty',
    'remove the key',
  ),
  'one word for a list': oneLineMistake(
    riskUpstream('retry: { on: 503 }'),
    7,
    `${riskPath}.retry.on`,
    'the wrong kind of value',
    'a list',
  ),
  'a first pause longer than the longest': oneLineMistake(
    riskUpstream('retry: { backoff: { base: 2s, max: 1s } }'),
    7,
    `${riskPath}.retry.backoff.base`,
    'the first pause is longer than the longest',
    'at most 1s, which is retry.backoff.max',
  ),
  'a longest pause below the built-in first': oneLineMistake(
    riskUpstream('retry: { backoff: { max: 10ms } }'),
    7,
    `${riskPath}.retry.backoff.max`,
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
  'a budget as a share': oneLineMistake(
    riskUpstream('retry: { budget: { share: 0.1 } }'),
    7,
    `${riskPath}.retry.budget.share`,
    'a unit is missing',
    'write 10%',
  ),
  'a budget without a bound': oneLineMistake(
    riskUpstream('retry: { budget: none }'),
    7,
    `${riskPath}.retry.budget`,
    'the wrong kind of value',
    'a map',
  ),
  'retry under an operation': oneLineMistake(
    withTopLines('operations:', '  market.insights:', '    retry: { attempts: 2 }'),
    3,
    'operations.market.insights.retry',
    'unknown key',
    'one of state, deadline',
  ),
}

const tls: Readonly<Record<string, Mistake>> = {
  'verify: false alone': oneLineMistake(
    riskUpstream('tls: { verify: false }'),
    7,
    `${riskPath}.tls.verify`,
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
  'no for false': oneLineMistake(
    riskUpstream('tls: { verify: no }'),
    7,
    `${riskPath}.tls.verify`,
    'not a boolean',
    'write false, without quotes',
  ),
  'a path without file:': oneLineMistake(
    riskUpstream('tls: { ca: /etc/ca.pem }'),
    7,
    `${riskPath}.tls.ca`,
    'not a certificate in PEM',
    'file:',
  ),
  'a file that is not there': oneLineMistake(
    riskUpstream('tls: { ca: file:/no/such }'),
    7,
    `${riskPath}.tls.ca`,
    'no such file',
    'readable',
  ),
  'an authority that is no certificate': oneLineMistake(
    riskUpstream(`tls: { ca: ${pem('CERTIFICATE')} }`),
    7,
    `${riskPath}.tls.ca`,
    'a certificate that cannot be read',
    'it may be cut short',
  ),
  'a key for an authority': oneLineMistake(
    riskUpstream(`tls: { ca: ${pem('PRIVATE KEY')} }`),
    7,
    `${riskPath}.tls.ca`,
    'not a certificate',
    'PEM',
  ),
  'a certificate without its key': oneLineMistake(
    riskUpstream(`tls: { certificate: ${pem('CERTIFICATE')} }`),
    7,
    `${riskPath}.tls.certificate`,
    'a certificate without its key',
    'add key: file:PATH',
  ),
  'a key without its certificate': oneLineMistake(
    riskUpstream(`tls: { key: ${pem('PRIVATE KEY')} }`),
    7,
    `${riskPath}.tls.key`,
    'a key without its certificate',
    'add certificate: file:PATH',
  ),
  'a pair that cannot be read': oneLineMistake(
    riskUpstream(`tls: { certificate: ${pem('CERTIFICATE')}, key: ${pem('PRIVATE KEY')} }`),
    7,
    `${riskPath}.tls.certificate`,
    'a certificate that cannot be read',
    'cut short',
  ),
  'a key with a password': oneLineMistake(
    riskUpstream(`tls: { certificate: ${pem('CERTIFICATE')}, key: ${pem('ENCRYPTED PRIVATE KEY')} }`),
    7,
    `${riskPath}.tls.key`,
    'a key with a password',
    'openssl pkey',
  ),
  'an old version': oneLineMistake(
    riskUpstream('tls: { minVersion: TLSv1.1 }'),
    7,
    `${riskPath}.tls.minVersion`,
    'unknown value',
    'one of TLSv1.2, TLSv1.3',
  ),
  'a version as a number': oneLineMistake(
    riskUpstream('tls: { minVersion: 1.3 }'),
    7,
    `${riskPath}.tls.minVersion`,
    'unknown value',
    'TLSv1.3',
  ),
  'an address for a name': oneLineMistake(
    riskUpstream('tls: { serverName: 10.0.0.1 }'),
    7,
    `${riskPath}.tls.serverName`,
    'an address',
    'a name that stands in the certificate',
  ),
  'a port behind a name': oneLineMistake(
    riskUpstream('tls: { serverName: "risk.internal:443" }'),
    7,
    `${riskPath}.tls.serverName`,
    'not a host name',
    'write the name alone',
  ),
  'a dot behind a name': oneLineMistake(
    riskUpstream('tls: { serverName: risk.internal. }'),
    7,
    `${riskPath}.tls.serverName`,
    'not a host name',
    'risk.internal',
  ),
  'a switch for the whole': oneLineMistake(
    riskUpstream('tls: none'),
    7,
    `${riskPath}.tls`,
    'the wrong kind of value',
    'a map',
  ),
  'a key of another program': oneLineMistake(
    riskUpstream('tls: { caFile: ca.pem }'),
    7,
    `${riskPath}.tls.caFile`,
    'unknown key',
    'one of ca',
  ),
}

const areas = { retry, tls }

describe.each(Object.entries(areas))('a mistake about %s', (_area, mistakes) => tryMistakes(mistakes))

test('at least 30 mistakes are tried', () => {
  expect(Object.values(areas).flatMap(Object.keys).length).toBeGreaterThanOrEqual(30)
})
