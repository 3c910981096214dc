import { DecodeError, type Decoder, getMember } from '../../shared/decode.ts'
import { version } from '../../version.ts'
import { versionMismatch } from '../render/output.ts'
import { type AdminTarget, cliError, targetUrl } from './admin-target.ts'

/** Reads an answer; what is not a gateway's is an {@link cliError} that says where it went wrong. */
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

/** Finds the version that an answer says; null: it says none. */
const findVersion = (body: unknown): string | null => {
  const reported = [body, getMember(body, 'status')].map((each) => getMember(each, 'version'))
  return reported.find((each) => typeof each === 'string')?.slice(0, 100) ?? null
}
