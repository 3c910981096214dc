import { CoalescedTimer, sleep } from '../../core/lib/clock.ts'
import type { Claim, IdempotencyStore, Settlement } from './store/idempotency-store.ts'

/** How long an attempt may go without a renewal, in milliseconds. Then its outcome is unknown: its gateway is gone. */
export const claimLeaseMs = 15_000

const renewalMs = claimLeaseMs / 3

// The pause before a store is told again what it could not be told.
const resendMs = 1000

/** An attempt that this process makes. It is renewed until it is settled. */
export class HeldClaim {
  readonly #store: IdempotencyStore
  readonly #claim: Claim
  readonly #renewal = new CoalescedTimer(() => void this.#renew())
  #isSettled = false

  constructor(store: IdempotencyStore, claim: Claim) {
    this.#store = store
    this.#claim = claim
    this.#renewal.set(renewalMs)
  }

  /**
   * Settles the attempt. A store that cannot be told is told again as long as the attempt may still be this one's;
   * that is not waited for.
   */
  async settle(settlement: Settlement): Promise<void> {
    this.#isSettled = true
    this.#renewal.clear()
    if ((await this.#tell(settlement)) === null) void this.#resend(settlement)
  }

  #tell(settlement: Settlement): Promise<boolean | null> {
    return this.#store.call({ type: 'settle', claim: this.#claim, settlement })
  }

  async #resend(settlement: Settlement): Promise<void> {
    for (let waitedMs = 0; waitedMs < claimLeaseMs; waitedMs += resendMs) {
      await sleep(resendMs)
      if ((await this.#tell(settlement)) !== null) return
    }
  }

  async #renew(): Promise<void> {
    const isHeld = await this.#store.call({ type: 'renew', claim: this.#claim })
    if (!this.#isSettled && isHeld !== false) this.#renewal.set(renewalMs)
  }
}
