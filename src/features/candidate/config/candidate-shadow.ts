import * as z from 'zod'
import { optionalKey } from '../../../core/config/schema/annotations.ts'
import { fieldName, lowerFieldName } from '../../../core/config/schema/header-fields.ts'
import { optionalPolicy } from '../../../core/config/schema/inheritance.ts'
import { scalar } from '../../../core/config/schema/scalar.ts'
import { InvalidScalar, type ScalarKind, textParser } from '../../../core/config/schema/scalar-kind.ts'
import {
  boolean,
  choice,
  duration,
  integer,
  keySchema,
  list,
  map,
  mebibyte,
  optionalPercent,
  percent,
  reject,
  size,
} from '../../../core/config/schema/scalar-types.ts'
import { formatPercent, percentages } from '../../../core/lib/text/units.ts'

// Each rule costs time at every place of a document.
const maxRules = 100

// RFC 6901 §3, without the pointer to the whole document, which would ignore everything.
const pointerPattern = '^(/([^~/]|~0|~1)*)+$'

const pointerKind: ScalarKind<string> = {
  expected: 'a JSON pointer such as /generatedAt or /items/*/id',
  parse: textParser((value) => {
    if (value === '' || value === '/')
      return new InvalidScalar('this is the whole document', 'compare: none turns the comparison off')
    if (!value.startsWith('/')) return new InvalidScalar('not a JSON pointer', suggestPointer(value))
    if (value.length > 500) return new InvalidScalar('too long')
    return new RegExp(pointerPattern).test(value)
      ? value
      : new InvalidScalar('not a JSON pointer', 'RFC 6901: ~ in a name is written ~0, and / is ~1')
  }),
  json: { type: 'string', pattern: pointerPattern, maxLength: 500 },
}

/** For `generatedAt`, `$.items[*].id` or `items.0.id`. */
const suggestPointer = (text: string): string => {
  const names = text.replace(/^\$\.?/, '').split(/[.[\]/]+/)
  return `write /${names.filter((name) => name !== '').join('/')}`
}

const writtenNumber = /^\d+(\.\d+)?(e[+-]?\d+)?$/i

const percentJson = { type: 'string', pattern: '^[0-9]{1,3}(\\.[0-9]{1,3})?%$' } as const

const numbers = scalar<{ readonly relative: number } | { readonly absolute: number } | null>(
  'How far two numbers may be apart: a percentage of the number of the primary, or an amount',
  {
    expected: 'a percentage of the number such as 1%, an amount such as 0.005, or none',
    parse: (value, fromVariable) => {
      if (value === 'none' || value === false || (fromVariable && value === 'false')) return null
      const given = fromVariable && writtenNumber.test(String(value)) ? Number(value) : value
      if (typeof given === 'number' && given >= 0 && Number.isFinite(given)) return { absolute: given }
      const relative = typeof value === 'string' ? percentages.parse(value) : undefined
      if (relative !== undefined && relative <= 1) return { relative }
      const meant = typeof value === 'string' ? percentages.suggest(value) : undefined
      return new InvalidScalar('not a tolerance', meant && `write ${meant}`)
    },
    render: (value) => {
      if (value === null) return 'none'
      return 'relative' in value ? formatPercent(value.relative) : value.absolute
    },
    json: { anyOf: [percentJson, { type: 'number', minimum: 0 }, { enum: ['none', false] }] },
  },
)

const member = scalar<string>('The member by which an item is found', {
  expected: 'the name of a member of each item, such as id',
  parse: (value) =>
    typeof value === 'string' && value !== '' && value.length <= 128
      ? value
      : new InvalidScalar(typeof value === 'string' ? 'not a name' : 'wrong type'),
  json: { type: 'string', minLength: 1, maxLength: 128 },
})

const arrays = z
  .record(keySchema(pointerKind).meta({ pattern: pointerPattern }), member)
  .check((context) => {
    if (Object.keys(context.value).length > maxRules) reject(context, 'too many arrays', `at most ${maxRules}`)
  })
  .meta({
    description: 'Arrays whose items may come in any order, each with the member that names an item',
    maxProperties: maxRules,
  })

const pointer = scalar('A JSON pointer; * stands for every name and index', pointerKind)

const fieldsText = 'Response fields that are compared beside the content type'

const compareKeys = map('How the responses of the candidate are compared with those of the primary', {
  ignore: list('Places that are not compared, with everything below them', pointer, { max: maxRules }).prefault([]),
  numbers: numbers.prefault('none'),
  arrays: arrays.prefault({}),
  fields: list(fieldsText, lowerFieldName('A response field', 'Location'), { max: 20 }).prefault([]),
  noise: boolean('Whether some GETs go to the primary twice, and what differs there is not compared').prefault(false),
  examples: boolean('Whether values that differ are kept and shown: they are data of clients').prefault(false),
  minEqual: optionalPercent('Fewer equal responses are a finding').prefault('99%'),
})

const sideEffectsText = 'none: no effect of a POST at the candidate lasts. Without it no POST is copied'
const markerText = 'The field that marks a copy, with the value 1; removed from requests of clients'
const maxBodyText = 'A request with a longer body is not copied; a longer response is compared by its hash'
const maxBytesText = 'Most memory of copies and of responses, of all workers together'

export const shadowKeys = map('Copies of requests go to the candidate; clients get nothing of its responses', {
  sample: percent('The part of the requests that is copied').prefault('10%'),
  posts: boolean('Whether POSTs are copied too; needs sideEffects: none').prefault(false),
  sideEffects: optionalKey(choice(sideEffectsText, ['none'])),
  credentials: choice('Whether the credentials of clients are in the copies', ['remove', 'forward']).prefault('remove'),
  marker: fieldName(markerText, 'X-Shadow').prefault('X-Shadow'),
  compare: optionalPolicy(compareKeys, '{ ignore: [/generatedAt] }').prefault({}),
  timeout: duration('Longest copy, from its sending to the end of its response', { max: 600_000 }).prefault('30s'),
  concurrency: integer('Most copies at once; the next is not sent', { min: 1, max: 10_000 }).prefault(64),
  maxBody: size(maxBodyText, { min: 1024, max: 16 * mebibyte }).prefault('1MiB'),
  maxBytes: size(maxBytesText, { min: mebibyte, max: 16 * 1024 * mebibyte }).prefault('64MiB'),
})

export const candidateShadowSchema = optionalPolicy(shadowKeys, '{ sample: 10% }')
