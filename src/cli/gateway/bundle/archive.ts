import { strToU8, zipSync } from 'fflate'

/**
 * Packs texts into a zip, which opens everywhere without a tool; Node packs gzip only, and that holds one file. Those that are not there are
 * left out.
 */
export const archive = (
  files: readonly { readonly name: string; readonly text: string | null }[],
  at: Date,
): Uint8Array<ArrayBuffer> => {
  const packed = files.flatMap(({ name, text }) => (text === null ? [] : [[name, strToU8(text)] as const]))
  return zipSync(Object.fromEntries(packed), { mtime: at })
}
