import type { Log } from '../observe/log.ts'
import type { Override } from '../snapshot/overrides.ts'
import type { Outcome } from '../snapshot/reloader.ts'
import { type CacheDone, clear } from './cache.ts'
import type { Desk } from './desk.ts'
import { type EndpointDone, order } from './endpoints.ts'
import { type OperationDone, override } from './operations.ts'
import type { Refusal } from './problem.ts'
import { time } from './time.ts'

/** Is all that operators can have done, by whichever way they ask. What is done is logged and recorded; each refuses with a reason. */
export interface Orders {
  /** Reads the file again; by force without trying what it brings. */
  reload(force: boolean): Promise<Outcome>
  /** Brings the configuration before this one back. */
  rollback(): Promise<Outcome | Refusal>
  /** Takes an operation out of service or back into it, as the JSON says. */
  operation(state: Override['state'], body: string): Promise<OperationDone | Refusal>
  /** Drains an endpoint or makes it ready, as the JSON says. */
  endpoint(state: EndpointDone['state'], body: string): Promise<EndpointDone | Refusal>
  /** Removes what is stored, as far as the query says. */
  clear(query: string): Promise<CacheDone | Refusal>
}

/** Has orders carried out at a desk. The log line and the record of one are the same wherever it comes from. */
export const carryOut = (desk: Desk, log: Log): Orders => ({
  reload: (force) => desk.reloader.reload('request', force),
  rollback: async () => (await desk.reloader.rollback()) ?? nothingBefore,
  async operation(state, body) {
    const done = await override(desk, state, body)
    if ('detail' in done) return done
    log.info(done, 'operation override')
    desk.audit.tell('operation override', { ...done })
    return done
  },
  async endpoint(state, body) {
    const done = await order(desk, state, body)
    if ('detail' in done) return done
    const { url: endpoint, ...told } = done
    log.info({ endpoint, ...told }, 'endpoint order')
    desk.audit.tell('endpoint order', { endpoint, ...told })
    return done
  },
  async clear(query) {
    const done = await clear(desk, query)
    if ('detail' in done) return done
    log.info(done, 'cache cleared')
    desk.audit.tell('cache cleared', { ...done })
    return done
  },
})

/** Says why a reload was refused. */
export const refusalOf = ({ hash, problems, held }: Extract<Outcome, { result: 'refused' }>): Refusal => {
  if (held === null) return { ...refusedConfiguration, problems, more: { hash } }
  return { ...heldBack, problems, more: { hash, nextTry: time(held.nextTryAt) } }
}

/** Refuses a rollback that has nothing to go back to. */
export const nothingBefore: Refusal = {
  status: 409,
  code: 'nothing-to-roll-back',
  detail: 'the configuration that runs is the first one of this process',
}
const refusedConfiguration = {
  status: 422,
  code: 'configuration-refused',
  detail: 'the file cannot be taken; what ran before runs on',
}
const heldBack = {
  status: 422,
  code: 'endpoints-not-reached',
  detail:
    'no endpoint that the edit brings to a group was reached, or not the keys that it brings; what ran before runs on, and the edit is tried again',
}
