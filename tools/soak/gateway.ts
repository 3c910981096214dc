/** Starts the gateway as it ships on a configuration of ours. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Child, portsOf, startChild } from './child.ts'

export interface SoakedGateway extends Child {
  readonly port: number
  /** The URL of the admin listener. */
  readonly admin: string
  /** Writes the file in place. */
  edit(text: string): void
}

/** Starts the gateway, and resolves when both listeners are open. */
export const startGateway = async (text: string): Promise<SoakedGateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'soak-'))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, text)
  const child = startChild(['--disable-sigusr1', 'src/lender-gateway.js', 'serve', '--config', file])
  const [port = 0, adminPort = 0] = await portsOf(child, 'listening', 'admin listening')
  const { stop } = child
  return Object.assign(child, {
    port,
    admin: `http://127.0.0.1:${adminPort}`,
    edit: (next: string) => writeFileSync(file, next),
    async stop() {
      const code = await stop()
      rmSync(folder, { recursive: true, force: true }) // it may be stopped twice
      return code
    },
  })
}
