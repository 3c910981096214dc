import { expect, test } from 'vitest'
import { createProcessTelemetry, listObservers } from '../../../../src/core/runtime/pipeline/observers.ts'
import { logInMemory, testConfig } from '../../../helpers/gateway.ts'
import { acquireTestParts } from '../../../helpers/parts.ts'

const audit = { file: 'stdout', key: 'k'.repeat(32), digests: 'none', onFailure: 'reject', rotate: null } as const

const observerNames = (more: Partial<ReturnType<typeof testConfig>>): readonly string[] =>
  listObservers(
    { ...testConfig(), ...more },
    createProcessTelemetry(logInMemory().log, 'gateway'),
    Object.values(acquireTestParts({ ...testConfig(), ...more })),
  ).map(({ name }) => name)

test('the observers of an exchange stand in one list, in this order', () => {
  expect(observerNames({ audit, metrics: { clients: false } })).toEqual([
    'audit',
    'requests',
    'metrics',
    'rejections',
    'access-log',
  ])
})

test('an observer that is off is not in it', () => {
  const { log } = testConfig()

  expect(observerNames({ audit: null, metrics: null, log: { ...log, access: false } })).toEqual([
    'requests',
    'rejections',
  ])
})
