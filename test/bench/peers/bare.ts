import { join } from 'node:path'
import { startServer } from '../process.ts'
import { type Peer, probePath } from './peer.ts'

/**
 * Says where pino's lines wait: in memory, written in blocks off the main thread, or nowhere (each is written as it
 * comes).
 */
export type LogMode = 'buffered' | 'direct'

const fastifyServer = { file: 'bare-server.ts', description: '@fastify/http-proxy as it comes' }
const nodeCache = { file: 'node-cache-server.ts', description: "Node's own server and a Map, no policy" }
const nodeFloor = { file: 'node-floor-server.ts', description: "Node's own server and bare sockets, no policy" }

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
