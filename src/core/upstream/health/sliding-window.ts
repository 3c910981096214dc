const bucketCount = 10

/**
 * Counts requests and failures over the last `windowMs`, in ten buckets: a count spans the last 90 to 100 % of that
 * time, and costs the same however many requests there are.
 */
export class SlidingWindow {
  readonly #bucketMs: number
  readonly #requests: number[] = new Array(bucketCount).fill(0)
  readonly #failures: number[] = new Array(bucketCount).fill(0)
  /** The bucket that is being filled, counted from time 0. */
  #latest = 0
  #allRequests = 0
  #allFailures = 0

  constructor(windowMs: number) {
    this.#bucketMs = windowMs / bucketCount
  }

  /** Counts a request that ended, `at` on the monotonic clock. */
  record(failed: boolean, at: number): void {
    this.#advance(at)
    const i = this.#latest % bucketCount
    this.#requests[i] = (this.#requests[i] ?? 0) + 1
    this.#allRequests++
    if (!failed) return
    this.#failures[i] = (this.#failures[i] ?? 0) + 1
    this.#allFailures++
  }

  requests(at: number): number {
    this.#advance(at)
    return this.#allRequests
  }

  failures(at: number): number {
    this.#advance(at)
    return this.#allFailures
  }

  clear(): void {
    for (let i = 0; i < bucketCount; i++) this.#drop(i)
  }

  #advance(at: number): void {
    const bucket = Math.floor(at / this.#bucketMs)
    if (bucket <= this.#latest) return
    for (let each = Math.max(this.#latest, bucket - bucketCount) + 1; each <= bucket; each++)
      this.#drop(each % bucketCount)
    this.#latest = bucket
  }

  #drop(i: number): void {
    this.#allRequests -= this.#requests[i] ?? 0
    this.#allFailures -= this.#failures[i] ?? 0
    this.#requests[i] = 0
    this.#failures[i] = 0
  }
}
