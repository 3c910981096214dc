/** What people get wrong about balancing, health and what takes an endpoint out. */
import { describe, expect, test } from 'vitest'
import { at, defaults, type Mistake, own, risk, top, tryMistakes, wrong } from './mistakes.ts'

const values: Readonly<Record<string, Mistake>> = {
  'a balance of another program': wrong(
    own('balance: leastconn'),
    7,
    `${at}.balance`,
    'unknown value',
    'one of p2c, least-requests, round-robin',
  ),
  'a balance in upper case': wrong(own('balance: P2C'), 7, `${at}.balance`, 'unknown value', 'write p2c'),
  'a slow start of nothing': wrong(own('slowStart: 0s'), 7, `${at}.slowStart`, 'too small', 'or none'),
  'a slow start of hours': wrong(own('slowStart: 2h'), 7, `${at}.slowStart`, 'too large', 'write at most 1h'),
  'names resolved without a pause': wrong(own('resolve: 100ms'), 7, `${at}.resolve`, 'too small', 'write at least 1s'),
  'names resolved never': wrong(own('resolve: none'), 7, `${at}.resolve`, 'not a duration', 'cannot be turned off'),
  'a line without an end': wrong(own('maxPending: none'), 7, `${at}.maxPending`, 'not a number', 'write a larger one'),
  'a drain as a word': wrong(
    risk('endpoints:', '  - url: https://risk', '    drain: on'),
    8,
    `${at}.endpoints[0].drain`,
    'not a boolean',
    'write true, without quotes',
  ),
  'a group that drains altogether': wrong(
    risk('endpoints: [{ url: https://risk, drain: true }]'),
    6,
    `${at}.endpoints`,
    'no endpoint takes work',
    'set its state: refuse',
  ),
  'a preflight that is switched off by false': wrong(
    top('reload:', '  preflight: false'),
    2,
    'reload.preflight',
    'unknown value',
    'one of connect, health, none',
  ),
}

const outlier: Readonly<Record<string, Mistake>> = {
  'a percentage without its sign': wrong(
    own('outlier: { failureRate: 10 }'),
    7,
    `${at}.outlier.failureRate`,
    'a unit is missing',
    'write 10%',
  ),
  'a share for a percentage': wrong(
    defaults('outlier:', '  maxEjected: 0.25'),
    3,
    'defaults.outlier.maxEjected',
    'a unit is missing',
    'write 25%',
  ),
  'a blank before the sign': wrong(
    own('outlier: { maxEjected: 10 % }'),
    7,
    `${at}.outlier.maxEjected`,
    'not a percentage',
    'write 10%',
  ),
  'more than all': wrong(own('outlier: { maxEjected: 101% }'), 7, `${at}.outlier.maxEjected`, 'too large', '100%'),
  'no difference at all': wrong(own('outlier: { failureRate: 0% }'), 7, `${at}.outlier.failureRate`, 'too small', '1%'),
  'a bound that is off by a word': wrong(
    own('outlier: { consecutiveFailures: off }'),
    7,
    `${at}.outlier.consecutiveFailures`,
    'not a number',
    'write none to turn this bound off',
  ),
  'a key of another program': wrong(
    own('outlier: { consecutive5xx: 5 }'),
    7,
    `${at}.outlier.consecutive5xx`,
    'unknown key',
    'one of consecutiveFailures, failureRate',
  ),
  'a policy switched off by a word': wrong(own('outlier: off'), 7, `${at}.outlier`, 'not a policy', 'write none'),
}

