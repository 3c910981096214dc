import * as z from 'zod'
import { byOperation } from '../../operations.ts'
import { annotate, optionalKey } from './schema/annotations.ts'
import { optionalFieldName } from './schema/header-fields.ts'
import { InvalidScalar, patternKind, scalar } from './schema/scalar.ts'
import { boolean, choice, duration, map, optionalDuration, parseBoolean, size } from './schema/scalar-types.ts'
import { adminSchema } from './sections/admin.ts'
import { listenSchema } from './sections/listen.ts'
import { deadlineSchema, defaultsSchema, maxBodySchema } from './sections/upstream-defaults.ts'
import { upstreamsSchema } from './sections/upstreams.ts'

export const coreOperationShape = {
  state: choice('serve, or refuse every request with 503', ['serve', 'refuse']).prefault('serve'),
  deadline: deadlineSchema.optional(),
  maxBody: maxBodySchema.optional(),
}

type OperationShape = Readonly<Record<string, z.core.$ZodType>>

export const operationsSchema = (getShape: OperationShape, postShape: OperationShape) => {
  const shapeOf = (shape: OperationShape) => z.strictObject({ ...coreOperationShape, ...shape })
  const getOperation = shapeOf(getShape).meta({ id: 'GetOperation' })
  const postOperation = shapeOf(postShape).meta({ id: 'PostOperation' })
  const operations = byOperation(({ method }) => (method === 'GET' ? getOperation : postOperation).optional())
  return map('What differs for single operations', operations)
}

const maxLength = 40

/** No invisible characters: the name stands in a title and in questions. */
const labelKind = patternKind(
  `1 to ${maxLength} letters, digits, spaces and ._-, such as gateway-eu-1`,
  `^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,${maxLength - 2}}[A-Za-z0-9])?$`,
  'not a name',
  'letters, digits, spaces and ._-, with a letter or a digit at either end',
)

/** Names, as the page's CSP allows only its own style sheet. No green: it would say that all is well. */
export const instanceColours = ['grey', 'red', 'orange', 'brown', 'teal', 'blue', 'purple', 'pink'] as const

const instanceSchema = map('Which gateway this is, for operators of several', {
  name: optionalKey(scalar('What this gateway is called on the page of the admin listener', labelKind)),
  environment: optionalKey(scalar('What it belongs to: production, staging', labelKind)),
  colour: choice('The colour of the head of that page', instanceColours).prefault('grey'),
})

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const logFormats = ['pino', 'ecs', 'otel'] as const

const version = scalar<1>('The version of this format', {
  expected: '1',
  parse: (value, fromVariable) => {
    if (value === 1 || (fromVariable && value === '1')) return 1
    return new InvalidScalar('unknown version', value === '1' ? 'write 1, without quotes' : 'write 1')
  },
  json: { const: 1 },
})

const requestIdSchema = map('The id that every answer and every log line carries', {
  header: optionalFieldName('The field that carries the request id, or none', 'X-Request-Id').prefault('X-Request-Id'),
  format: choice('How an id that the gateway makes is written: 32 hex digits, or a UUID (RFC 9562)', [
    'hex',
    'uuid',
  ]).prefault('hex'),
})

const logSchema = map('The log, on standard output', {
  level: choice('The least severe level that is written', logLevels).prefault('info'),
  access: boolean('Whether each exchange leaves a line').prefault(true),
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
  clients: boolean('Whether requests are counted for each client of the file as well').prefault(false),
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

/** Null: nothing is counted for /metrics, the admin page and `top`. */
const metricsSchema = z
  .union([metricsSwitch, metricsOptions])
  .transform((given) => (given === true ? metricsOptions.parse({}) : given === false ? null : given))
  .meta({ description: 'What is counted of exchanges, for /metrics and the page of the admin listener' })

const reloadSchema = map('How an edit of this file is noticed, and tried', {
  watch: boolean('Whether an edit of the file is noticed; else only SIGHUP and POST /reload').prefault(true),
  poll: optionalDuration('How often contents are compared as well, for mounts that tell nothing').prefault('5s'),
  preflight: choice('How endpoints that an edit brings are tried before it takes effect', [
    'connect',
    'health',
    'none',
  ]).prefault('connect'),
})

const shutdownSchema = map('How the gateway ends: say not ready, wait, finish what runs', {
  wait: duration('How long connections are still accepted after /ready says no', { min: 0 }).prefault('5s'),
  deadline: duration('Longest shutdown in all, the wait included').prefault('25s'),
})

/** Unknown keys are errors; every key but `upstreams` has a default. */
export const coreSchema = z
  .strictObject({
    version: version.prefault(1),
    instance: instanceSchema.prefault({}),
    allowSandbox: boolean('Whether the sandbox may stand behind a non-loopback address').prefault(false),
    requestId: requestIdSchema.prefault({}),
    listen: listenSchema.prefault({}),
    admin: adminSchema.prefault({}),
    metrics: metricsSchema.prefault(true),
    log: logSchema.prefault({}),
    defaults: defaultsSchema.prefault({}),
    upstreams: upstreamsSchema(defaultsSchema, []),
    operations: operationsSchema({}, {}).prefault({}),
    reload: reloadSchema.prefault({}),
    shutdown: shutdownSchema.prefault({}),
  })
  .meta({ title: 'Lender gateway configuration' })
