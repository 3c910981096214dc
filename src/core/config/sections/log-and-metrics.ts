import * as z from 'zod'
import { annotate } from '../schema/annotations.ts'
import { scalar } from '../schema/scalar.ts'
import { InvalidScalar } from '../schema/scalar-kind.ts'
import { boolean, choice, map, parseBoolean, size } from '../schema/scalar-types.ts'

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const logFormats = ['pino', 'ecs', 'otel'] as const

export const logSchema = map('The log, on standard output', {
  level: choice('The least severe level that is written', logLevels).prefault('info'),
  access: boolean('Whether each exchange is logged in a line').prefault(true),
  format: annotate(
    choice('How lines are written: as pino does, by ECS 8, or by the data model of OpenTelemetry', logFormats).prefault(
      'pino',
    ),
    { restart: true },
  ),
  buffer: annotate(
    size('Most bytes of lines that wait for a slow reader', { min: 1024, max: 1024 ** 3 }).prefault('16MiB'),
    { restart: true },
  ),
})

const metricsOptions = map('What is counted', {
  clients: boolean('Whether requests are also counted for each client of the file').prefault(false),
})

const metricsSwitch = scalar<boolean>('Whether exchanges are counted', {
  expected: 'true, none or { clients: true }',
  parse: (value, fromVariable) => {
    if (value === 'none') return false
    const mistake = new InvalidScalar('neither true nor none', 'write true, or none to turn it off')
    return parseBoolean(value, fromVariable) ?? mistake
  },
  json: { enum: [true, false, 'none'] },
})

export const metricsSchema = z
  .union([metricsSwitch, metricsOptions])
  .transform((given) => (given === true ? metricsOptions.parse({}) : given === false ? null : given))
  .meta({ description: 'Counts of exchanges, for /metrics and the page of the admin listener' })
