import { durationText, isDate, isDateTime, isIsoDateTime, isIsoTime, isTime } from './formats/date-time.ts'
import { isEmail, isIdnEmail } from './formats/email.ts'
import { isHostname, isIdnHostname, type TakeSteps } from './formats/hostname.ts'
import { ipv4, isIpv6 } from './formats/ip-address.ts'
import { isJsonPointer, isPointerFragment, isRelativeJsonPointer } from './formats/json-pointer.ts'
import { isIri, isIriReference, isUri, isUriReference } from './formats/resource-identifier.ts'
import { isUriTemplate } from './formats/uri-template.ts'

/** A format as Ajv takes it; true: nothing is compared. */
type Format =
  | true
  | RegExp
  | ((text: string) => boolean)
  | { readonly type: 'number'; readonly validate: (value: number) => boolean }

/**
 * Creates the formats that are checked, by name. A client chooses their texts: each takes a time that is linear in the
 * text, and no stack. `takeSteps` counts names in other scripts, which take longer. `regex` is none of them: it would
 * compile what a client wrote.
 */
export const createFormats = (takeSteps: TakeSteps = ignore): Readonly<Record<string, Format>> => ({
  date: isDate,
  time: isTime,
  'date-time': isDateTime,
  'iso-time': isIsoTime,
  'iso-date-time': isIsoDateTime,
  duration: durationText,
  email: isEmail,
  'idn-email': (text: string) => isIdnEmail(text, takeSteps),
  hostname: (text: string) => isHostname(text, takeSteps),
  'idn-hostname': (text: string) => isIdnHostname(text, takeSteps),
  ipv4,
  ipv6: (text: string) => isIpv6(text),
  uri: isUri,
  'uri-reference': isUriReference,
  iri: isIri,
  'iri-reference': isIriReference,
  'uri-template': isUriTemplate,
  uuid: /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i,
  'json-pointer': isJsonPointer,
  'json-pointer-uri-fragment': isPointerFragment,
  'relative-json-pointer': isRelativeJsonPointer,
  byte: isByte,
  // The numbers of the OpenAPI Format Registry.
  int32: numbers((value) => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31),
  // The largest one, 2^63 − 1, is read as the double 2^63.
  int64: numbers((value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63),
  float: numbers((value) => Number.isFinite(Math.fround(value))),
  double: numbers(Number.isFinite),
  password: true,
  binary: true,
})

const ignore = (): void => {}

const numbers = (validate: (value: number) => boolean): Format => ({ type: 'number', validate })

/** Tells whether a text is base64 (RFC 4648 §4): padded, and with zeros for the bits behind the last byte (§3.5). */
function isByte(text: string): boolean {
  if (text.length % 4 !== 0) return false
  const digits = text.endsWith('==') ? -2 : text.endsWith('=') ? -1 : text.length
  if (/[^a-z\d+/]/i.test(text.slice(0, digits))) return false
  return digits > 0 || text === '' || (digits === -2 ? /[AQgw]==$/ : /[AEIMQUYcgkosw048]=$/).test(text)
}

/** The formats that are checked, where nothing is counted. */
export const formats: Readonly<Record<string, Format>> = createFormats()
