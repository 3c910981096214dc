import { version } from '../../lib/program.ts'
import { DecodeError, type Decoder, getMember } from '../../lib/text/decode.ts'
import { versionMismatch } from '../render/output.ts'
import { type AdminTarget, cliError, targetUrl } from './admin-target.ts'

/** Decodes a response. Throws {@link cliError} with the place of the mismatch. */
export const decodeResponse = <T>(target: AdminTarget, body: unknown, decoder: Decoder<T>): T => {
  try {
    return decoder(body, '')
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const reported = findVersion(body)
    const remedy =
      reported === null || reported === version() ? 'compare the versions' : `it is ${versionMismatch(reported)}`
    throw cliError(`${targetUrl(target)} answers what this version does not understand: ${error.message}; ${remedy}`)
  }
}

const findVersion = (body: unknown): string | null => {
  const reported = [body, getMember(body, 'status')].map((value) => getMember(value, 'version'))
  return reported.find((value) => typeof value === 'string')?.slice(0, 100) ?? null
}
