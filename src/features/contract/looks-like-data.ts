/** A name that was probably made from data (an id, a date, an address, a token, a person) is never kept. */
export const looksLikeData = (name: string): boolean =>
  !allowedName.test(name) ||
  // `__proto__` would be a prototype in a document, and a validator finds `toString` in every object.
  name in Object.prototype ||
  longDigits.test(name) ||
  isMostlyDigits(name) ||
  isHexadecimal(name) ||
  isRandom(name)

// No space, as in a person's name, and no @ behind the first character, as in an email address.
const allowedName = /^(?=.{0,63}\p{L})[\p{L}\p{N}_$#@][\p{L}\p{M}\p{N}_$.:[\]-]{0,63}$/u

const longDigits = /\d{5}/

const isMostlyDigits = (name: string): boolean => {
  const digits = name.match(/\d/g)?.length ?? 0
  return digits >= 4 && digits * 2 >= name.length
}

// UUIDs too, but no word without digits, such as `facade`.
const isHexadecimal = (name: string): boolean => /^[0-9a-f-]{8,}$/i.test(name) && /\d/.test(name)

/** Capitals, small letters and digits alternate as often as in a token. */
const isRandom = (name: string): boolean =>
  name.length >= 12 && (name.match(/\p{Lu}*\p{Ll}+|\p{Lu}+|\p{N}+/gu)?.length ?? 0) * 2.5 > name.length

export const looksLikeCode = (text: string): boolean =>
  text.length <= 24 && code.test(text) && !/\d{4}/.test(text) && !looksLikeData(text)

const code = /^(?:[A-Z0-9_-]+|[a-z]+(?:[_-][a-z]+)*)$/
