import { createRequire } from 'node:module'
import { tryOrNull } from '../../../../core/lib/try.ts'

/** Takes the steps of a text whose check takes long. */
export type TakeSteps = (steps: number) => void

/** The most characters of a name (RFC 1034 §3.1), and of a part of it. */
const [maxName, maxLabel] = [253, 63]

/** Tells whether a text has the form of domain names in mail addresses and hosts (RFC 1123 §2.1, RFC 5321 §4.1.2). */
export const isDomain = (text: string): boolean =>
  text !== '' && !/[^a-z\d.-]/i.test(text) && !/^[.-]|[.-]$|\.[.-]|-\./.test(text)

/** Tells whether a text is a name of a host (RFC 1123 §2.1). Its A-labels hold what IDNA lets them (RFC 5890). */
export const isHostname = (text: string, takeSteps: TakeSteps): boolean =>
  text.length <= maxName &&
  isDomain(text) &&
  text.split('.').every((label) => label.length <= maxLabel) &&
  (!/(?:^|\.)xn--/i.test(text) || isIdnHostname(text, takeSteps))

/** Tells whether a text is a name of a host in any script (RFC 5890 §2.3.2.3). */
export const isIdnHostname = (text: string, takeSteps: TakeSteps): boolean => {
  // An A-label is longer than what it stands for.
  if (text.length > maxName || /[.\u{3002}\u{ff0e}\u{ff61}]$/u.test(text)) return false
  takeSteps(stepsPerName + text.length * stepsPerCharacter)
  idna ??= load('idn-hostname')
  return tryOrNull(() => idna?.isIdnHostname(text)) === true
}

// 10 µs for a short name, 300 µs for the longest.
const [stepsPerName, stepsPerCharacter] = [2500, 300]

const load = createRequire(import.meta.url)

/** The tables of Unicode take 11 ms and 1 MB: they are loaded with the first name that needs them. */
let idna: typeof import('idn-hostname') | undefined
