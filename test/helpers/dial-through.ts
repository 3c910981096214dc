import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { bootGateway, type Settings, type TestGateway } from './gateway.ts'
import { type RawClient, rawClient } from './raw-client.ts'
import { onRequest, type RawUpstream, rawUpstream } from './upstream.ts'

/** A gateway before an upstream that a test scripts, and a client of it. */
interface Dialled extends TestGateway {
  readonly upstream: RawUpstream
  readonly client: RawClient
}

/** Boots a gateway, has its upstream do this with the head of each request, and connects a client. */
export const dialThrough = async (
  respond: (socket: Socket, head: string) => void,
  settings: Settings = {},
): Promise<Dialled> => {
  const upstream = await rawUpstream((socket) => onRequest(socket, (head) => respond(socket, head)))
  const booted = await bootGateway({ upstream: upstream.url, ...settings })
  const client = await rawClient(booted.port)
  onTestFinished(() => client.close())
  return { ...booted, upstream, client }
}
