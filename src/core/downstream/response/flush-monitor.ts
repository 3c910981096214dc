import { GatewayError, type ReasonFor } from '../../exchange/failures/errors.ts'
import { sliceBytes } from '../../lib/buffers.ts'
import { CoalescedTimer } from '../../lib/clock.ts'
import { MinRateMonitor } from '../body/min-rate.ts'
import type { ActiveRequest } from '../request/active-request.ts'

// Linux reports room in a full send buffer when a third is free. The buffer grows to 4 MiB by default.
const unreportedBytes = 4 * 1024 * 1024

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

  /** Waits from the head of the line on: before that, the client can take no byte. */
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
    // The system reports a write only when it has taken all of its bytes.
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

/** HTTP/1: one a connection, so that many small responses count like a large one. HTTP/2: one a stream. */
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
