import { loadOnce } from '../../core/lib/memo.ts'

/** Without globals, context that follows asynchronous calls, or instrumentation. */
type Sdk = Awaited<ReturnType<typeof loadPackages>>

let loaded: Sdk | null = null

/** Nine packages, 18 MB of memory and 100 ms: only where spans are sent. */
export const loadSdk = async (): Promise<void> => {
  loaded = await loadPackages()
}

/** A snapshot is built without waiting. Throws before {@link loadSdk} has ended. */
export const sdk = (): Sdk => {
  if (loaded === null) throw new Error('the SDK of OpenTelemetry is not loaded')
  return loaded
}

const loadPackages = loadOnce(async () => {
  const [api, core, resources, trace, otlp, transformer, conventions] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/otlp-exporter-base/node-http'),
    import('@opentelemetry/otlp-transformer'),
    import('@opentelemetry/semantic-conventions'),
  ])
  return { api, core, resources, trace, otlp, transformer, conventions }
})
