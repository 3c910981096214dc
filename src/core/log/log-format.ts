/**
 * The formats of log lines other than pino's. Each line is rewritten where it leaves the process, so nothing else of
 * the gateway knows a format.
 */
import { isIP } from 'node:net'
import type { Config, LogConfig } from '../config/config.ts'
import { escapeQuotedControls } from '../lib/text/escape-controls.ts'

export interface LoggingConfig extends Pick<Config, 'log' | 'instance'> {
  /** Spans and lines have one service name. */
  readonly tracing?: { readonly serviceName: string } | null
}

type ForeignFormat = Exclude<LogConfig['format'], 'pino'>

export type RewriteLine = (line: string) => string

// The release whose field list the names were checked against.
const ecsVersion = '8.11.0'

const same = (name: string) => ({ ecs: name, otel: name })

/**
 * What each format calls a field of a line. A field that has no name here is called `lender_gateway.` and its own name
 * in snake case: neither schema has a word for it, or not one that means the same in every line. Spans use the same
 * names (`tracing/span-attributes.ts`).
 */
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
  // Keys of the configuration, which every line has in these formats.
  'tracing.serviceName': same('service.name'),
  'instance.name': { ecs: 'service.node.name' }, // spans have another `service.instance.id`
  'instance.environment': { ecs: 'service.environment', otel: 'deployment.environment.name' },
}

export const fieldNameIn = (format: ForeignFormat, name: string): string =>
  fieldNames[name]?.[format] ??
  `lender_gateway.${name.replace('.', '_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

/** The levels of pino, with their names, and their numbers in OpenTelemetry (logs data model, SeverityNumber). */
const levels: Readonly<Record<number, readonly [name: string, severity: number]>> = {
  10: ['trace', 1],
  20: ['debug', 5],
  30: ['info', 9],
  40: ['warn', 13],
  50: ['error', 17],
  60: ['fatal', 21],
}

const clientId = { client: 'clientId' } // the id of one in the file, and not an address
const shiftCause = { cause: 'shiftCause' } // what the share comes from: nothing has failed

/** Members that mean something else in some lines, and the names that they have there. */
const otherMeanings = new Map<string, Readonly<Record<string, string>>>([
  ...['cache cleared', 'idempotency key shown', 'idempotency key forgotten'].map((msg) => [msg, clientId] as const),
  ...['shift order', 'shift step', 'shift order ended', 'shift pause ended', 'shift taken up'].map(
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

// A renderer has these members in a place of their own.
const headNames: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'trace_id'])

/** Renders the name of a member, as `,"name":`. */
type RenderKey = (name: string) => string

/** Makes what rewrites lines to the format of a configuration; null: they stay as pino renders them. */
export const createLineRewriter = ({ log: { format }, tracing, instance }: LoggingConfig): RewriteLine | null => {
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
    ['tracing.serviceName', tracing?.serviceName ?? 'lender-gateway'],
    ['instance.name', instance.name],
    ['instance.environment', instance.environment],
  ] as const
  const origin = origins.map(([name, value]) => (value === null ? '' : keyOf(name) + toJson(value))).join('')
  const formatTime = cachingTimeFormat()
  const [timeKey, levelKey, msgKey] = [`{${keyOf('time').slice(1)}"`, `"${keyOf('level')}"`, keyOf('msg')]
  /** Renders a line; `members` are those that are not in its head, each after a comma. */
  const renderLine = ({ level, time, msg, trace_id }: PinoLine, members: string): string => {
    const [name, severity] = levels[level] ?? [String(level), 0]
    const start = timeKey + formatTime(time) + levelKey
    const trace = trace_id === undefined ? '' : keyOf('trace_id') + toJson(trace_id)
    const text = msgKey + toJson(msg)
    // The specification of ECS logging wants time, level and message first, for people.
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
      else if (name === 'changes') members += keyOf(name) + toJson(asTexts(value))
      else if (name === 'by') members += keyOf(nameOfCaller(value)) + toJson(value)
      else members += keyOf(others?.[name] ?? name) + (name === 'until' ? toJson(asTime(value)) : toJson(value))
    }
    if (format === 'ecs' && line.gatewayMs !== undefined) members += keyOf('durationNs') + durationNs(line)
    // Parsing has undone what pino's line had escaped.
    return escapeQuotedControls(renderLine(line, members))
  }
}

/** Parses a line of any format; finds a member by its name in pino's lines. Throws when the line is no JSON object. */
export const parseLogLine = (line: string): ((name: string) => unknown) => {
  const members: Readonly<Record<string, unknown>> = JSON.parse(line)
  if ('msg' in members) return (name) => members[name]
  if ('message' in members) return (name) => members[fieldNameIn('ecs', name)]
  const all = { ...members, ...Object(members.Attributes) }
  return (name) => all[fieldNameIn('otel', name)]
}

const toJson = (value: unknown): string => (typeof value === 'number' ? String(value) : JSON.stringify(value))

/** Renders each element as text: a store of documents takes values of one type for one name, and these have several. */
const asTexts = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((element) => JSON.stringify(element)) : value

/** Finds which member says who gave an order, where it is in a login: an operator without a name is an address. */
const nameOfCaller = (by: unknown): string => (isIP(String(by)) === 0 ? 'operator' : 'client')

/** Renders a time as orders have it: a store of documents that has once seen a number there takes no text. */
const asTime = (value: unknown): unknown => (typeof value === 'number' ? new Date(value).toISOString() : value)

const renderError = (err: unknown, keyOf: RenderKey): string => {
  const members = typeof err === 'object' && err !== null ? Object.entries(err) : [['message', err] as const]
  return members.map(([name, value]) => keyOf(`err.${name}`) + toJson(value)).join('')
}

const durationNs = ({ gatewayMs, upstreamMs }: PinoLine): number =>
  Math.round((Number(gatewayMs) + Number(upstreamMs ?? 0)) * 1e6)

/** Makes a formatter of times that formats each once: many lines have the same. */
const cachingTimeFormat = (): ((time: number) => string) => {
  let [lastTime, formatted] = [Number.NaN, '']
  return (time) => {
    if (time !== lastTime) [lastTime, formatted] = [time, new Date(time).toISOString()]
    return formatted
  }
}
