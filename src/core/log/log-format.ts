/** Each line is rewritten where it leaves the process, so nothing else knows a format. */
import type { Config, LogConfig } from '../config/config.ts'
import { isIP } from '../lib/net/addresses.ts'
import { escapeQuotedControls } from '../lib/text/escape-controls.ts'

export type LoggingConfig = Pick<Config, 'log' | 'instance'>

type ForeignFormat = Exclude<LogConfig['format'], 'pino'>

export type RewriteLine = (line: string) => string

// The names below are those of this release.
const ecsVersion = '8.11.0'

const same = (name: string) => ({ ecs: name, otel: name })

/** Other fields are called `lender_gateway.` and their name in snake case. Spans use the same names. */
export const fieldNames: Readonly<Record<string, Readonly<Partial<Record<ForeignFormat, string>>>>> = {
  time: { ecs: '@timestamp', otel: 'Timestamp' },
  level: { ecs: 'log.level', otel: 'SeverityText' },
  msg: { ecs: 'message', otel: 'Body' },
  trace_id: { ecs: 'trace.id', otel: 'TraceId' },
  requestId: { ecs: 'http.request.id' },
  client: same('client.address'),
  clientId: { ecs: 'client.user.id', otel: 'user.id' },
  operator: same('user.name'),
  method: same('http.request.method'),
  url: same('url.path'),
  status: same('http.response.status_code'),
  bytesIn: { ecs: 'http.request.body.bytes', otel: 'http.request.body.size' },
  bytesOut: { ecs: 'http.response.body.bytes', otel: 'http.response.body.size' },
  durationNs: { ecs: 'event.duration' }, // made of gatewayMs and upstreamMs
  config: same('lender_gateway.config_hash'),
  failure: same('error.type'),
  cause: same('error.message'),
  reason: { ecs: 'event.reason' },
  'err.type': { ecs: 'error.type', otel: 'exception.type' },
  'err.message': { ecs: 'error.message', otel: 'exception.message' },
  'err.stack': { ecs: 'error.stack_trace', otel: 'exception.stacktrace' },
  'err.code': { ecs: 'error.code' },
  file: same('file.path'),
  pid: same('process.pid'),
  code: { ecs: 'process.exit_code', otel: 'process.exit.code' },
  // Keys of the configuration, in every line of these formats.
  'tracing.serviceName': same('service.name'),
  'instance.name': { ecs: 'service.node.name' }, // spans have another `service.instance.id`
  'instance.environment': { ecs: 'service.environment', otel: 'deployment.environment.name' },
}

export const fieldNameIn = (format: ForeignFormat, name: string): string =>
  fieldNames[name]?.[format] ??
  `lender_gateway.${name.replace('.', '_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

/** pino's levels: name, and number in OpenTelemetry (logs data model, SeverityNumber). */
const levels: Readonly<Record<number, readonly [name: string, severity: number]>> = {
  10: ['trace', 1],
  20: ['debug', 5],
  30: ['info', 9],
  40: ['warn', 13],
  50: ['error', 17],
  60: ['fatal', 21],
}

const clientId = { client: 'clientId' } // an id in `clients`, and not an address
const shiftCause = { cause: 'shiftCause' } // the origin of the share: nothing has failed

const otherMeanings = new Map<string, Readonly<Record<string, string>>>([
  ...['cache cleared', 'idempotency key shown', 'idempotency key forgotten'].map((msg) => [msg, clientId] as const),
  ...['shift command', 'shift step', 'shift override ended', 'shift pause ended', 'shift taken up'].map(
    (msg) => [msg, shiftCause] as const,
  ),
])

interface PinoLine {
  readonly level: number
  readonly time: number
  readonly msg: string
  readonly trace_id?: string
  readonly [name: string]: unknown
}

const headNames: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'trace_id'])

type RenderKey = (name: string) => string

/** Null: lines stay as pino renders them. */
export const createLineRewriter = (
  { log: { format }, instance }: LoggingConfig,
  serviceName = 'lender-gateway',
): RewriteLine | null => {
  if (format === 'pino') return null
  const keys = new Map<string, string>()
  const keyOf: RenderKey = (name) => {
    const known = keys.get(name)
    if (known !== undefined) return known
    const key = `,${JSON.stringify(fieldNameIn(format, name))}:`
    keys.set(name, key)
    return key
  }
  const origins = [
    ['tracing.serviceName', serviceName],
    ['instance.name', instance.name],
    ['instance.environment', instance.environment],
  ] as const
  const origin = origins.map(([name, value]) => (value === null ? '' : keyOf(name) + toJson(value))).join('')
  const formatTime = cachingTimeFormat()
  const [timeKey, levelKey, msgKey] = [`{${keyOf('time').slice(1)}"`, `"${keyOf('level')}"`, keyOf('msg')]
  const renderLine = ({ level, time, msg, trace_id }: PinoLine, members: string): string => {
    const [name, severity] = levels[level] ?? [String(level), 0]
    const start = timeKey + formatTime(time) + levelKey
    const trace = trace_id === undefined ? '' : keyOf('trace_id') + toJson(trace_id)
    const text = msgKey + toJson(msg)
    // The specification of ECS logging wants time, level and message first.
    if (format === 'ecs')
      return `${start}${name}"${text},"ecs.version":"${ecsVersion}"${origin},"event.dataset":"lender_gateway.${msg === 'exchange' ? 'access' : 'log'}"${trace}${members}}\n`
    return `${start}${name.toUpperCase()}","SeverityNumber":${severity}${text}${trace},"Resource":{${origin.slice(1)}},"Attributes":{${members.slice(1)}}}\n`
  }

  return (text) => {
    const line: PinoLine = JSON.parse(text)
    const others = otherMeanings.get(line.msg)
    let members = ''
    for (const name in line) {
      const value = line[name]
      if (value === null || headNames.has(name)) continue
      if (name === 'err') members += renderError(value, keyOf)
      // A document store takes values of one type for one name: `changes` has several, `until` texts and numbers.
      else if (name === 'changes') members += keyOf(name) + toJson(Array.isArray(value) ? value.map(toJson) : value)
      else if (name === 'until' && typeof value === 'number')
        members += keyOf(name) + toJson(new Date(value).toISOString())
      // An operator without a name is an address.
      else if (name === 'by') members += keyOf(isIP(String(value)) === 0 ? 'operator' : 'client') + toJson(value)
      else members += keyOf(others?.[name] ?? name) + toJson(value)
    }
    if (format === 'ecs' && line.gatewayMs !== undefined)
      members += keyOf('durationNs') + Math.round((Number(line.gatewayMs) + Number(line.upstreamMs ?? 0)) * 1e6)
    // Parsing has undone the escapes of pino's line.
    return escapeQuotedControls(renderLine(line, members))
  }
}

const toJson = (value: unknown): string => (typeof value === 'number' ? String(value) : JSON.stringify(value))

const renderError = (err: unknown, keyOf: RenderKey): string => {
  const members = typeof err === 'object' && err !== null ? Object.entries(err) : [['message', err] as const]
  return members.map(([name, value]) => keyOf(`err.${name}`) + toJson(value)).join('')
}

const cachingTimeFormat = (): ((time: number) => string) => {
  let [lastTime, formatted] = [Number.NaN, '']
  return (time) => {
    if (time !== lastTime) [lastTime, formatted] = [time, new Date(time).toISOString()]
    return formatted
  }
}
