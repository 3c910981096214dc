import { expect, test } from 'vitest'
import type { ReloadTrigger } from '../../../src/core/runtime/reload/reload-history.ts'
import { describeService } from '../../../src/features/systemd/service-notifier.ts'

const describeAfterRejectionOf = (trigger: ReloadTrigger): string => {
  const place = { file: 'gateway.yaml', line: 3, column: 1, path: 'audit.file' }
  const problem = { ...place, message: 'it cannot be opened', expected: 'a file', found: 'EACCES' }
  return describeService({
    address: { address: '::1', family: 'IPv6', port: 8080 },
    config: { hash: 'e25ebc608ce5' },
    notServing: () => null,
    rejection: { at: 0, since: 0, trigger, problems: [problem, problem], isFileSound: true, isUnanswered: false },
  })
}

test.each([
  ['file', 'an edit'],
  ['rollback', 'a rollback'],
] as const)('what was refused has its name: %s', (trigger, what) => {
  expect(describeAfterRejectionOf(trigger)).toBe(
    `Serves clients on [::1]:8080; configuration e25ebc608ce5; ${what} was refused: gateway.yaml:3:1 audit.file, and 1 more`,
  )
})
