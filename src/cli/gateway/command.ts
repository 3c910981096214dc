import type { Command } from '../../admin/commands/command.ts'
import { printable } from '../../shared/printable.ts'
import { shape, text } from '../../shared/shape.ts'
import { ask, type Question, type Reply } from './ask.ts'
import { type AskOptions, findGateway } from './find.ts'
import { noteDoubt, printJson } from './print.ts'
import { type Target, urlOf } from './target.ts'
import { understood } from './understood.ts'

/** What a command is given, in the order of its arguments. */
export type Given = readonly (readonly [name: string, value: string | true])[]

// The gateway gives itself 10 s to read a file, and may be at another one when it is asked.
const limitMs = 30_000

/** Gives a gateway a command and prints what came of it; resolves to the exit code. */
export const give = async (command: Command, given: Given, { format, ...where }: AskOptions): Promise<number> => {
  const target = await findGateway(where)
  const reply = await ask(target, questionOf(command, given))
  noteDoubt(target)
  if (format === 'json') printJson(reply.body)
  const print = (text: string): void => void (format === 'text' && process.stdout.write(text))
  const isDone = reply.status === 200
  if (command.answer === 'outcome') {
    const { outcomeText, refusedText } = await import('./changes-text.ts')
    print(isDone ? outcomeText(target, command, reply) : refusedText(target, command, reply))
  } else if (isDone) {
    const said = Object.fromEntries(given.map(([name, value]) => [name, printable(`${value}`)]))
    print(`${command.printed(said, understood(target, reply.body, command.answer))}\n`)
  } else {
    refuse(target, command, reply)
  }
  return isDone ? 0 : 1
}

const questionOf = ({ method, path, query }: Command, given: Given): Question => {
  if (query === null) return { method, path, body: JSON.stringify(Object.fromEntries(given)), limitMs }
  const fields = given.map(([name, value]) => (value === true ? name : `${new URLSearchParams({ [name]: value })}`))
  return { method, path: fields.length === 0 ? path : `${path}?${fields.join('&')}`, limitMs }
}

const refuse = (target: Target, { refused }: Command, { body }: Reply): void => {
  const { detail } = understood(target, body, shape({ detail: text }))
  process.stderr.write(`lender-gateway: ${urlOf(target)} ${refused}: ${detail}\n`)
}
