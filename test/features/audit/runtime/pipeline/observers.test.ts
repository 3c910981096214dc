import { expect, test } from 'vitest'
import type { Config } from '../../../../../src/core/config/config.ts'
import { RequestMetrics } from '../../../../../src/core/log/metrics/request-metrics.ts'
import { createProcessTelemetry, listObservers } from '../../../../../src/core/runtime/pipeline/observers.ts'
import { runtimeParts } from '../../../../../src/core/runtime/runtime-parts.ts'
import { nullAuditSink } from '../../../../../src/features/audit/audit-sink.ts'
import { logInMemory, testConfig } from '../../../../helpers/gateway.ts'

const audit = { file: 'stdout', key: 'k'.repeat(32), digests: 'none', onFailure: 'refuse', rotate: null } as const

const parts = (config: Config) => {
  const process = { requestMetrics: new RequestMetrics(), logEvent: () => {} }
  return runtimeParts.map((part) => part.open(process).acquire(config))
}

const observerNames = (more: Partial<ReturnType<typeof testConfig>>): readonly string[] =>
  listObservers(
    { ...testConfig(), ...more },
    createProcessTelemetry(logInMemory().log, 'gateway'),
    nullAuditSink,
    parts({ ...testConfig(), ...more }),
  ).map(({ name }) => name)

test('the observers of an exchange stand in one list, in this order', () => {
  expect(observerNames({ audit, metrics: { clients: false } })).toEqual([
    'audit',
    'metrics',
    'refusals',
    'requests',
    'access-log',
  ])
})

test('an observer that is off is not in it', () => {
  const { log } = testConfig()

  expect(observerNames({ audit: null, metrics: null, log: { ...log, access: false } })).toEqual([
    'refusals',
    'requests',
  ])
})
