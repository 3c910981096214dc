import { understood } from './answers.ts'
import { ask, type Question } from './ask.ts'
import { findGateway, type Where } from './find.ts'
import { noteDoubt, type Printing, printJson } from './print.ts'
import { nullable, type Read, shape, text } from './shape.ts'
import { urlOf } from './target.ts'

const limitMs = 30_000

/** Is an order to a gateway that holds for a while. */
export interface LastingOrder {
  readonly path: string
  readonly body: Readonly<Record<string, string>>
  /** What is so once it is done: `inventory.sync is refused`. */
  readonly done: string
}

/** Gives a gateway an order that holds for a while and prints until when; resolves to the exit code. */
export const give = ({ path, body, done }: LastingOrder, options: Where & Printing): Promise<number> =>
  order(
    {
      question: { method: 'POST', path, body: JSON.stringify(body) },
      answer: shape<{ until: string | null }>({ until: nullable(text) }),
      done: ({ until }) => `${done} ${until === null ? 'as the file says' : `until ${until}, then as the file says`}`,
      undone: 'does not accept it',
    },
    options,
  )

/** Is any order to a gateway. */
export interface Order<T> {
  readonly question: Omit<Question, 'limitMs'>
  readonly answer: Read<T>
  /** Says what came of it. */
  done(answer: T): string
  /** What the gateway does where it answers with an error: `does not accept it`. */
  readonly undone: string
}

/** Gives a gateway an order and prints what came of it; resolves to the exit code. */
export const order = async <T>(
  { question, answer, done, undone }: Order<T>,
  { format, ...where }: Where & Printing,
): Promise<number> => {
  const target = await findGateway(where)
  const reply = await ask(target, { ...question, limitMs })
  noteDoubt(target)
  if (format === 'json') printJson(reply.body)
  if (reply.status !== 200) {
    const { detail } = understood(target, reply.body, shape<{ detail: string }>({ detail: text }))
    process.stderr.write(`lender-gateway: ${urlOf(target)} ${undone}: ${detail}\n`)
    return 1
  }
  const came = done(understood(target, reply.body, answer))
  if (format === 'text') process.stdout.write(`${came}\n`)
  return 0
}
