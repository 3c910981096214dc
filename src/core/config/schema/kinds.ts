import { isBearerToken } from '../../exchange/header-fields.ts'
import { isIP } from '../../lib/net/addresses.ts'
import { InvalidScalar, type ScalarKind, textParser } from './scalar-kind.ts'

// Commands read the section `admin` by these kinds without loading zod.

export const defaultAdminAddress = { host: '127.0.0.1', port: 9901 } as const

export interface Range {
  readonly min?: number
  readonly max?: number
}

export const cannotDisable = 'this limit cannot be turned off: write a larger one, or remove the key'

export const integerKind = ({ min, max }: Required<Range>): ScalarKind<number> => ({
  expected: `a whole number from ${min} to ${max}`,
  parse: (value, fromVariable) => {
    const numeric = typeof value === 'string' && /^\d+$/.test(value)
    if (numeric && !fromVariable)
      return new InvalidScalar('a number in quotes', `write ${Number(value)}, without quotes`)
    const number = numeric ? Number(value) : value
    if (typeof number !== 'number')
      return new InvalidScalar('not a number', number === 'none' ? cannotDisable : undefined)
    return Number.isInteger(number) ? withinRange(number, min, max, String) : new InvalidScalar('not a whole number')
  },
  json: { type: 'integer', minimum: min, maximum: max },
})

export const withinRange = <N extends number>(value: N, min: number, max: number, format: (value: N) => string) => {
  if (value < min) return new InvalidScalar('too small', `write at least ${format(min as N)}`)
  return value > max ? new InvalidScalar('too large', `write at most ${format(max as N)}`) : value
}

export const portRange = { min: 0, max: 65_535 } as const

export const hostKind: ScalarKind<string> = {
  expected: 'an IP address or a host name, such as 127.0.0.1',
  parse: textParser((value) => {
    if (isIP(value) !== 0 || isHostName(value)) return value.toLowerCase()
    if (value === '*') return new InvalidScalar('not an address', 'write 0.0.0.0 or :: for every interface')
    if (value.startsWith('[')) return new InvalidScalar('not an address', 'write an IPv6 address without brackets')
    if (value.includes(':')) return new InvalidScalar('not an address', 'the port goes under its own key')
    return new InvalidScalar('not an address')
  }),
  json: { type: 'string', minLength: 1, pattern: '^[0-9A-Za-z:._%-]+$' },
}

export const isHostName = (text: string): boolean =>
  text.length <= 253 &&
  /^[0-9A-Za-z_]([0-9A-Za-z_-]*[0-9A-Za-z_])?(\.[0-9A-Za-z_]([0-9A-Za-z_-]*[0-9A-Za-z_])?)*\.?$/.test(text) &&
  // Digits and dots that are no address are a typing mistake: 127.0.0.256.
  !/^[\d.]+$/.test(text)

/** Not shown, even for certificates. The text between BEGIN and END is not checked. */
export const pemKind = (what: string, label: RegExp): ScalarKind<string> => ({
  expected: `${what} in PEM, or file: and a path`,
  parse: textParser((value) => {
    if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(value))
      return new InvalidScalar('a key with a password', 'decrypt it: openssl pkey -in KEY -out PLAIN')
    return label.test(value) ? value : new InvalidScalar(`not ${what} in PEM`, 'write file: and the path of a PEM file')
  }),
  json: { type: 'string' },
  secret: true,
  file: 'lines',
})

export const certificateKind = pemKind('a certificate', /-----BEGIN CERTIFICATE-----/)

// An attacker on the network could guess a shorter token. Its characters: RFC 6750 §2.1.
const minTokenLength = 16

export const tokenKind: ScalarKind<string> = {
  expected: `a token of at least ${minTokenLength} letters, digits and -._~+/, or file: and a path`,
  parse: (value) => {
    if (typeof value !== 'string') return new InvalidScalar('not text', 'put the token in quotes')
    if (!isBearerToken(value)) return new InvalidScalar('not a token', 'make one with: openssl rand -hex 32')
    if (value.length < minTokenLength) return new InvalidScalar('too short', 'make one with: openssl rand -hex 32')
    return value
  },
  json: { type: 'string', pattern: `^(file:.+|[A-Za-z0-9._~+/-]{${minTokenLength},}=*)$` },
  secret: true,
  file: 'line',
}
