import { understood } from './answers.ts'
import { ask } from './ask.ts'
import { findGateway, type Where } from './find.ts'
import { noteDoubt, type Printing, printJson } from './print.ts'
import { nullable, shape, text } from './shape.ts'
import { urlOf } from './target.ts'

const limitMs = 30_000

/** Has a gateway refuse or serve an operation for a while and prints until when; resolves to the exit code. */
export const operation = async (
  state: 'refuse' | 'serve',
  id: string,
  ttl: string,
  { format, ...where }: Where & Printing,
): Promise<number> => {
  const target = await findGateway(where)
  const body = JSON.stringify({ operation: id, ttl })
  const reply = await ask(target, { method: 'POST', path: `/operations/${state}`, body, limitMs })
  noteDoubt(target)
  if (format === 'json') printJson(reply.body)
  if (reply.status !== 200) {
    const { detail } = understood(target, reply.body, shape<{ detail: string }>({ detail: text }))
    process.stderr.write(`lender-gateway: ${urlOf(target)} does not accept it: ${detail}\n`)
    return 1
  }
  const { until } = understood(target, reply.body, shape<{ until: string | null }>({ until: nullable(text) }))
  const then = until === null ? 'as the file says' : `until ${until}, then as the file says`
  if (format === 'text') process.stdout.write(`${id} ${state === 'refuse' ? 'is refused' : 'is served'} ${then}\n`)
  return 0
}
