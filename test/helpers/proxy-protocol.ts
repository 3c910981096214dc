/** Renders headers of the PROXY protocol as load balancers send them. */
import { type AddressInfo, connect, createServer, isIPv6, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export const proxySignature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** Renders a header of version 1. */
export const proxyV1 = (client: string, destination = isIPv6(client) ? '2001:db8::ffff' : '192.0.2.8'): Buffer =>
  Buffer.from(`PROXY TCP${isIPv6(client) ? 6 : 4} ${client} ${destination} 56324 443\r\n`)

/** Renders 16 bytes, and a block behind them. */
export const proxyV2Raw = (command: number, family: number, block: Buffer, length = block.length): Buffer =>
  Buffer.concat([proxySignature, Buffer.from([0x20 | command, family, length >> 8, length & 255]), block])

/** Renders a header of version 2 for a client's IPv4 address, or for one of IPv6 in its full form. */
export const proxyV2 = (client: string, ...tlvs: readonly Buffer[]): Buffer => {
  const address = isIPv6(client)
    ? Buffer.from(client.replaceAll(':', ''), 'hex')
    : Buffer.from(client.split('.').map(Number))
  const ports = Buffer.from([0xdc, 0x04, 0x01, 0xbb])
  return proxyV2Raw(1, isIPv6(client) ? 0x21 : 0x11, Buffer.concat([address, address, ports, ...tlvs]))
}

/** Renders what may stand behind the addresses. */
export const tlv = (type: number, value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([type, bytes.length >> 8, bytes.length & 255]), bytes])
}

/**
 * Opens a load balancer that knows no protocol: it puts a header before what its clients send, in one packet with the
 * first of it. Returns its port.
 */
export const tcpBalancer = async (port: number, header: Buffer): Promise<number> => {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    client.once('data', (first: Buffer) => {
      const behind = connect({ port, host: '127.0.0.1' })
      open.add(behind)
      behind.write(Buffer.concat([header, first]))
      client.pipe(behind).pipe(client)
      for (const each of [client, behind]) each.on('error', () => client.destroy())
      behind.on('close', () => client.destroy())
    })
    open.add(client)
    client.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}
