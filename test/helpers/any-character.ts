import fc from 'fast-check'

/** Of one byte, and some beyond. fast-check's own `binary` first lists all of Unicode: a second in each process. */
export const anyCharacter = fc.constantFrom(
  ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
  ...'\u0130\u2028\u202e€\ud800😀',
)
