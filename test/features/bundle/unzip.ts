import { readFileSync } from 'node:fs'
import { strFromU8, unzipSync } from 'fflate'

/** Reads the files of an archive, by name. */
export const unzip = (archive: string | Uint8Array): Readonly<Record<string, string>> => {
  const bytes = typeof archive === 'string' ? readFileSync(archive) : archive
  return Object.fromEntries(Object.entries(unzipSync(bytes)).map(([name, content]) => [name, strFromU8(content)]))
}
