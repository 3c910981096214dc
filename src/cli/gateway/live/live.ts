import type { Operation } from '../../../catalog.ts'
import { type Status, status, understood } from '../answers.ts'
import { ask } from '../ask.ts'
import type { Finding } from '../findings-answer.ts'
import { refused } from '../refusals-answer.ts'
import { type Target, urlOf } from '../target.ts'
import type { UpstreamStatus } from '../upstreams-answer.ts'
import { type Failures, failuresOf } from './failures.ts'

/** Is what is so of one operation just now. */
export interface Live {
  readonly url: string
  /** By the gateway's clock, in ms since the epoch. */
  readonly at: number
  /** The hash of what runs. */
  readonly hash: string
  /** What is said of it beside that it serves. */
  readonly operation: Status['operations'][string] | null
  readonly upstream: UpstreamStatus | null
  readonly limits: Status['limits']
  /** What is wrong with it, or with its group. */
  readonly findings: readonly Finding[]
  readonly failures: readonly Failures[]
}

const limitMs = 5000

/** Asks how it stands with an operation. */
export const liveOf = async (target: Target, { id, group }: Operation): Promise<Live> => {
  const [{ body, at }, { body: last }] = await Promise.all([
    ask(target, { method: 'GET', path: '/status', limitMs }),
    ask(target, { method: 'GET', path: '/refused', limitMs }),
  ])
  const told = understood(target, body, status)
  const { refusals } = understood(target, last, refused)
  const owners = [`upstreams.${group}`, `operations.${id}`, 'limits', 'auth', 'process', 'workers']
  const concerns = (about: string): boolean => owners.some((one) => about === one || about.startsWith(`${one}.`))
  return {
    url: urlOf(target),
    at,
    hash: told.config.hash,
    operation: told.operations[id] ?? null,
    upstream: told.upstreams[group] ?? null,
    limits: told.limits && limitsOf(told.limits, [`upstreams.${group}`, `operations.${id}`, 'limits']),
    findings: told.findings?.filter(({ about }) => concerns(about)) ?? [],
    failures: failuresOf(refusals, id, at),
  }
}

/** Keeps the bounds that it has to pass. */
const limitsOf = (
  { concurrency, eventLoop }: NonNullable<Status['limits']>,
  owners: readonly string[],
): Status['limits'] => ({
  rate: null,
  concurrency: concurrency.filter(({ key }) => owners.some((owner) => key === `${owner}.concurrency`)),
  eventLoop: eventLoop?.sheds ? eventLoop : null,
})
