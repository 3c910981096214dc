import type { WarningRule } from '../../core/config/rules/rule.ts'
import { workerCount, workerShare } from '../../core/config/worker-count.ts'
import { formatSize } from '../../core/lib/text/units.ts'
import { allOperations, type Group, groups } from '../../operations.ts'

const hasOperation = (group: Group, method: 'GET' | 'POST'): boolean =>
  allOperations.some((each) => each.group === group && each.method === method)

const unusedPostWords: WarningRule = ({ config: { upstreams } }) =>
  groups.map((group) => {
    const shadow = upstreams[group].candidate?.shadow ?? null
    if (shadow === null) return null
    const hasPosts = hasOperation(group, 'POST')
    const path = ['upstreams', group, 'candidate', 'shadow']
    if (shadow.posts)
      return (
        !hasPosts && {
          path: [...path, 'posts'],
          message: 'this does nothing: the group has no POST',
          expected: 'false',
          found: 'true',
          hint: 'remove this line',
        }
      )
    return (
      shadow.sideEffects !== null && {
        path: [...path, 'sideEffects'],
        message: 'this does nothing: no POST is copied',
        expected: hasPosts ? 'posts: true beside it' : 'no sideEffects',
        found: 'no posts',
        hint: hasPosts ? 'add posts: true, or remove this line' : 'remove this line',
      }
    )
  })

const shownValues: WarningRule = ({ config: { upstreams } }) =>
  groups.map(
    (group) =>
      upstreams[group].candidate?.shadow?.compare?.examples === true && {
        path: ['upstreams', group, 'candidate', 'shadow', 'compare', 'examples'],
        message: 'VALUES OF ANSWERS ARE KEPT, and whoever reads the admin listener sees them',
        expected: 'false, unless they are no data of anybody',
        found: 'true',
        hint: 'remove this line when you have seen enough',
      },
  )

const noiseOfPosts: WarningRule = ({ config: { upstreams } }) =>
  groups.map(
    (group) =>
      upstreams[group].candidate?.shadow?.compare?.noise === true &&
      !hasOperation(group, 'GET') && {
        path: ['upstreams', group, 'candidate', 'shadow', 'compare', 'noise'],
        message: 'this does nothing: the group has no GET, and a POST is never sent to the primary twice',
        expected: 'what differs from one answer to the next under ignore',
        found: 'true',
        hint: 'remove this line, and name times and ids under ignore',
      },
  )

const nothingCopied: WarningRule = ({ config: { upstreams } }) =>
  groups.map((group) => {
    const shadow = upstreams[group].candidate?.shadow ?? null
    if (shadow === null || shadow.sample === 0 || shadow.posts || shadow.sideEffects !== null) return null
    return (
      !hasOperation(group, 'GET') && {
        path: ['upstreams', group, 'candidate', 'shadow'],
        message: 'this does nothing: the group has no GET, and its POSTs are not copied',
        expected: 'posts: true and sideEffects: none, or no shadow',
        found: 'no posts',
        hint: 'add both if nothing that the candidate does with a copy lasts, or remove shadow',
      }
    )
  })

const bodyWithoutRoom: WarningRule = ({ config, cores }) =>
  groups.map((group) => {
    const shadow = config.upstreams[group].candidate?.shadow ?? null
    // Only the bodies of POSTs are copied, and those of answers are kept to be compared.
    if (shadow === null || (!shadow.posts && shadow.compare === null)) return null
    const room = workerShare(shadow.maxBytes, workerCount(config, cores))
    return (
      shadow.maxBody > room && {
        path: ['upstreams', group, 'candidate', 'shadow', 'maxBody'],
        message: 'the longest bodies are not kept: a worker has no room for one',
        expected: `at most ${formatSize(room)}, what each worker has of shadow.maxBytes`,
        found: formatSize(shadow.maxBody),
        hint: 'write less, or more for maxBytes',
      }
    )
  })

export const shadowWarnings: readonly WarningRule[] = [
  unusedPostWords,
  nothingCopied,
  noiseOfPosts,
  shownValues,
  bodyWithoutRoom,
]
