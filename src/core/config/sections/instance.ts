import { optionalKey } from '../schema/annotations.ts'
import { scalar } from '../schema/scalar.ts'
import { patternKind } from '../schema/scalar-kind.ts'
import { choice, map } from '../schema/scalar-types.ts'

const maxLength = 40

/** No invisible characters: the name stands in the page's title and in its questions. */
const labelKind = patternKind(
  `1 to ${maxLength} letters, digits, spaces and ._-, such as gateway-eu-1`,
  `^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,${maxLength - 2}}[A-Za-z0-9])?$`,
  'not a name',
  'letters, digits, spaces and ._-, with a letter or a digit at either end',
)

/** Words, because the page's CSP allows only its own style sheet. No green: it would suggest that all is well. */
export const instanceColors = ['gray', 'red', 'orange', 'brown', 'teal', 'blue', 'purple', 'pink'] as const

export const instanceSchema = map('Which gateway this is, for operators of several', {
  name: optionalKey(scalar('The name of this gateway on the page of the admin listener', labelKind)),
  environment: optionalKey(scalar('The environment of this gateway, such as production or staging', labelKind)),
  color: choice('The color of the head of that page', instanceColors).prefault('gray'),
})
