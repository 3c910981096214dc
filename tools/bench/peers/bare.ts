import { join } from 'node:path'
import { startServer } from '../process.ts'
import { writeCertificate } from './certificate.ts'
import { type Peer, probePath } from './peer.ts'

/**
 * Says where pino's lines wait: in memory, written in blocks off the main thread, or nowhere (each is written as it
 * comes).
 */
export type LogMode = 'buffered' | 'direct'

const fastifyServer = { file: 'bare-server.ts', description: '@fastify/http-proxy as it comes' }
const nodeCache = { file: 'node-cache-server.ts', description: "Node's own server and a Map, no policy" }
const nodeFloor = { file: 'node-floor-server.ts', description: "Node's own server and bare sockets, no policy" }
const socketFloor = { file: 'socket-floor-server.ts', description: 'bare sockets on both sides, no policy' }

const variant = (name: string, log: LogMode, onRequest: boolean, server = fastifyServer): Peer => ({
  name,
  onRequest,
  description: `${server.description}, pino's destination ${log}`,
  start: ({ upstreamPort, directory }) =>
    startServer(directory, probePath, async (port) => ({
      path: process.execPath,
      args: [join(import.meta.dirname, server.file), String(port), String(upstreamPort), log],
    })),
})

/** Runs bare @fastify/http-proxy with the cheaper log destination: what the gateway is held against. */
export const bare = variant('bare', 'buffered', false)

/** Runs it with pino's default destination, to show which of the two is the cheaper. */
export const bareDirect = variant('bare-direct', 'direct', true)

/** Runs the least that a cache on this server can be. */
export const nodeCacheServer = variant('node-cache', 'buffered', true, nodeCache)

/** Runs the least that forwarding on this server can be. */
export const nodeFloorServer = variant('node-floor', 'buffered', true, nodeFloor)

/** Runs it with HTTP/2 to clients. */
export const nodeH2Floor: Peer = {
  name: 'node-h2-floor',
  onRequest: true,
  description: "Node's own HTTP/2 server and bare sockets, no policy, pino's destination buffered",
  start: async ({ upstreamPort, directory }) => {
    const files = await writeCertificate(directory)
    if ('missing' in files) return files
    const server = join(import.meta.dirname, nodeFloor.file)
    return startServer(
      directory,
      probePath,
      async (port) => ({
        path: process.execPath,
        args: [server, String(port), String(upstreamPort), 'buffered', directory],
      }),
      'h2',
    )
  },
}

/** Runs the least that forwarding in Node can be. */
export const socketFloorServer = variant('socket-floor', 'buffered', true, socketFloor)
