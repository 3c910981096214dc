import type { Log } from '../../log/log.ts'
import { throttlesByAddress } from './attempt-throttle.ts'

// Verifying an issuer's token costs more than comparing a digest. Wrong tokens count, right tokens do not.
const wrongTokenLimit = { policy: 'operator-token', perMs: 2 / 1000, burst: 20 } as const

export class TokenRefusals {
  readonly #log: Pick<Log, 'warn'>
  readonly throttleOf = throttlesByAddress(wrongTokenLimit)

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  logIfAllowed(address: string, reason: string, cause: string): void {
    if (this.throttleOf(address).tryAcquire() === null) this.log(address, reason, cause)
  }

  /** Logs a token whose attempt is counted already. */
  log(client: string, reason: string, cause: string): void {
    this.#log.warn({ client, reason, cause }, 'operator token refused')
  }
}
