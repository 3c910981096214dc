import { understood } from './answers.ts'
import { ask } from './ask.ts'
import { findGateway, type Where } from './find.ts'
import { noteDoubt, type Printing, printJson } from './print.ts'
import { nullable, shape, text } from './shape.ts'
import { urlOf } from './target.ts'

const limitMs = 30_000

/** Is an order to a gateway. */
export interface Order {
  readonly path: string
  readonly body: Readonly<Record<string, string>>
  /** What is so once it is done: `inventory.sync is refused`. */
  readonly done: string
}

/** Gives a gateway an order that holds for a while and prints until when; resolves to the exit code. */
export const give = async ({ path, body, done }: Order, { format, ...where }: Where & Printing): Promise<number> => {
  const target = await findGateway(where)
  const reply = await ask(target, { method: 'POST', path, body: JSON.stringify(body), limitMs })
  noteDoubt(target)
  if (format === 'json') printJson(reply.body)
  if (reply.status !== 200) {
    const { detail } = understood(target, reply.body, shape<{ detail: string }>({ detail: text }))
    process.stderr.write(`lender-gateway: ${urlOf(target)} does not accept it: ${detail}\n`)
    return 1
  }
  const { until } = understood(target, reply.body, shape<{ until: string | null }>({ until: nullable(text) }))
  const then = until === null ? 'as the file says' : `until ${until}, then as the file says`
  if (format === 'text') process.stdout.write(`${done} ${then}\n`)
  return 0
}
