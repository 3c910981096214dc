import { headerValues, parseResponse } from '../../helpers/raw-response.ts'
import { parseWireResponse } from '../../helpers/wire.ts'
import type { Given } from './client.ts'
import { own, type Poison, unsolicitedMark } from './poisons.ts'

type Verdict = 'whole' | 'refused' | 'cut'

const allowed: Readonly<Record<Poison['breaks'], readonly Verdict[]>> = {
  nowhere: ['whole'],
  head: ['refused'],
  body: ['refused', 'cut'],
  undecided: ['whole', 'refused', 'cut'],
}

/** Names what is wrong with what a client was given of a response, or null. */
export const faultOf = (poison: Poison, marker: string, given: Given): string | null => {
  const body = poison.body.replaceAll(own, marker)
  if (!body.includes(unsolicitedMark) && given.bytes.includes(unsolicitedMark))
    return `a byte of nobody's: ${shown(given)}`
  for (const [found] of given.bytes.matchAll(/own-\d{8}/g))
    if (found !== marker) return `a byte of another's: ${shown(given)}`
  const verdict = verdictOn(poison, marker, body, given)
  return allowed[poison.breaks].some((each) => each === verdict) ? null : `${verdict}: ${shown(given)}`
}

const verdictOn = (poison: Poison, marker: string, body: string, { response, bytes }: Given): Verdict | string => {
  if (response === null) return isPart(bytes, poison, body) ? 'cut' : 'neither whole nor a part'
  if (response.status === 502 && /"code":"(bad-answer|reset-before-headers)"/.test(response.body)) return 'refused'
  const isWhole = response.status === poison.status && response.body === body
  return isWhole && headerValues(response, 'x-own').join() === marker ? 'whole' : 'a mix'
}

const isPart = (bytes: string, { status }: Poison, body: string): boolean => {
  if (bytes === '') return true // a connection that is reset may lose what was written last
  const part = parseWireResponse(Buffer.from(bytes, 'latin1'))
  return part.status === status && !part.whole && body.startsWith(part.body.toString('latin1'))
}

/** Names what is wrong with a sound response to the request with this marker, or null. */
export const faultOfSound = (marker: string, { response, bytes }: Given): string | null => {
  const isOwn =
    response?.status === 200 &&
    response.body === marker &&
    parseResponse(bytes, 'GET')?.taken === bytes.length &&
    [...bytes.matchAll(/own-\d{8}|stray/g)].every(([found]) => found === marker)
  return isOwn ? null : `not its own: ${shown({ response, bytes })}`
}

const shown = ({ bytes }: Given): string => JSON.stringify(bytes.slice(0, 1000))
