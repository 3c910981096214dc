import { isIP } from 'node:net'
import { epochMs } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { suggestNearest } from '../../config/suggest.ts'
import { bucketCount, bucketsOfShare, clientBucket } from '../../layers/candidate/client-bucket.ts'
import { createSideChooser } from '../../layers/candidate/side.ts'
import type { Group, Operation, Side } from '../../operations.ts'
import { clientIpv6Prefix, findCandidateUse } from '../../runtime/pipeline/candidate-layers.ts'
import { listShiftPlans } from '../../runtime/shift/shift-plan.ts'
import { beginRecord } from '../../runtime/shift/shift-record.ts'
import { type ShiftState, toShiftState } from '../../runtime/shift/shift-state.ts'
import { findRequestOwner, type RequestOwner } from '../../shared/exchange/request-owner.ts'
import { formatPercent } from '../../units.ts'
import { cliError } from '../client/admin-target.ts'

/** The side of a group that a client is on. */
export interface ClientSide {
  /** The name or the address that was asked for. */
  readonly client: string
  readonly side: Side
  /** Why, in words, with the key that decides and its line. */
  readonly why: string
  /** From 0 to 9,999; null: no bucket was looked at. */
  readonly bucket: number | null
}

/** Returns how much of a group goes to its candidate, as a gateway that reads the file now has it. */
export const shiftOfFile = (config: Config, group: Group): ShiftState | null => {
  const plan = listShiftPlans(config)[group]
  const epoch = epochMs()
  return plan === undefined ? null : toShiftState(beginRecord(plan, epoch), plan, epoch)
}

/**
 * Explains which side of an operation's group a client is on, by its name or by its address. Throws a {@link cliError}
 * for what is neither, and for a name where the operation asks no client who it is.
 */
export const explainClientSide = (
  client: string,
  { id, group }: Operation,
  config: Config,
  locateKey: (key: string) => string,
): ClientSide => {
  const owner = findOwner(client, id, config)
  const candidateKey = `upstreams.${group}.candidate`
  const { candidate } = config.upstreams[group]
  if (candidate === null) return primary(client, 'the group has no candidate')
  const shift = shiftOfFile(config, group)
  const share = shift?.share ?? candidate.share
  const shareKey = locateKey(`${candidateKey}.${share === candidate.share ? 'share' : 'steps'}`)
  const use = findCandidateUse(candidate, shift)
  if (use === null) return primary(client, `the candidate gets no client: ${shareKey} is ${formatPercent(share)}`)
  const side = createSideChooser({ ...use, group })(owner)
  if ('client' in owner && use.clients.includes(owner.client))
    return { client, side, why: `it is named there: ${locateKey(`${candidateKey}.clients`)}`, bucket: null }
  const bucket = clientBucket(group, owner)
  const first = `the first ${bucketsOfShare(share)} of ${bucketCount}: ${shareKey} is ${formatPercent(share)}`
  return { client, side, why: `it is in bucket ${bucket}, and the candidate has ${first}`, bucket }
}

const primary = (client: string, why: string): ClientSide => ({ client, side: 'primary', why, bucket: null })

const findOwner = (client: string, id: Operation['id'], config: Config): RequestOwner => {
  const isClient = config.clients.some((each) => each.id === client)
  if (isClient && config.operations[id].auth === null)
    throw cliError(`--client: ${id} asks no client who it is; its side is that of its address, so write the address`)
  if (isClient) return { client }
  if (isIP(client) !== 0) return findRequestOwner({ identity: null, client }, clientIpv6Prefix(config))
  const near = suggestNearest(
    client,
    config.clients.map(({ id: name }) => name),
  )
  throw cliError(
    `--client: ${client} is neither an address nor the name of one under clients${near === undefined ? '' : `; probably meant: ${near}`}`,
  )
}
