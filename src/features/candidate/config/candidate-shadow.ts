import * as z from 'zod'
import { optionalKey } from '../../../core/config/schema/annotations.ts'
import { fieldName } from '../../../core/config/schema/header-fields.ts'
import { optionalPolicy } from '../../../core/config/schema/inheritance.ts'
import { mebibyte } from '../../../core/config/schema/scalar-kinds.ts'
import { boolean, choice, duration, integer, percent, size } from '../../../core/config/schema/scalar-types.ts'
import { shadowCompareSchema } from './candidate-compare.ts'

export const shadowKeys = z
  .strictObject({
    sample: percent('The part of the requests that is copied').prefault('10%'),
    posts: boolean('Whether POSTs are copied too; needs sideEffects: none').prefault(false),
    sideEffects: optionalKey(
      choice('none: what the candidate does with a POST is undone, or never lasts. Without it no POST is copied', [
        'none',
      ]),
    ),
    credentials: choice('Whether the credentials of clients are in the copies', ['remove', 'forward']).prefault(
      'remove',
    ),
    marker: fieldName(
      'The field by which a copy is known, with the value 1; what clients send in it is removed',
      'X-Shadow',
    ).prefault('X-Shadow'),
    compare: shadowCompareSchema.prefault({}),
    timeout: duration('Longest copy, from its sending to the end of its answer', { max: 600_000 }).prefault('30s'),
    concurrency: integer('Most copies at once; the next is not sent', { min: 1, max: 10_000 }).prefault(64),
    maxBody: size('A request with a longer body is not copied; a longer answer is compared by its hash', {
      min: 1024,
      max: 16 * mebibyte,
    }).prefault('1MiB'),
    maxBytes: size('Most memory of copies and of answers, of all workers together', {
      min: mebibyte,
      max: 16 * 1024 * mebibyte,
    }).prefault('64MiB'),
  })
  .meta({ description: 'Copies of requests go to the candidate; clients get nothing of its answers' })

export const candidateShadowSchema = optionalPolicy(shadowKeys, '{ sample: 10% }')
