import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { AdminTarget } from '../../../src/core/cli/client/admin-target.ts'
import type { Pair } from '../../helpers/certificates.ts'
import { listen } from '../../helpers/listen.ts'
import { folderWith } from '../config/helper.ts'
import { type CommandRequest, type CommandResult, isHostBusy, runInHost } from './command-host.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

export const token = 'abcdefghijklmnop-0123456789'

export interface ReceivedAdminRequest {
  readonly request: string
  readonly headers: IncomingHttpHeaders
}

export interface ScriptedAdmin {
  readonly port: number
  readonly url: string
  readonly received: readonly ReceivedAdminRequest[]
}

/** Opens an admin listener that sends the same response to every request. */
export const scriptedAdmin = async (
  respond: (response: ServerResponse) => void,
  tls?: Pair,
): Promise<ScriptedAdmin> => {
  const received: ReceivedAdminRequest[] = []
  const listener: RequestListener = ({ method, url, headers }, response) => {
    received.push({ request: `${method} ${url}`, headers })
    respond(response)
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  const port = await listen(server)
  return { port, url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, received }
}

/** Resolves to the port. */
export const rawServer = (onConnection: (socket: Socket) => void): Promise<number> =>
  listen(createTcpServer((socket) => onConnection(socket.on('error', () => {}))))

/** The gateway's clock is at 02:05. */
export const jsonResponse =
  (body: unknown, status = 200) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'Content-Type': 'application/json', Date: 'Sat, 21 Nov 2026 02:05:00 GMT' })
    response.end(JSON.stringify(body))
  }

export const adminTarget = (port: number, more: Partial<AdminTarget> = {}): AdminTarget => ({
  ...{ tls: false, host: '127.0.0.1', port, certificate: null, token: null, file: null, fallbackReason: null },
  isDefaultAddress: false,
  ...more,
})

/** Writes files, which are removed after the test. */
export const configFileWith = (text: string, others: Readonly<Record<string, string>> = {}): string => {
  const file = join(folderWith({ 'gateway.yaml': text, ...others }), 'gateway.yaml')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  return file
}

/**
 * Runs a command in another process, so that servers of this one respond. `node`: options of Node, for a process of its
 * own.
 */
export const runCommand = (
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  { node, cwd = root }: { readonly node?: readonly string[]; readonly cwd?: string } = {},
): Promise<CommandResult> => {
  const { LENDER_GATEWAY_ADMIN_TOKEN: _, ...inherited } = process.env
  const request = { args, environment: { ...inherited, ...environment }, cwd }
  return node === undefined && !isHostBusy() ? runInHost(request) : runInOwnProcess(request, node)
}

const runInOwnProcess = async (
  { args, environment, cwd }: CommandRequest,
  node: readonly string[] = [],
): Promise<CommandResult> => {
  const child = spawn(process.execPath, [...node, join(root, 'src/lender-gateway.js'), ...args], {
    cwd,
    env: environment,
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const [code] = await once(child, 'close')
  return { code, out, err }
}
