import { Misread, memberOf, type Read } from '../../shared/shape.ts'
import { version } from '../../version.ts'
import { otherVersion } from './print.ts'
import { type Target, unasked, urlOf } from './target.ts'

/** Reads an answer; what is not a gateway's is an {@link unasked} that says where it went wrong. */
export const understood = <T>(target: Target, body: unknown, read: Read<T>): T => {
  try {
    return read(body, '')
  } catch (error) {
    if (!(error instanceof Misread)) throw error
    const said = saidVersion(body)
    const remedy = said === null || said === version() ? 'compare the versions' : `it is ${otherVersion(said)}`
    throw unasked(`${urlOf(target)} answers what this version does not understand: ${error.message}; ${remedy}`)
  }
}

/** Finds the version that an answer says; null: it says none. */
const saidVersion = (body: unknown): string | null => {
  const said = [body, memberOf(body, 'status')].map((each) => memberOf(each, 'version'))
  return said.find((each) => typeof each === 'string')?.slice(0, 100) ?? null
}
