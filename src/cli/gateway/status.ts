import { status, understood } from './answers.ts'
import { ask } from './ask.ts'
import { findGateway, type Where } from './find.ts'
import { noteDoubt, type Printing, printJson } from './print.ts'
import { statusText } from './status-text.ts'

/** Asks for the status of a gateway and prints it; resolves to the exit code. */
export const showStatus = async ({ format, ...where }: Where & Printing): Promise<number> => {
  const target = await findGateway(where)
  const { body, at } = await ask(target, { method: 'GET', path: '/status', limitMs: 5000 })
  noteDoubt(target)
  const told = understood(target, body, status)
  if (format === 'json') printJson(body)
  else process.stdout.write(statusText(target, told, at))
  return 0
}
