import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import type { AdminConfig } from '../../config/config.ts'
import { programCommand, shellWord } from '../../shared/command.ts'
import type { Reloader } from '../../snapshot/reloader.ts'
import type { Finding } from './finding.ts'

/** Makes of the command of a finding one that runs in any folder of this machine. */
export type Runnable = (found: Finding) => Finding

// They read the file that they name, and find the gateway by it.
const isOfFile = /^lender-gateway (check|diff) /

/**
 * Makes commands run where an operator reads them: by what runs this program here, with the place of the file, and asking this gateway and no other.
 * The file alone does not lead to it when its port is a variable of this process, or chosen by the system.
 */
export const runnable = (
  { file, statedAdminPort }: Pick<Reloader, 'file' | 'statedAdminPort'>,
  { tls }: AdminConfig,
  { address, family, port }: AddressInfo,
): Runnable => {
  const program = programCommand()
  const path = resolve(file)
  const place = shellWord(path)
  const host = /^(0\.0\.0\.0|::)$/.test(address) ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  const url = `${tls === null ? 'http' : 'https'}://${host}:${port}`
  const asking = statedAdminPort === port ? `--config ${place}` : `--config ${place} --admin ${url}`
  return (found) => {
    if (found.command === null) return found
    const command = found.command.replace(/^lender-gateway/, () => program).replace(path, () => place)
    return { ...found, command: isOfFile.test(found.command) ? command : `${command} ${asking}` }
  }
}
