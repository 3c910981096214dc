import { IncomingMessage } from 'node:http'
import { isNamed } from '../fields.ts'

type Headers = IncomingMessage['headers']
const asked = Symbol('headers')

/**
 * Is a request whose fields are not made into an object: they are read from the raw list alone. Node asks for three of them, whether
 * there is a body and what the client expects.
 */
export class Arrival extends IncomingMessage {
  [asked]: Headers | null = null
}

Object.defineProperty(Arrival.prototype, 'headers', {
  get(this: Arrival): Headers {
    this[asked] ??= pick(this.rawHeaders)
    return this[asked]
  },
  set(this: Arrival, headers: Headers) {
    this[asked] = headers
  },
})

const pick = (raw: readonly string[]): Headers => {
  const picked: Headers = {}
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    // By length first, as in head.ts.
    if (name.length === 6 && isNamed(name, 'expect'))
      picked.expect = picked.expect === undefined ? value : `${picked.expect}, ${value}`
    else if (name.length === 14 && isNamed(name, 'content-length')) picked['content-length'] = value
    else if (name.length === 17 && isNamed(name, 'transfer-encoding')) picked['transfer-encoding'] = value
  }
  return picked
}
