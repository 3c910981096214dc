import { understood } from './answers.ts'
import { ask } from './ask.ts'
import { findGateway, type Where } from './find.ts'
import { type LogStatus, log } from './log-answer.ts'
import { give } from './order.ts'
import { noteDoubt, type Printing, printJson } from './print.ts'
import { shape } from './shape.ts'
import { until } from './span.ts'
import { urlOf } from './target.ts'
import { unasked } from './unasked.ts'

/** Has a gateway log at a level for a while, or (`back`) as its file says, and prints until when; resolves to the exit code. */
export const setLogLevel = (level: string, ttl: string, options: Where & Printing): Promise<number> => {
  const done = level === 'back' ? 'the log is written' : `the log is written at ${level}`
  return give({ path: '/log-level', body: { level, ttl }, done }, options)
}

/** Asks a gateway at which level it logs and prints that; resolves to the exit code. */
export const showLogLevel = async ({ format, ...where }: Where & Printing): Promise<number> => {
  const target = await findGateway(where)
  const { body, at } = await ask(target, { method: 'GET', path: '/status', limitMs: 5000 })
  noteDoubt(target)
  const { level, until: end } = understood(target, body, shape<{ log: LogStatus }>({ log })).log
  if (level === null) throw unasked(`${urlOf(target)} is of a version that does not tell at which level it logs`)
  if (format === 'json') printJson({ level, until: end })
  else process.stdout.write(`the log is written at ${level}${whoSays(end, at)}\n`)
  return 0
}

const whoSays = (end: string | null, at: number): string =>
  end === null ? ', as the file says' : ` by an operator until ${until(end, at)}, then as the file says`
