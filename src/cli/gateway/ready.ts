import { ask } from './ask.ts'
import { findProbe, type Where } from './find.ts'
import { type Printing, printJson } from './print.ts'
import { type Target, urlOf } from './target.ts'
import { Unasked, unasked } from './unasked.ts'

/**
 * Asks whether a gateway is ready and prints yes or no; resolves to 0 or 1. A gateway that cannot be asked is not ready: a container's
 * health check knows no third answer.
 */
export const showReady = async ({ format, ...where }: Where & Printing): Promise<number> => {
  const ready = await isReady(where)
  if (format === 'json') printJson({ ready })
  else process.stdout.write(ready ? 'ready\n' : 'not ready\n')
  return ready ? 0 : 1
}

const isReady = async (where: Where): Promise<boolean> => {
  try {
    const target = await findProbe(where)
    const { status, body } = await ask(target, { method: 'GET', path: '/ready', limitMs: 2000, maxBytes: 1024 })
    return said(target, status, body)
  } catch (error) {
    if (!(error instanceof Unasked)) throw error
    process.stderr.write(`lender-gateway: ${error.message}\n`)
    return false
  }
}

const said = (target: Target, status: number, body: unknown): boolean => {
  const ready = typeof body === 'object' && body !== null && 'ready' in body ? body.ready : undefined
  if (status === 200 && ready === true) return true
  if (status === 503 && ready === false) return false
  throw unasked(
    `${urlOf(target)} does not say whether it is ready (${status}): is that the admin listener of a lender gateway?`,
  )
}
