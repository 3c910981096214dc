import type { OperationConfig } from '../config/config.ts'
import { compose, type Handle } from '../exchange.ts'
import { bodyLimit } from '../layers/body-limit.ts'
import { deadline } from '../layers/deadline.ts'
import { refuse } from '../layers/refuse.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** Composes what stands behind one operation. The order of this list is the behaviour; what is off is not in it. */
export const stack = (operation: OperationConfig, upstream: Upstream): Handle =>
  operation.state === 'refuse'
    ? refuse
    : compose(
        [
          operation.maxBodyBytes === null ? null : bodyLimit(operation.maxBodyBytes),
          operation.deadlineMs === null ? null : deadline(operation.deadlineMs),
        ],
        upstream.send,
      )
