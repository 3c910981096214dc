/** Mistakes of operators about balancing, health checks and outlier detection. */
import { describe, expect, test } from 'vitest'
import {
  defaults,
  type Mistake,
  oneLineMistake,
  risk,
  riskPath,
  riskUpstream,
  tryMistakes,
  withTopLines,
} from './mistakes.ts'

const values: Readonly<Record<string, Mistake>> = {
  'a balance of another program': oneLineMistake(
    riskUpstream('balance: leastconn'),
    7,
    `${riskPath}.balance`,
    'unknown value',
    'one of p2c, least-requests, round-robin',
  ),
  'a balance in upper case': oneLineMistake(
    riskUpstream('balance: P2C'),
    7,
    `${riskPath}.balance`,
    'unknown value',
    'write p2c',
  ),
  'a slow start of nothing': oneLineMistake(
    riskUpstream('slowStart: 0s'),
    7,
    `${riskPath}.slowStart`,
    'too small',
    'or none',
  ),
  'a slow start of hours': oneLineMistake(
    riskUpstream('slowStart: 2h'),
    7,
    `${riskPath}.slowStart`,
    'too large',
    'write at most 1h',
  ),
  'names resolved without a pause': oneLineMistake(
    riskUpstream('resolve: 100ms'),
    7,
    `${riskPath}.resolve`,
    'too small',
    'write at least 1s',
  ),
  'names resolved never': oneLineMistake(
    riskUpstream('resolve: none'),
    7,
    `${riskPath}.resolve`,
    'not a duration',
    'cannot be turned off',
  ),
  'a line without an end': oneLineMistake(
    riskUpstream('maxPending: none'),
    7,
    `${riskPath}.maxPending`,
    'not a number',
    'write a larger one',
  ),
  'a drain as a word': oneLineMistake(
    risk('endpoints:', '  - url: https://risk', '    drain: on'),
    8,
    `${riskPath}.endpoints[0].drain`,
    'not a boolean',
    'write true, without quotes',
  ),
  'a group that drains altogether': oneLineMistake(
    risk('endpoints: [{ url: https://risk, drain: true }]'),
    6,
    `${riskPath}.endpoints`,
    'no endpoint takes work',
    'set its state: refuse',
  ),
  'a preflight that is switched off by false': oneLineMistake(
    withTopLines('reload:', '  preflight: false'),
    2,
    'reload.preflight',
    'unknown value',
    'one of connect, health, none',
  ),
}

const outlier: Readonly<Record<string, Mistake>> = {
  'a percentage without its sign': oneLineMistake(
    riskUpstream('outlier: { failureRate: 10 }'),
    7,
    `${riskPath}.outlier.failureRate`,
    'a unit is missing',
    'write 10%',
  ),
  'a share for a percentage': oneLineMistake(
    defaults('outlier:', '  maxEjected: 0.25'),
    3,
    'defaults.outlier.maxEjected',
    'a unit is missing',
    'write 25%',
  ),
  'a blank before the sign': oneLineMistake(
    riskUpstream('outlier: { maxEjected: 10 % }'),
    7,
    `${riskPath}.outlier.maxEjected`,
    'not a percentage',
    'write 10%',
  ),
  'more than all': oneLineMistake(
    riskUpstream('outlier: { maxEjected: 101% }'),
    7,
    `${riskPath}.outlier.maxEjected`,
    'too large',
    '100%',
  ),
  'no difference at all': oneLineMistake(
    riskUpstream('outlier: { failureRate: 0% }'),
    7,
    `${riskPath}.outlier.failureRate`,
    'too small',
    '1%',
  ),
  'a bound that is off by a word': oneLineMistake(
    riskUpstream('outlier: { consecutiveFailures: off }'),
    7,
    `${riskPath}.outlier.consecutiveFailures`,
    'not a number',
    'write none to turn this bound off',
  ),
  'a key of another program': oneLineMistake(
    riskUpstream('outlier: { consecutive5xx: 5 }'),
    7,
    `${riskPath}.outlier.consecutive5xx`,
    'unknown key',
    'one of consecutiveFailures, failureRate',
  ),
  'a policy switched off by a word': oneLineMistake(
    riskUpstream('outlier: off'),
    7,
    `${riskPath}.outlier`,
    'not a policy',
    'write none',
  ),
}

