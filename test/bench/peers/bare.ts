import { join } from 'node:path'
import { startServer } from '../process.ts'
import { type Peer, probePath } from './peer.ts'

/** Says where pino's lines wait: in memory, written in blocks off the main thread, or nowhere (each is written as it comes). */
export type LogMode = 'buffered' | 'direct'

const variant = (name: string, log: LogMode, onRequest: boolean): Peer => ({
  name,
  onRequest,
  description: `@fastify/http-proxy as it comes, pino's destination ${log}`,
  start: ({ upstreamPort, directory }) =>
    startServer(directory, probePath, async (port) => ({
      path: process.execPath,
      args: [join(import.meta.dirname, 'bare-server.ts'), String(port), String(upstreamPort), log],
    })),
})

/** Runs bare @fastify/http-proxy with the cheaper log destination: what the gateway is held against. */
export const bare = variant('bare', 'buffered', false)

/** Runs it with pino's default destination, to show which of the two is the cheaper. */
export const bareDirect = variant('bare-direct', 'direct', true)