const healthCheck: Readonly<Record<string, Mistake>> = {
  'a path without its slash': wrong(
    own('healthCheck: { path: healthz }'),
    7,
    `${at}.healthCheck.path`,
    'not an absolute path',
    'write /healthz',
  ),
  'a URL for a path': wrong(
    own('healthCheck: { path: "http://risk/healthz" }'),
    7,
    `${at}.healthCheck.path`,
    'not a path',
    'write the path alone',
  ),
  'a fragment': wrong(
    own('healthCheck: { path: "/healthz#a" }'),
    7,
    `${at}.healthCheck.path`,
    'a path with a fragment',
    'remove # and what follows it',
  ),
  'a blank in a path': wrong(
    own('healthCheck: { path: /health check }'),
    7,
    `${at}.healthCheck.path`,
    'a character that must be encoded',
    '%20',
  ),
  'a request smuggled in a path': wrong(
    own('healthCheck: { path: "/ HTTP/1.1\\r\\nA: b" }'),
    7,
    `${at}.healthCheck.path`,
    'a character that must be encoded',
    'percent-encode it',
  ),
  'a path that is too long': wrong(
    own(`healthCheck: { path: /${'a'.repeat(1024)} }`),
    7,
    `${at}.healthCheck.path`,
    'too long',
    'at most 1024 characters',
  ),
  'no path at all': wrong(
    own('healthCheck: { interval: 1s }'),
    7,
    `${at}.healthCheck.path`,
    'a health check without a path',
    'path: /healthz',
  ),
  'an empty one': wrong(own('healthCheck: {}'), 7, `${at}.healthCheck.path`, 'without a path', 'here or in defaults'),
  'no path for those that inherit it': wrong(
    `${defaults('healthCheck: { interval: 1s }')}`.replace(
      '  risk: sandbox',
      '  risk: { endpoints: [sandbox], healthCheck: { path: / } }',
    ),
    2,
    'defaults.healthCheck.path',
    'a health check without a path',
    'in every group that does not turn it off',
  ),
  'a class of statuses': wrong(
    own('healthCheck: { path: /, expect: 2xx }'),
    7,
    `${at}.healthCheck.expect`,
    'not a range of statuses',
    'write 200-299',
  ),
  'a range with blanks': wrong(
    own('healthCheck: { path: /, expect: 200 - 299 }'),
    7,
    `${at}.healthCheck.expect`,
    'not a range of statuses',
    'write 200-299',
  ),
  'a range the wrong way round': wrong(
    own('healthCheck: { path: /, expect: 299-200 }'),
    7,
    `${at}.healthCheck.expect`,
    'the wrong way round',
    'write 200-299',
  ),
  'a status that is none': wrong(
    own('healthCheck: { path: /, expect: 200-600 }'),
    7,
    `${at}.healthCheck.expect`,
    'no such status',
    'from 200 to 599',
  ),
  'true for a policy': wrong(
    own('healthCheck: true'),
    7,
    `${at}.healthCheck`,
    'not a policy',
    'write { path: /healthz }, or none',
  ),
  'a path for a policy': wrong(
    own('healthCheck: /healthz'),
    7,
    `${at}.healthCheck`,
    'not a policy',
    '{ path: /healthz }',
  ),
  'a list for a policy': wrong(own('healthCheck: [/]'), 7, `${at}.healthCheck`, 'the wrong kind of value', 'or a map'),
  'nothing for a policy': wrong(own('healthCheck:'), 7, `${at}.healthCheck`, 'no value', 'remove the key'),
}

const breaking: Readonly<Record<string, Mistake>> = {
  'a window that is too short': wrong(
    own('circuitBreaker: { window: 500ms }'),
    7,
    `${at}.circuitBreaker.window`,
    'too small',
    'write at least 1s',
  ),
  'no probe': wrong(own('circuitBreaker: { probes: 0 }'), 7, `${at}.circuitBreaker.probes`, 'too small', 'at least 1'),
  'a misspelt key': wrong(
    defaults('circuitBreaker: { openfor: 5s }'),
    2,
    'defaults.circuitBreaker.openfor',
    'did you mean "openFor"?',
    'one of failureRate',
  ),
  'a policy with another name': wrong(own('breaker: {}'), 7, `${at}.breaker`, 'unknown key', 'circuitBreaker'),
}

const areas = { values, outlier, healthCheck, breaking }

describe.each(Object.entries(areas))('a mistake about %s', (_area, mistakes) => tryMistakes(mistakes))

test('at least 38 mistakes are tried', () => {
  expect(Object.values(areas).flatMap(Object.keys).length).toBeGreaterThanOrEqual(38)
})
