import * as z from 'zod'
import { optionalKey } from '../schema/annotations.ts'
import { patternKind, scalar } from '../schema/scalar.ts'
import { choice } from '../schema/scalar-types.ts'

const maxLength = 40

/** A name as it stands in a title and in a question: a word or two, without anything invisible. */
const labelKind = patternKind(
  `1 to ${maxLength} letters, digits, spaces and ._-, such as gateway-eu-1`,
  `^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,${maxLength - 2}}[A-Za-z0-9])?$`,
  'not a name',
  'letters, digits, spaces and ._-, with a letter or a digit at either end',
)

/**
 * The colours that the head of the page may have. They are names, because the policy of the page lets in no style but
 * its own sheet: a value of the file could not become one. There is no green, which says that something goes well.
 */
export const instanceColours = ['grey', 'red', 'orange', 'brown', 'teal', 'blue', 'purple', 'pink'] as const

export const instanceSchema = z
  .strictObject({
    name: optionalKey(scalar(labelKind, 'What this gateway is called on the page of the admin listener')),
    environment: optionalKey(scalar(labelKind, 'What it belongs to: production, staging')),
    colour: choice('The colour of the head of that page', instanceColours).prefault('grey'),
  })
  .meta({ description: 'Which gateway this is, for operators of several' })
