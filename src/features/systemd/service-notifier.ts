import { formatPlace } from '../../core/config/problem.ts'
import { monotonicMicroseconds } from '../../core/lib/clock.ts'
import { SerialQueue } from '../../core/lib/serial-queue.ts'
import { errorMessage } from '../../core/lib/try.ts'
import type { Log } from '../../core/log/log.ts'
import type { Gateway } from '../../core/runtime/gateway.ts'
import type { ServiceNotifier } from '../../core/runtime/supervisor.ts'
import type { SendNotification } from './notify-channel.ts'

type DescribedGateway = Pick<Gateway, 'address' | 'rejection' | 'notServing'> & {
  readonly config: Pick<Gateway['config'], 'hash'>
}

/** One line for `systemctl status`. */
export const describeService = ({ address, config, rejection, notServing }: DescribedGateway): string => {
  const reason = notServing()
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  const serving =
    reason === null ? `Serves clients on ${host}:${address.port}` : `No client is served just now (${reason})`
  return `${serving}; configuration ${config.hash}${describeRejection(rejection)}`
}

const describeRejection = (rejection: Gateway['rejection']): string => {
  const [problem, ...more] = rejection?.problems ?? []
  if (problem === undefined) return ''
  const what = rejection?.trigger === 'rollback' ? 'a rollback' : 'an edit'
  return `; ${what} was rejected: ${formatPlace(problem)}${more.length === 0 ? '' : `, and ${more.length} more`}`
}

interface ServiceNotifierOptions {
  readonly send: SendNotification
  readonly watchdogMs: number | null
  readonly log: Log
  describe(): string
}

// systemd drops messages of more than 4,096 bytes, keep-alives included.
const maxStatusLength = 1000
const maxTimerMs = 2 ** 31 - 1

/**
 * A lost `READY=1` ends the service, so each message has two tries. A failure is logged once until a message arrives.
 */
export const createServiceNotifier = ({ send, watchdogMs, log, describe }: ServiceNotifierOptions): ServiceNotifier => {
  const queue = new SerialQueue()
  let isLost = false
  let isBeating = false
  let isStopping = false
  let reloads = 0

  const notify = (...assignments: readonly string[]): Promise<void> => {
    const sendNow = async (): Promise<void> => {
      const status = isStopping ? 'Stops; requests in flight end' : describe()
      await send([...assignments, `STATUS=${status.slice(0, maxStatusLength)}`])
    }
    return queue.run(async () => {
      try {
        await sendNow().catch(sendNow)
        isLost = false
      } catch (error) {
        if (!isLost) log.warn({ reason: errorMessage(error) }, 'systemd was not notified')
        isLost = true
      }
    })
  }

  // systemd recommends half of the watchdog time. Beats do not overlap.
  const beat = (): void => {
    if (isBeating) return
    isBeating = true
    void notify('WATCHDOG=1').finally(() => {
      isBeating = false
    })
  }

  return {
    ready() {
      void notify('READY=1')
      // Node's own timer: a shared timer could fire while the event loop is late.
      if (watchdogMs !== null) setInterval(beat, Math.min(watchdogMs / 2, maxTimerMs)).unref()
    },
    reloading() {
      reloads++
      void notify('RELOADING=1', `MONOTONIC_USEC=${monotonicMicroseconds()}`)
    },
    reloaded() {
      reloads--
      if (reloads === 0) void notify('READY=1')
    },
    stopping() {
      isStopping = true
      void notify('STOPPING=1')
    },
  }
}