const healthCheck: Readonly<Record<string, Mistake>> = {
  'a path without its slash': oneLineMistake(
    riskUpstream('healthCheck: { path: healthz }'),
    7,
    `${riskPath}.healthCheck.path`,
    'not an absolute path',
    'write /healthz',
  ),
  'a URL for a path': oneLineMistake(
    riskUpstream('healthCheck: { path: "http://risk/healthz" }'),
    7,
    `${riskPath}.healthCheck.path`,
    'not a path',
    'write the path alone',
  ),
  'a fragment': oneLineMistake(
    riskUpstream('healthCheck: { path: "/healthz#a" }'),
    7,
    `${riskPath}.healthCheck.path`,
    'a path with a fragment',
    'remove # and what follows it',
  ),
  'a blank in a path': oneLineMistake(
    riskUpstream('healthCheck: { path: /health check }'),
    7,
    `${riskPath}.healthCheck.path`,
    'a character that must be encoded',
    '%20',
  ),
  'a request smuggled in a path': oneLineMistake(
    riskUpstream('healthCheck: { path: "/ HTTP/1.1\\r\\nA: b" }'),
    7,
    `${riskPath}.healthCheck.path`,
    'a character that must be encoded',
    'percent-encode it',
  ),
  'a path that is too long': oneLineMistake(
    riskUpstream(`healthCheck: { path: /${'a'.repeat(1024)} }`),
    7,
    `${riskPath}.healthCheck.path`,
    'too long',
    'at most 1024 characters',
  ),
  'no path at all': oneLineMistake(
    riskUpstream('healthCheck: { interval: 1s }'),
    7,
    `${riskPath}.healthCheck.path`,
    'a health check without a path',
    'path: /healthz',
  ),
  'an empty one': oneLineMistake(
    riskUpstream('healthCheck: {}'),
    7,
    `${riskPath}.healthCheck.path`,
    'without a path',
    'here or in defaults',
  ),
  'no path for those that inherit it': oneLineMistake(
    `${defaults('healthCheck: { interval: 1s }')}`.replace(
      '  risk: sandbox',
      '  risk: { endpoints: [sandbox], healthCheck: { path: / } }',
    ),
    2,
    'defaults.healthCheck.path',
    'a health check without a path',
    'in every group that does not turn it off',
  ),
  'a class of statuses': oneLineMistake(
    riskUpstream('healthCheck: { path: /, expect: 2xx }'),
    7,
    `${riskPath}.healthCheck.expect`,
    'not a range of statuses',
    'write 200-299',
  ),
  'a range with blanks': oneLineMistake(
    riskUpstream('healthCheck: { path: /, expect: 200 - 299 }'),
    7,
    `${riskPath}.healthCheck.expect`,
    'not a range of statuses',
    'write 200-299',
  ),
  'a range the wrong way round': oneLineMistake(
    riskUpstream('healthCheck: { path: /, expect: 299-200 }'),
    7,
    `${riskPath}.healthCheck.expect`,
    'the wrong way round',
    'write 200-299',
  ),
  'a status that is none': oneLineMistake(
    riskUpstream('healthCheck: { path: /, expect: 200-600 }'),
    7,
    `${riskPath}.healthCheck.expect`,
    'no such status',
    'from 200 to 599',
  ),
  'true for a policy': oneLineMistake(
    riskUpstream('healthCheck: true'),
    7,
    `${riskPath}.healthCheck`,
    'not a policy',
    'write { path: /healthz }, or none',
  ),
  'a path for a policy': oneLineMistake(
    riskUpstream('healthCheck: /healthz'),
    7,
    `${riskPath}.healthCheck`,
    'not a policy',
    '{ path: /healthz }',
  ),
  'a list for a policy': oneLineMistake(
    riskUpstream('healthCheck: [/]'),
    7,
    `${riskPath}.healthCheck`,
    'the wrong kind of value',
    'or a map',
  ),
  'nothing for a policy': oneLineMistake(
    riskUpstream('healthCheck:'),
    7,
    `${riskPath}.healthCheck`,
    'no value',
    'remove the key',
  ),
}

const breaking: Readonly<Record<string, Mistake>> = {
  'a window that is too short': oneLineMistake(
    riskUpstream('circuitBreaker: { window: 500ms }'),
    7,
    `${riskPath}.circuitBreaker.window`,
    'too small',
    'write at least 1s',
  ),
  'no probe': oneLineMistake(
    riskUpstream('circuitBreaker: { probes: 0 }'),
    7,
    `${riskPath}.circuitBreaker.probes`,
    'too small',
    'at least 1',
  ),
  'a misspelt key': oneLineMistake(
    defaults('circuitBreaker: { openfor: 5s }'),
    2,
    'defaults.circuitBreaker.openfor',
    'did you mean "openFor"?',
    'one of failureRate',
  ),
  'a policy with another name': oneLineMistake(
    riskUpstream('breaker: {}'),
    7,
    `${riskPath}.breaker`,
    'unknown key',
    'circuitBreaker',
  ),
}

const areas = { values, outlier, healthCheck, breaking }

describe.each(Object.entries(areas))('a mistake about %s', (_area, mistakes) => tryMistakes(mistakes))

test('at least 38 mistakes are tried', () => {
  expect(Object.values(areas).flatMap(Object.keys).length).toBeGreaterThanOrEqual(38)
})
