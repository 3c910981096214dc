/** Installs the program for one process, as the image does for all: its commands are then printed by their name. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Puts the program and its Node below a folder, and returns the PATH that leads there first. */
export const installProgram = (folder: string): string => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(fileURLToPath(new URL('../../src/lender-gateway.js', import.meta.url)), join(bin, 'lender-gateway'))
  symlinkSync(process.execPath, join(bin, 'node'))
  return [bin, process.env.PATH ?? ''].join(delimiter)
}
