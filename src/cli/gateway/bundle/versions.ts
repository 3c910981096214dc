import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { availableParallelism, machine, release, totalmem, type } from 'node:os'
import { version } from '../../../version.ts'

/** Tells what this command runs on, which is what the gateway runs on where they share a machine; no name of it. */
export const versions = async (): Promise<string> => {
  const { node, v8, openssl, uv, llhttp, undici } = process.versions
  const told = {
    gateway: version(),
    packageLock: await digest(new URL('../../../../package-lock.json', import.meta.url)),
    node: { version: node, v8, openssl, uv, llhttp, undici },
    system: { type: type(), release: release(), arch: process.arch, machine: machine() },
    processors: availableParallelism(),
    memoryBytes: totalmem(),
  }
  return `${JSON.stringify(told, null, 2)}\n`
}

/** Tells which versions are installed by the hash of their list; null: an installation without one. */
const digest = async (list: URL): Promise<string | null> => {
  const text = await readFile(list).catch(() => null)
  return text === null ? null : `sha256:${createHash('sha256').update(text).digest('hex')}`
}
