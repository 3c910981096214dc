import { now } from '../clock.ts'
import type { Answer, Attempt, Exchange, Handle } from '../exchange.ts'
import { GatewayError, overloaded } from '../failures/errors.ts'
import { failures } from '../failures/kinds.ts'
import type { Pick } from './balance.ts'
import type { Member } from './member.ts'

/**
 * Chooses who gets an exchange, given the last attempt that it has made. `elsewhere`: an endpoint that was tried
 * already is no choice; else it is one only when all that are as good were tried. Null: there is no choice.
 */
export type Choose = (last: Attempt | null, elsewhere: boolean) => Member | null

/**
 * Chooses among the members of an upstream. Those that are up come first. When none is, ejected ones are better than nothing, then those
 * that are down: an answer is more likely from them than from nobody. One that drains gets nothing, whatever happens.
 */
export const chooser = (members: readonly Member[], pick: Pick<Member>): Choose => {
  const takers = members.filter(({ takesWork }) => takesWork)
  return (last, elsewhere) => {
    const at = now()
    const open = last === null && takers.every((each) => isOpen(each, at)) ? takers : best(takers, last, elsewhere, at)
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
  !standing.isDown && !standing.isEjected(at) && !endpoint.connections.isFull

const best = (takers: readonly Member[], last: Attempt | null, elsewhere: boolean, at: number): readonly Member[] => {
  const untried = ({ name }: Member): boolean => !hasTried(last, name)
  const left = takers.filter((each) => !each.endpoint.connections.isFull && (!elsewhere || untried(each)))
  const up = left.filter(({ standing }) => !standing.isDown)
  const here = up.filter(({ standing }) => !standing.isEjected(at))
  const choice = here.length > 0 ? here : up.length > 0 ? up : left
  const fresh = choice.filter(untried)
  return fresh.length > 0 ? fresh : choice
}

/** Tells whether an endpoint, by its name, was tried by an attempt or one before it. */
const hasTried = (last: Attempt | null, name: string): boolean => {
  for (let each = last; each !== null; each = each.before) if (each.endpoint === name) return true
  return false
}

/**
 * Sends an exchange to one of several endpoints. What could not be sent at all goes to another, whatever the method:
 * nothing of it has arrived anywhere, and its body is still whole. Each is tried once. An exchange that is sent again
 * for another reason (`retry`) goes to one that it has not tried while there is one, as Envoy's `previous_hosts` and
 * HAProxy's `redispatch` have it. `nobody` makes the failure of having none.
 */
export const failover = (choose: Choose, nobody: () => GatewayError): Handle => {
  const next = (exchange: Exchange, error: unknown): Promise<Answer> => {
    const unsent = error instanceof GatewayError && failures[error.kind].retry === 'always'
    const member = unsent && exchange.aborted === null ? choose(exchange.attempt, true) : null
    if (member === null) throw error
    return member.send(exchange).catch((again) => next(exchange, again))
  }
  const begin = (exchange: Exchange): Promise<Answer> => {
    const member = choose(exchange.attempt, false)
    if (member === null) return Promise.reject(nobody())
    return member.send(exchange).catch((error) => next(exchange, error))
  }
  // A body that is read first is read before the choice: by then the one that was chosen might be full, or out.
  return (exchange) => (exchange.body.replayable ? exchange.body.read().then(() => begin(exchange)) : begin(exchange))
}
