import { formatPlace } from '../../core/config/problem.ts'
import type { Gateway } from '../../core/runtime/gateway.ts'

type DescribedGateway = Pick<Gateway, 'address' | 'rejection' | 'notServing'> & {
  readonly config: Pick<Gateway['config'], 'hash'>
}

/** Says in one line how a gateway does, as `systemctl status` shows it. */
export const describeService = ({ address, config, rejection, notServing }: DescribedGateway): string => {
  const reason = notServing()
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  const serving =
    reason === null ? `Serves clients on ${host}:${address.port}` : `No client is served just now (${reason})`
  return [`${serving}; configuration ${config.hash}`, ...describeRejection(rejection)].join('; ')
}

const describeRejection = (rejection: Gateway['rejection']): readonly string[] => {
  const [problem, ...more] = rejection?.problems ?? []
  if (problem === undefined) return []
  const others = more.length === 0 ? '' : `, and ${more.length} more`
  const what = rejection?.trigger === 'rollback' ? 'a rollback' : 'an edit'
  return [`${what} was refused: ${formatPlace(problem)}${others}`]
}
