import type { Environment } from '../config/environment.ts'
import type { Gateway } from '../gateway.ts'
import type { Log } from '../observe/log.ts'
import { type Successor, startSuccessor } from '../serving/takeover.ts'

/** Gives a process that runs its successor. */
export interface Handover {
  /** Starts it, unless one is on its way. */
  begin(): void
  /** Ends one that does not serve yet, and lets none begin any more. */
  end(): void
}

interface HandoverOptions {
  readonly gateway: Gateway
  readonly log: Log
  /** Says whether another process writes to the same log. */
  share(isShared: boolean): void
  /** Is called when the successor serves. */
  leave(): void
}

/** Makes what SIGUSR2 sets off. */
export const handover = ({ gateway, log, share, leave }: HandoverOptions): Handover => {
  let successor: Successor | null = null
  let over = false

  const refuse = (reason: string): void => log.error({ reason }, 'takeover refused: this process serves on')

  const begin = (): void => {
    const reason = over ? 'this process is stopping' : successor !== null ? 'one is under way' : impossible()
    if (reason !== null) return refuse(reason)
    const handed = gateway.handed()
    if (handed === null) return refuse('there is no listening socket to hand over')
    try {
      successor = startSuccessor(handed)
    } catch (error) {
      return refuse(message(error))
    }
    const { pid, tell, send, release } = successor
    share(true)
    log.info({ successor: pid }, 'takeover begun')
    successor.serves.then(
      () => {
        if (over) return
        over = true
        const { said } = gateway.handed() ?? handed
        tell(said)
        log.info({ successor: pid }, 'taken over: finishing what runs')
        void gateway.audit.handOver(send).then(release)
        leave()
      },
      (error) => {
        successor = null
        share(false)
        if (!over) log.error({ successor: pid, reason: message(error) }, 'takeover failed: this process serves on')
      },
    )
  }

  return {
    begin,
    end() {
      over = true
      successor?.abandon()
    },
  }
}

/** Says why this process cannot leave another one behind; null: it can. */
export const impossible = (pid = process.pid, environment: Environment = process.env): string | null => {
  if (pid === 1) return 'the container ends with this process: start another container, then stop this one'
  if (environment.SYSTEMD_EXEC_PID === String(pid))
    return 'systemd ends what is left of a service when its main process ends: have a socket unit, and restart the service'
  return null
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error))
