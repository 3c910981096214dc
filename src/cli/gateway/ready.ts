import { memberOf } from '../../shared/shape.ts'
import { ask } from './ask.ts'
import { type AskOptions, findProbe, type Where } from './find.ts'
import { printJson } from './print.ts'
import { type Target, Unasked, unasked, urlOf } from './target.ts'

/**
 * Asks whether a gateway is ready and prints yes or no; resolves to 0 or 1. A gateway that cannot be asked is not ready: a container's
 * health check knows no third answer. As with a kubelet's probe, any certificate will do: nothing is told to whoever shows it, and one that
 * has run out on the admin listener must not take a gateway down that serves.
 */
export const showReady = async ({ format, ...where }: AskOptions): Promise<number> => {
  const ready = await isReady(where)
  if (format === 'json') printJson({ ready })
  else process.stdout.write(ready ? 'ready\n' : 'not ready\n')
  return ready ? 0 : 1
}

const isReady = async (where: Where): Promise<boolean> => {
  try {
    return await probe(await findProbe(where))
  } catch (error) {
    if (!(error instanceof Unasked)) throw error
    process.stderr.write(`lender-gateway: ${error.message}\n`)
    return false
  }
}

/** What of the file cannot be read may be `admin.tls`, which the gateway took while it could: then https is tried as well. */
const probe = async (target: Target): Promise<boolean> => {
  try {
    return await askReady(target)
  } catch (error) {
    if (target.tls || target.doubt === null) throw error
    return askReady({ ...target, tls: true }).catch(() => {
      throw error
    })
  }
}

const askReady = async (target: Target): Promise<boolean> => {
  const question = { method: 'GET', path: '/ready', limitMs: 2000, maxBytes: 1024, ofAnybody: true } as const
  const { status, body } = await ask(target, question)
  const ready = memberOf(body, 'ready')
  if (status === 200 && ready === true) return true
  if (status === 503 && ready === false) return false
  throw unasked(
    `${urlOf(target)} does not say whether it is ready (${status}): is that the admin listener of a lender gateway?`,
  )
}
