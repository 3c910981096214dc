/** What people get wrong about retries and about TLS to an upstream. */
import { describe, expect, test } from 'vitest'
import { at, defaults, type Mistake, own, pem, top, tryMistakes, wrong } from './mistakes.ts'

const retry: Readonly<Record<string, Mistake>> = {
  'a single attempt': wrong(own('retry: { attempts: 1 }'), 7, `${at}.retry.attempts`, 'too small', 'at least 2'),
  'attempts for a policy': wrong(
    own('retry: 3'),
    7,
    `${at}.retry`,
    'not a policy',
    'write { }, or none to turn it off',
  ),
  'a status in quotes': wrong(
    own('retry: { on: ["503"] }'),
    7,
    `${at}.retry.on[0]`,
    'not what a retry can follow',
    'write 503, without quotes',
  ),
  'a failure that no attempt would change': wrong(
    own('retry: { on: [connect-failed, content-too-large] }'),
    7,
    `${at}.retry.on[1]`,
    'not what a retry can follow',
    'one of connect-failed',
  ),
  'a status of success': wrong(own('retry: { on: [200] }'), 7, `${at}.retry.on[0]`, 'not what a retry can', '429, 500'),
  'the same twice': wrong(own('retry: { on: [503, 502, 503] }'), 7, `${at}.retry.on[2]`, '503 twice', 'remove one'),
  'an empty list': wrong(own('retry: { on: [] }'), 7, `${at}.retry.on`, 'the list is empty', 'remove the key'),
  'one word for a list': wrong(own('retry: { on: 503 }'), 7, `${at}.retry.on`, 'the wrong kind of value', 'a list'),
  'a first pause longer than the longest': wrong(
    own('retry: { backoff: { base: 2s, max: 1s } }'),
    7,
    `${at}.retry.backoff.base`,
    'the first pause is longer than the longest',
    'at most 1s, which is retry.backoff.max',
  ),
  'a longest pause below the built-in first': wrong(
    own('retry: { backoff: { max: 10ms } }'),
    7,
    `${at}.retry.backoff.max`,
    'the first pause is longer than the longest',
    'at least 25ms, which is retry.backoff.base',
  ),
  'a first pause longer than the longest of the defaults': wrong(
    own('retry: { backoff: { base: 2s } }').replace(
      'upstreams:',
      'defaults: { retry: { backoff: { max: 1s } } }\nupstreams:',
    ),
    8,
    `${at}.retry.backoff.base`,
    'the first pause is longer than the longest',
    'at most 1s',
  ),
  'a budget as a share': wrong(
    own('retry: { budget: { share: 0.1 } }'),
    7,
    `${at}.retry.budget.share`,
    'a unit is missing',
    'write 10%',
  ),
  'a budget without a bound': wrong(
    own('retry: { budget: none }'),
    7,
    `${at}.retry.budget`,
    'the wrong kind of value',
    'a map',
  ),
  'retry under an operation': wrong(
    top('operations:', '  market.insights:', '    retry: { attempts: 2 }'),
    3,
    'operations.market.insights.retry',
    'unknown key',
    'one of state, deadline',
  ),
}

const tls: Readonly<Record<string, Mistake>> = {
  'verify: false alone': wrong(
    own('tls: { verify: false }'),
    7,
    `${at}.tls.verify`,
    'whoever answers would be believed',
    'insecure: true',
  ),
  'verify: false alone in the defaults, which eight groups inherit': wrong(
    defaults('tls: { verify: false }'),
    2,
    'defaults.tls.verify',
    'whoever answers would be believed',
    'ca: file:PATH',
  ),
  'no for false': wrong(
    own('tls: { verify: no }'),
    7,
    `${at}.tls.verify`,
    'not a boolean',
    'write false, without quotes',
  ),
  'a path without file:': wrong(
    own('tls: { ca: /etc/ca.pem }'),
    7,
    `${at}.tls.ca`,
    'not a certificate in PEM',
    'file:',
  ),
  'a file that is not there': wrong(own('tls: { ca: file:/no/such }'), 7, `${at}.tls.ca`, 'no such file', 'readable'),
  'an authority that is no certificate': wrong(
    own(`tls: { ca: ${pem('CERTIFICATE')} }`),
    7,
    `${at}.tls.ca`,
    'a certificate that cannot be read',
    'it may be cut short',
  ),
  'a key for an authority': wrong(
    own(`tls: { ca: ${pem('PRIVATE KEY')} }`),
    7,
    `${at}.tls.ca`,
    'not a certificate',
    'PEM',
  ),
  'a certificate without its key': wrong(
    own(`tls: { certificate: ${pem('CERTIFICATE')} }`),
    7,
    `${at}.tls.certificate`,
    'a certificate without its key',
    'add key: file:PATH',
  ),
  'a key without its certificate': wrong(
    own(`tls: { key: ${pem('PRIVATE KEY')} }`),
    7,
    `${at}.tls.key`,
    'a key without its certificate',
    'add certificate: file:PATH',
  ),
  'a pair that cannot be read': wrong(
    own(`tls: { certificate: ${pem('CERTIFICATE')}, key: ${pem('PRIVATE KEY')} }`),
    7,
    `${at}.tls.certificate`,
    'a certificate that cannot be read',
    'cut short',
  ),
  'a key with a password': wrong(
    own(`tls: { certificate: ${pem('CERTIFICATE')}, key: ${pem('ENCRYPTED PRIVATE KEY')} }`),
    7,
    `${at}.tls.key`,
    'a key with a password',
    'openssl pkey',
  ),
  'an old version': wrong(
    own('tls: { minVersion: TLSv1.1 }'),
    7,
    `${at}.tls.minVersion`,
    'unknown value',
    'one of TLSv1.2, TLSv1.3',
  ),
  'a version as a number': wrong(
    own('tls: { minVersion: 1.3 }'),
    7,
    `${at}.tls.minVersion`,
    'unknown value',
    'TLSv1.3',
  ),
  'an address for a name': wrong(
    own('tls: { serverName: 10.0.0.1 }'),
    7,
    `${at}.tls.serverName`,
    'an address',
    'a name that stands in the certificate',
  ),
  'a port behind a name': wrong(
    own('tls: { serverName: "risk.internal:443" }'),
    7,
    `${at}.tls.serverName`,
    'not a host name',
    'write the name alone',
  ),
  'a dot behind a name': wrong(
    own('tls: { serverName: risk.internal. }'),
    7,
    `${at}.tls.serverName`,
    'not a host name',
    'risk.internal',
  ),
  'a switch for the whole': wrong(own('tls: none'), 7, `${at}.tls`, 'the wrong kind of value', 'a map'),
  'a key of another program': wrong(own('tls: { caFile: ca.pem }'), 7, `${at}.tls.caFile`, 'unknown key', 'one of ca'),
}

const areas = { retry, tls }

describe.each(Object.entries(areas))('a mistake about %s', (_area, mistakes) => tryMistakes(mistakes))

test('at least 30 mistakes are tried', () => {
  expect(Object.values(areas).flatMap(Object.keys).length).toBeGreaterThanOrEqual(30)
})
