import * as z from 'zod'
import { duration, integer, percent } from './values.ts'

const hour = 3_600_000

/** Describes when a whole upstream is left alone; carries the built-in values. */
export const circuitBreakerSchema = z
  .strictObject({
    failureRate: percent('The share of failed requests at which it opens', { min: 0.01 }).prefault('50%'),
    minRequests: integer('It opens only after so many requests within the window', {
      min: 1,
      max: 10_000,
    }).prefault(20),
    window: duration('How far back requests are counted', { min: 1000, max: hour }).prefault('10s'),
    openFor: duration('How long nothing is sent', { min: 100, max: hour }).prefault('5s'),
    probes: integer('How many requests are let through then, and must go well, before it closes', {
      min: 1,
      max: 100,
    }).prefault(3),
  })
  .meta({ description: 'Stops traffic to the whole upstream while most of it fails' })
