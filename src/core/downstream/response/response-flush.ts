import { GatewayError } from '../../exchange/failures/errors.ts'
import type { ReasonFor } from '../../exchange/failures/reasons.ts'
import { sliceBytes } from '../../lib/buffers.ts'
import { CoalescedTimer } from '../../lib/clock.ts'
import { MinRateMonitor } from '../body/min-rate.ts'
import type { ActiveRequest } from '../request/active-request.ts'

/**
 * Limits the wait for a client to take the end of a response, which nothing else limits. Called when a response has
 * been written.
 */
export const awaitFlush = (activeRequest: ActiveRequest): void => {
  const { response } = activeRequest
  if (!response.isHeadOfLine) activeRequest.onHeadOfLine = () => awaitFlush(activeRequest)
  else if (!response.isFlushed) new FlushMonitor(activeRequest).start()
}

// Linux reports room in a full send buffer when a third of it is free; it lets the buffer grow to 4 MiB, and may be
// configured for more.
const unreportedBytes = 4 * 1024 * 1024

/**
 * The wait for a client to take what was written of a response. A client that takes too little for too long is cut off.
 */
export class FlushMonitor {
  readonly #activeRequest: ActiveRequest
  readonly #timer: CoalescedTimer
  readonly #rateMonitor: MinRateMonitor | null

  constructor(activeRequest: ActiveRequest) {
    this.#activeRequest = activeRequest
    this.#timer = new CoalescedTimer(() => resetSlowClient(activeRequest, 'takes-nothing', 'takes nothing'))
    this.#rateMonitor = getRateMonitor(activeRequest)
    activeRequest.response.on('close', () => this.stop())
  }

  /**
   * Waits from now on, or from when the response is the head of the line: before that the client can take none of it.
   */
  start(): void {
    const activeRequest = this.#activeRequest
    const { request, response } = activeRequest
    if (!response.isHeadOfLine) {
      activeRequest.onHeadOfLine = () => this.start()
      return
    }
    const { socket } = request
    const moved = request.multiplexed
      ? () => activeRequest.bytesOut - response.writableLength
      : () => socket.bytesWritten - socket.writableLength
    this.#timer.set(activeRequest.snapshot.config.listen.timeouts.body)
    // The system reports a write when it has taken all of it, and not before.
    this.#rateMonitor?.wait(activeRequest, moved, sliceBytes, () =>
      resetSlowClient(activeRequest, 'takes-too-slowly', 'takes less than listen.minRate'),
    )
  }

  stop(): void {
    this.#activeRequest.onHeadOfLine = null
    this.#timer.clear()
    this.#rateMonitor?.stop(this.#activeRequest)
  }
}

const resetSlowClient = (activeRequest: ActiveRequest, reason: ReasonFor<'client-gone'>, cause: string): void =>
  activeRequest.reset(new GatewayError('client-gone', { reason, cause: new Error(cause) }))

const rateMonitors = new WeakMap<object, MinRateMonitor>()

/**
 * Finds the monitor of the rate at which a client takes its responses; null: no rate is configured. On HTTP/1 it is
 * that of the connection, so that many small responses count like a large one, until an edit asks for another rate; a
 * response that shares its connection with others has its own.
 */
const getRateMonitor = ({ snapshot, request }: ActiveRequest): MinRateMonitor | null => {
  const { minRate } = snapshot.config.listen
  if (minRate === null) return null
  const key = request.multiplexed ? request : request.socket
  const known = rateMonitors.get(key)
  if (known?.bytesPerSecond === minRate) return known
  const monitor = new MinRateMonitor(minRate, unreportedBytes)
  rateMonitors.set(key, monitor)
  return monitor
}
