/** Does what `kubectl port-forward` does: a port here, whose connections are opened anew where the pod is. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { pipeline } from 'node:stream'
import { onTestFinished } from 'vitest'

/**
 * Forwards a free port to a port of a pod, until the test has finished; returns the port. The container runtime enters
 * the pod's network and dials `localhost` there (containerd `internal/cri/server/sandbox_portforward_linux.go`), so the
 * gateway sees loopback at both ends.
 */
export const portForward = async (podPort: number): Promise<number> => {
  const sockets = new Set<{ destroy(): void }>()
  const server = createServer((browser) => {
    const pod = connect({ port: podPort, host: 'localhost', autoSelectFamily: true })
    for (const socket of [browser, pod]) sockets.add(socket.once('close', () => sockets.delete(socket)))
    pipeline(browser, pod, browser, () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return (server.address() as AddressInfo).port
}
