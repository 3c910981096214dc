import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { type Span, type SpanReceiver, spanReceiver } from '../../../helpers/span-receiver.ts'
import { call } from '../../../helpers/wire.ts'

export const traceId = '0af7651916cd43dd8448eb211c80319c'
export const callerId = 'b7ad6b7169203331'

/** Boots a gateway that exports every trace, asks it, and gives what came of it once it has stopped. */
export const traced = async (
  settings: Settings,
  asks: readonly Parameters<typeof call>[1][],
  tracing: { readonly [key: string]: unknown } = {},
) => {
  const receiver = await spanReceiver()
  const booted = await bootGateway({ ...settings, tracing: { otlp: receiver.url, sample: '100%', ...tracing } })
  const responses = []
  for (const asked of asks) responses.push(await call(booted.port, asked))
  for (const _ of asks)
    await booted.line(() => booted.lines.filter(({ msg }) => msg === 'exchange').length === asks.length)
  await booted.gateway.close()
  const { spans } = receiver
  return { responses, spans, receiver, lines: booted.lines, ...sorted(spans) }
}

export const sorted = (spans: SpanReceiver['spans']): { readonly server: Span; readonly attempts: readonly Span[] } => {
  const [server] = spans.filter(({ kind }) => kind === 'server')
  if (server === undefined) throw new Error(`no server span among ${JSON.stringify(spans)}`)
  return { server, attempts: spans.filter(({ kind }) => kind === 'client') }
}
