import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { onTestFinished } from 'vitest'

/**
 * Makes each connection to a server of this process count as one from another machine, by an address of documentation's
 * (RFC 5737), until the test ends. A test that connected to the machine's own address would leave the loopback, and not
 * every machine has one.
 */
export const simulateRemoteConnections = (): void => {
  const remote = (message: unknown): void => {
    const { socket } = message as { readonly socket: object }
    Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.9' })
  }
  subscribe('net.server.socket', remote)
  onTestFinished(() => void unsubscribe('net.server.socket', remote))
}
