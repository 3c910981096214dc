import { now } from '../clock.ts'
import { GatewayError, overloaded } from '../errors.ts'
import type { Pick } from './balance/balance.ts'
import type { Member } from './member.ts'

/** Chooses who gets an exchange, leaving out those that were tried; null: nobody is left. */
export type Choose = (tried: readonly Member[]) => Member | null

/**
 * Chooses among the members of an upstream. Those that are up come first. When none is, ejected ones are better than nothing, then those
 * that are down: an answer is more likely from them than from nobody. One that drains gets nothing, whatever happens.
 */
export const chooser = (members: readonly Member[], pick: Pick<Member>): Choose => {
  const takers = members.filter(({ takesWork }) => takesWork)
  return (tried) => {
    const at = now()
    const open = tried.length === 0 && takers.every((each) => isOpen(each, at)) ? takers : best(takers, tried, at)
    return open.length === 0 ? null : pick(open, at)
  }
}

/** Tells what to say when there is nobody to choose from the first: all are full, or none takes work. */
export const nobody = (members: readonly Member[]): GatewayError => {
  const full = members.some(({ takesWork }) => takesWork)
  return full
    ? overloaded('endpoint-connections')
    : new GatewayError('no-healthy-endpoint', { reason: 'all-draining', fields: ['Retry-After', '1'] })
}

const isOpen = ({ standing, endpoint }: Member, at: number): boolean =>
  !standing.isDown && !standing.isEjected(at) && !endpoint.full

const best = (takers: readonly Member[], tried: readonly Member[], at: number): readonly Member[] => {
  const left = takers.filter((each) => !each.endpoint.full && !tried.includes(each))
  const up = left.filter(({ standing }) => !standing.isDown)
  const here = up.filter(({ standing }) => !standing.isEjected(at))
  return here.length > 0 ? here : up.length > 0 ? up : left
}
