import type { Finding } from '../problem.ts'
import { configSchema } from '../schema.ts'
import { adminChecks } from './admin.ts'
import { authChecks } from './auth.ts'
import { cacheChecks } from './cache.ts'
import { listenChecks } from './listen.ts'
import { policyChecks } from './policies.ts'
import { boundChecks, mtlsChecks } from './possession.ts'
import { type Check, childAt, findingsBy, isOnAt, readAt } from './rule.ts'
import { editChecks, endpointChecks } from './upstreams.ts'

/** Checks what no single key can tell, in a tree that may be broken. */
export const crossFindings = (tree: unknown): readonly Finding[] => findingsBy(checks, tree)

const rotatedStdout: Check = (tree) =>
  childAt(tree, ['audit', 'file']) === 'stdout' &&
  isOnAt(tree, ['audit', 'rotate']) && {
    path: ['audit', 'rotate'],
    message: 'standard output cannot be rotated by whoever writes to it',
    expected: 'none where audit.file is stdout',
    found: 'a size',
    hint: 'remove this line, or write the path of a file as audit.file',
  }

const shutdown = configSchema.shape.shutdown.unwrap().shape

const shutdownOrder: Check = (tree) => {
  const wait = readAt(tree, shutdown.wait, ['shutdown', 'wait'])
  const deadline = readAt(tree, shutdown.deadline, ['shutdown', 'deadline'])
  return (
    wait !== undefined &&
    deadline !== undefined &&
    wait >= deadline && {
      path: ['shutdown', 'deadline'],
      message: 'the deadline is over before the wait is',
      expected: 'more than shutdown.wait',
      found: 'no more',
      hint: 'the deadline is for the whole shutdown: make it longer than the wait',
    }
  )
}

const checks: readonly Check[] = [
  ...adminChecks,
  ...listenChecks,
  ...authChecks,
  mtlsChecks,
  boundChecks,
  ...cacheChecks,
  ...endpointChecks,
  policyChecks,
  rotatedStdout,
  editChecks,
  shutdownOrder,
]
