import type { ExplainedSide, ExplainPart } from '../../core/cli/built-in-command.ts'
import { clientIpv6Prefix } from '../../core/config/config-facts.ts'
import { findRequestOwner } from '../../core/exchange/request-owner.ts'
import { bucketCount, bucketsOfShare } from '../../core/exchange/sides.ts'
import { timesBeside } from '../../core/lib/text/format-time.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import { findCandidateUse } from './candidate-clients.ts'
import { clientBucket, createSideChooser } from './layers/side.ts'
import { shiftOfFile } from './runtime.ts'
import { describeShift, type ShiftState } from './shift/shift-state.ts'

interface SideShare {
  readonly shift: Pick<ShiftState, 'share' | 'isStopped'> | null
  readonly whyNone: string
  readonly whySome: string
}

export const findSide: Required<ExplainPart>['findSide'] = (client, operation, config, nameKey) => {
  const { candidate } = config.upstreams[operation.group]
  const shift = shiftOfFile(config, operation.group)
  const share = shift?.share ?? candidate?.share ?? 0
  const key = `upstreams.${operation.group}.candidate.${share === candidate?.share ? 'share' : 'steps'}`
  const whySome = `${nameKey(key)} is ${formatPercent(share)}`
  const whyNone = `the candidate gets no client: ${whySome}`
  return explainSide([client, operation, config, nameKey], { shift, whyNone, whySome })
}

export const findSideNow: Required<ExplainPart>['findSideNow'] = (client, operation, config, nameKey, now) => {
  const shift = now.upstream.candidate?.shift ?? null
  if (shift === null) return null
  const gets = `gets ${describeShift(shift, timesBeside(now.at))}`
  return explainSide([client, operation, config, nameKey], {
    shift: { share: shift.share, isStopped: shift.stopped },
    ...{ whyNone: `just now the candidate ${gets}`, whySome: `just now it ${gets}` },
  })
}

const explainSide = (
  [{ client, isNamed }, { group }, config, nameKey]: Parameters<Required<ExplainPart>['findSide']>,
  { shift, whyNone, whySome }: SideShare,
): ExplainedSide | null => {
  const { candidate } = config.upstreams[group]
  if (candidate === null) return null
  const use = findCandidateUse(candidate, shift)
  if (use === null) return { side: 'primary', why: whyNone, bucket: null }
  const owner = isNamed ? { client } : findRequestOwner({ identity: null, client }, clientIpv6Prefix(config))
  const side = createSideChooser({ ...use, group })(owner)
  if (isNamed && use.clients.includes(client))
    return { side, why: `it is named there: ${nameKey(`upstreams.${group}.candidate.clients`)}`, bucket: null }
  const bucket = clientBucket(group, owner)
  const first = `the first ${bucketsOfShare(use.share)} of ${bucketCount}: ${whySome}`
  return { side, why: `it is in bucket ${bucket}, and the candidate has ${first}`, bucket }
}
