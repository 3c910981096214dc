import type { Command } from '../../admin/commands/command.ts'
import { asObject, asText } from '../../lib/text/decode.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'
import { printJson, warnAboutTarget } from '../render/output.ts'
import { type AdminRequest, callAdmin, decodeResponse } from './admin-client.ts'
import { type ClientCommandOptions, locateGateway, targetUrl } from './admin-target.ts'

type CliArguments = readonly (readonly [name: string, value: string | true])[]

// The gateway loads a file in up to 10 s, and may be loading another one first.
const timeoutMs = 30_000

export const sendCommand = async (
  command: Command,
  args: CliArguments,
  { format, ...targetOptions }: ClientCommandOptions,
): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const reply = await callAdmin(target, toAdminRequest(command, args))
  warnAboutTarget(target)
  if (format === 'json') printJson(reply.body)
  const print = (text: string): void => void (format === 'text' && process.stdout.write(text))
  const isDone = reply.status === 200
  if (command.responseShape === 'outcome') {
    const { renderReloadOutcome, renderReloadRejection } = await import('../render/config-diff.ts')
    print(isDone ? renderReloadOutcome(target, command, reply) : renderReloadRejection(target, command, reply))
  } else if (isDone) {
    const printableArguments = Object.fromEntries(args.map(([name, value]) => [name, escapeControls(`${value}`)]))
    print(`${command.cliText(printableArguments, decodeResponse(target, reply.body, command.responseShape))}\n`)
  } else {
    const { detail } = decodeResponse(target, reply.body, asObject({ detail: asText }))
    process.stderr.write(`lender-gateway: ${targetUrl(target)} ${command.rejectedText}: ${detail}\n`)
  }
  return isDone ? 0 : 1
}

const toAdminRequest = ({ method, path, query }: Command, args: CliArguments): AdminRequest => {
  if (query === null) return { method, path, body: JSON.stringify(Object.fromEntries(args)), timeoutMs }
  const fields = args.map(([name, value]) => (value === true ? name : `${new URLSearchParams({ [name]: value })}`))
  return { method, path: fields.length === 0 ? path : `${path}?${fields.join('&')}`, timeoutMs }
}
