import { now } from '../../lib/clock.ts'
import { getMember } from '../../lib/text/decode.ts'
import { callAdmin } from '../client/admin-client.ts'
import {
  type AdminTarget,
  CliError,
  type ClientCommandOptions,
  cliError,
  locateProbeTarget,
  targetUrl,
} from '../client/admin-target.ts'
import { printJson, warnAboutTarget } from '../render/output.ts'

/**
 * Resolves to 0 or 1, for a container's health check: an unreachable gateway is not ready. Any certificate is accepted,
 * as by a kubelet: the request holds no secret, and an expired admin certificate must not take down a serving gateway.
 */
export const showReady = async ({ format, ...targetOptions }: ClientCommandOptions): Promise<number> => {
  const { ready, reason } = await locateProbeTarget(targetOptions).then(probe).catch(tellFailure)
  if (format === 'json') printJson({ ready, reason })
  else process.stdout.write(ready ? 'ready\n' : `not ready${reason === null ? '' : `: ${reason}`}\n`)
  return ready ? 0 : 1
}

type Readiness = Readonly<{ ready: boolean; reason: string | null }>

const tellFailure = (error: unknown): Readiness => {
  if (!(error instanceof CliError)) throw error
  process.stderr.write(`lender-gateway: ${error.message}\n`)
  return { ready: false, reason: null }
}

// For http and https together: a container limits the time of its health check.
const probeTimeoutMs = 2000

/** Tries http, then https if the file is broken: the gateway may run with an `admin.tls` that is unreadable now. */
const probe = async (target: AdminTarget): Promise<Readiness> => {
  const startedAt = now()
  try {
    return await callReady(target, probeTimeoutMs)
  } catch (error) {
    if (target.tls || target.fallbackReason === null) throw error
    return callReady({ ...target, tls: true }, Math.max(0, probeTimeoutMs - (now() - startedAt))).catch(() => {
      throw error
    })
  }
}

const callReady = async (target: AdminTarget, timeoutMs: number): Promise<Readiness> => {
  const request = { method: 'GET', path: '/ready', timeoutMs, maxBytes: 1024, unauthenticated: true } as const
  const { status, body } = await callAdmin(target, request)
  warnAboutTarget(target)
  const ready = getMember(body, 'ready')
  if (status === 200 && ready === true) return { ready, reason: null }
  const reason = getMember(body, 'reason')
  // Other servers must not write to the terminal.
  if (status === 503 && ready === false)
    return { ready, reason: typeof reason === 'string' && /^[a-z-]{1,64}$/.test(reason) ? reason : null }
  throw cliError(
    `${targetUrl(target)} does not say whether it is ready (${status}): is that the admin listener of a lender gateway?`,
  )
}
