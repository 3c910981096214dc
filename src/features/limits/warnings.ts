import type { WarningRule } from '../../core/config/rules/rule.ts'
import { limitBelowWorkers, workerCount } from '../../core/config/worker-count.ts'
import { allOperations, groups } from '../../operations.ts'

const unusedRedis: WarningRule = ({ config: { limits, clients, auth, idempotency, upstreams } }) =>
  limits.redis !== null &&
  // What is said of candidates is kept in one of the two.
  (idempotency.redis !== null || groups.every((group) => upstreams[group].candidate === null)) &&
  limits.address === null &&
  clients.every(({ rate }) => rate === null) &&
  !auth?.dpop && {
    path: ['limits', 'redis'],
    message: 'this does nothing: nothing is counted',
    expected: 'limits.address, the rate of a client or auth.dpop, or no limits.redis',
    found: 'none of them',
    hint: 'add address: { rate: … } under limits, or remove redis',
  }

const indivisible: WarningRule = ({ parsed: { defaults, upstreams }, config, cores }) => {
  const { limits, operations, clients } = config
  const workers = workerCount(config, cores)
  // Of thousands of clients it names the first.
  const client = clients.findIndex(({ concurrency }) => concurrency !== null && concurrency < workers)
  return [
    limitBelowWorkers(workers, ['limits', 'concurrency'], limits.concurrency),
    groups.some((group) => upstreams[group].concurrency === undefined) &&
      limitBelowWorkers(workers, ['defaults', 'concurrency'], defaults.concurrency),
    groups.map((group) =>
      limitBelowWorkers(workers, ['upstreams', group, 'concurrency'], upstreams[group].concurrency),
    ),
    allOperations.map(({ id }) =>
      limitBelowWorkers(workers, ['operations', id, 'concurrency'], operations[id].concurrency),
    ),
    limitBelowWorkers(workers, ['clients', client, 'concurrency'], clients[client]?.concurrency),
  ]
}

export const warnings: readonly WarningRule[] = [unusedRedis, indivisible]
