import * as z from 'zod'
import { duration, optionalInteger, optionalPercent, percent } from './values.ts'

/** Describes when real traffic takes an endpoint out for a while; carries the built-in values. */
export const outlierSchema = z
  .strictObject({
    consecutiveFailures: optionalInteger('So many failures in a row take an endpoint out', {
      min: 1,
      max: 1000,
    }).prefault(5),
    failureRate: optionalPercent('How much larger its share of failed requests may be than that of its siblings', {
      min: 0.01,
    }).prefault('50%'),
    ejectionTime: duration('For how long it is out at first; doubled each time it happens again', {
      min: 100,
      max: 3_600_000,
    }).prefault('10s'),
    maxEjected: percent('The largest share of the endpoints that is out at once').prefault('50%'),
  })
  .meta({ description: 'When real traffic takes one endpoint out for a while' })
