import { isIP } from 'node:net'
import { cliError } from '../../core/cli/client/admin-target.ts'
import { timesBeside } from '../../core/cli/render/format-time.ts'
import type { Config } from '../../core/config/config.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { findRequestOwner, type RequestOwner } from '../../core/exchange/request-owner.ts'
import { bucketCount, bucketsOfShare } from '../../core/exchange/sides.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import type { Operation, Side } from '../../operations.ts'
import { findCandidateUse } from '../candidate/candidate-clients.ts'
import { clientBucket, clientIpv6Prefix, createSideChooser } from '../candidate/layers/side.ts'
import { shiftOfFile } from '../candidate/runtime.ts'
import type { ShiftState } from '../candidate/shift/shift-state.ts'
import { describeShift, type ShiftStatus } from '../candidate/shift/shift-state.ts'

export interface ClientSide {
  /** The name or the address that was asked for. */
  readonly client: string
  readonly side: Side
  /** Why, in words, with the key that decides and its line. */
  readonly why: string
  /** From 0 to 9,999; null: no bucket was looked at. */
  readonly bucket: number | null
}

interface SideShare {
  /** Null: the file decides by itself. */
  readonly shift: Pick<ShiftState, 'share' | 'isStopped'> | null
  readonly whyNone: string
  /** Why so many buckets are. */
  readonly whySome: string
}

/** Throws a {@link cliError} for what is neither an address nor the name of a client. */
export const requireClient = (client: string, { clients }: Pick<Config, 'clients'>): void => {
  const names = clients.map(({ id }) => id)
  if (isIP(client) !== 0 || names.includes(client)) return
  const near = suggestNearest(client, names)
  throw cliError(
    `--client: ${client} is neither an address nor the name of one under clients${near === undefined ? '' : `; probably meant: ${near}`}`,
  )
}

/**
 * Explains which side of an operation's group a client is on, by its name or by its address, as the file has it. Throws
 * a {@link cliError} for a name where the operation asks no client who it is, and for an address where it asks.
 */
export const explainClientSide = (
  client: string,
  operation: Operation,
  config: Config,
  locateKey: (key: string) => string,
): ClientSide => {
  const { candidate } = config.upstreams[operation.group]
  const shift = shiftOfFile(config, operation.group)
  const share = shift?.share ?? candidate?.share ?? 0
  const key = `upstreams.${operation.group}.candidate.${share === candidate?.share ? 'share' : 'steps'}`
  const why = `${locateKey(key)} is ${formatPercent(share)}`
  return explainSide(client, operation, config, locateKey, {
    shift,
    whyNone: `the candidate gets no client: ${why}`,
    whySome: why,
  })
}

/**
 * Explains the same as a gateway has it that runs this configuration: what operators, steps and the guard have said
 * goes before the file. `at` is the gateway's clock.
 */
export const explainClientSideNow = (
  client: string,
  operation: Operation,
  config: Config,
  locateKey: (key: string) => string,
  { shift, at }: { readonly shift: ShiftStatus; readonly at: number },
): ClientSide => {
  const gets = describeShift(shift, timesBeside(at))
  return explainSide(client, operation, config, locateKey, {
    shift: { share: shift.share, isStopped: shift.stopped },
    whyNone: `just now the candidate gets ${gets}`,
    whySome: `just now it gets ${gets}`,
  })
}

const explainSide = (
  client: string,
  { id, group }: Operation,
  config: Config,
  locateKey: (key: string) => string,
  { shift, whyNone, whySome }: SideShare,
): ClientSide => {
  const owner = findOwner(client, id, config)
  const { candidate } = config.upstreams[group]
  if (candidate === null) return primary(client, 'the group has no candidate')
  const use = findCandidateUse(candidate, shift)
  if (use === null) return primary(client, whyNone)
  const side = createSideChooser({ ...use, group })(owner)
  if ('client' in owner && use.clients.includes(owner.client))
    return {
      client,
      side,
      why: `it is named there: ${locateKey(`upstreams.${group}.candidate.clients`)}`,
      bucket: null,
    }
  const bucket = clientBucket(group, owner)
  const first = `the first ${bucketsOfShare(use.share)} of ${bucketCount}: ${whySome}`
  return { client, side, why: `it is in bucket ${bucket}, and the candidate has ${first}`, bucket }
}

const primary = (client: string, why: string): ClientSide => ({ client, side: 'primary', why, bucket: null })

const findOwner = (client: string, id: Operation['id'], config: Config): RequestOwner => {
  const isClient = config.clients.some((each) => each.id === client)
  const asksWhoItIs = config.operations[id].auth !== null
  if (isClient && !asksWhoItIs)
    throw cliError(`--client: ${id} asks no client who it is; its side is that of its address, so write the address`)
  if (isClient) return { client }
  if (asksWhoItIs)
    throw cliError(`--client: ${id} asks clients who they are; its side is not that of an address, so write the name`)
  return findRequestOwner({ identity: null, client }, clientIpv6Prefix(config))
}
