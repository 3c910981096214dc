import type { Log } from '../../log/log.ts'
import { throttlesByAddress } from './attempt-throttle.ts'

// To verify a token of an issuer costs more than to compare one. A wrong one counts, a right one does not.
const wrongTokenLimit = { policy: 'operator-token', perMs: 2 / 1000, burst: 20 } as const

/** The tokens of operators that were no good: counted by address, and told of in the log as often as that allows. */
export class TokenRefusals {
  readonly #log: Pick<Log, 'warn'>
  readonly throttleOf = throttlesByAddress(wrongTokenLimit)

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  /** Logs a refusal, unless too many wrong tokens came from that address. */
  logIfAllowed(address: string, reason: string, cause: string): void {
    if (this.throttleOf(address).tryAcquire() === null) this.log(address, reason, cause)
  }

  /** Logs a refusal of which the attempt is counted already. */
  log(client: string, reason: string, cause: string): void {
    this.#log.warn({ client, reason, cause }, 'operator token refused')
  }
}
