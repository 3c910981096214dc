import type { AddressInfo } from 'node:net'
import { isatty } from 'node:tty'
import { Command } from 'commander'
import { allOperations } from '../../../operations.ts'
import type { Config, UpstreamConfig } from '../../config/config.ts'
import type { LoadedConfig } from '../../config/load/load.ts'
import { listSides } from '../../exchange/sides.ts'
import { now } from '../../lib/clock.ts'
import type { ListenError } from '../../lib/net/bind-target.ts'
import { exitProcess } from '../../lib/program.ts'
import { formatTable } from '../../lib/text/table.ts'
import { takeSupervisor } from '../../runtime/supervisor.ts'
import { defaultConfigFile } from '../options.ts'

export const createServeCommand = (): Command =>
  new Command('serve')
    .description('Run the gateway until SIGTERM or SIGINT.')
    .option('--config <FILE>', 'the configuration file', defaultConfigFile)
    .addHelpText(
      'after',
      `
Exit code: 0 stopped by a signal, 1 it cannot run (problems in the file, a port in use), an uncaught error, a second signal, an error while it
stopped, 2 the file cannot be read, or wrong usage.

Example:
  lender-gateway serve --config config/gateway.yaml`,
    )
    .action(async ({ config: file }: { config: string }) => {
      const signals = { onHangup: listenForSighup(), onStop: listenForStop() }
      const { loadInThread } = await import('../../config/load/load-in-thread.ts')
      const asked = Promise.withResolvers<void>()
      const loading = loadInThread(file, process.env, null, initialLoadTimeoutMs, asked.resolve)
      // Started first: this thread loads hundreds of modules, and cannot start the loading thread meanwhile.
      await Promise.race([asked.promise, loading])
      const [result, gateway] = await Promise.all([loading, import('../../runtime/gateway.ts')])
      if (result.ok) return serve(gateway, result, file, signals)

      const { formatProblems } = await import('../../config/problem.ts')
      process.stderr.write(formatProblems(result.problems))
      process.exitCode = result.unreadable ? 2 : 1
    })

// Longer than for a reload, since no request waits.
const initialLoadTimeoutMs = 100_000

// npm and a supervisor of a process group signal the gateway as well: a repeated signal within this time is ignored.
const duplicateSignalMs = 1000

const serve = async (
  { startGateway }: typeof import('../../runtime/gateway.ts'),
  loaded: LoadedConfig,
  file: string,
  { onHangup, onStop }: Signals,
): Promise<void> => {
  const [{ exitOnUncaughtException, openLog }, { collectStartupGarbage, tuneHeap }, { findServiceName }] =
    await Promise.all([import('../../log/log.ts'), import('../../lib/heap.ts'), import('../../config/config-facts.ts')])
  const supervisor = await takeSupervisor()
  const { config } = loaded
  const { log, dropped: droppedLines, forwardLines, close: closeLog } = await openLog(config, findServiceName(config))
  const exit = (code: number): void => void closeLog().finally(() => exitProcess(code))
  exitOnUncaughtException(log, closeLog)

  const inheritedSockets = supervisor?.sockets ?? null
  const options = { file, loaded, environment: process.env, log, droppedLines, forwardLines, inheritedSockets }
  collectStartupGarbage()
  const gateway = await startGateway(options).catch(async (error) => {
    await closeLog()
    throw explainListenError(error, config) ?? error
  })
  tuneHeap()
  const notifier = supervisor?.createNotifier?.(gateway, log) ?? null
  const finish = async (waitMs: number): Promise<void> => {
    const from = now()
    try {
      await gateway.close(waitMs)
      log.info({ afterMs: Math.round(now() - from) }, 'stopped')
      exit(0)
    } catch (error) {
      log.error({ err: error }, 'did not stop cleanly')
      exit(1)
    }
  }
  let stopRequest: { readonly signal: NodeJS.Signals; readonly at: number } | null = null
  const stop = (signal: NodeJS.Signals): void => {
    const again = stopRequest !== null
    if (stopRequest !== null && (signal !== stopRequest.signal || now() - stopRequest.at > duplicateSignalMs))
      return exitProcess(1)
    log.info(again ? { signal, again } : { signal }, 'stopping')
    if (again) return
    notifier?.stopping()
    stopRequest = { signal, at: now() }
    // Ctrl-C in a terminal needs no wait: no load balancer sends there.
    void finish(signal === 'SIGINT' && isatty(0) ? 0 : gateway.config.shutdown.wait)
  }
  onStop(stop)
  notifier?.ready()
  onHangup(() => {
    notifier?.reloading()
    void gateway.reload('signal').finally(() => notifier?.reloaded())
  })

  if (isatty(1)) process.stdout.write(`${renderBanner(config, gateway.address, file, gateway.processes)}\n`)
  const { address, port } = gateway.address
  const scheme = config.listen.tls === null ? 'http' : 'https'
  const { listenerParts } = await import('../../downstream/listener/listener-parts.ts')
  const listener = Object.assign({}, ...listenerParts.map((part) => part.describe?.(config.listen)))
  log.info({ address, port, scheme, ...listener, config: config.hash, file }, 'listening')
  log.info({ address: gateway.adminAddress.address, port: gateway.adminAddress.port }, 'admin listening')
  if (isatty(1)) return
  for (const row of bannerRows(config)) log.info(row, 'serving')
  log.info(rerouteHint(file))
}

interface Signals {
  readonly onHangup: ReturnType<typeof listenForSighup>
  readonly onStop: ReturnType<typeof listenForStop>
}

/** Called first: an unhandled SIGHUP ends the process. */
const listenForSighup = () => {
  let received = false
  let onSighup = (): void => {
    received = true
  }
  process.on('SIGHUP', () => onSighup())
  /** Calls `reload` for each later SIGHUP, and at once if one has come. */
  return (reload: () => void): void => {
    onSighup = reload
    if (received) reload()
  }
}

/** A signal ends the process while it starts. PID 1 of a container gets only signals that it handles. */
const listenForStop = () => {
  let onStop = (_: NodeJS.Signals): void => exitProcess(0)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => onStop(signal))
  return (stop: typeof onStop): void => {
    onStop = stop
  }
}

const explainListenError = ({ code, target }: ListenError, config: Config): Error | undefined => {
  if (target === undefined) return undefined
  const { host, port } = target
  const key = (['listen', 'admin'] as const).find((name) => config[name].host === host && config[name].port === port)
  if (key === undefined) return undefined
  const noSuchAddress = `this machine has no such address; change ${key}.host`
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `another process listens there; stop it, or change ${key}.port`,
    EACCES: `not permitted; ports below 1024 need a privilege, or change ${key}.port`,
    EADDRNOTAVAIL: noSuchAddress,
    ENOTFOUND: noSuchAddress,
  }
  const reason = reasons[code ?? '']
  return reason === undefined ? undefined : new Error(`cannot listen on ${host}:${port}: ${reason}`)
}

export const bannerRows = ({ listen, upstreams, operations }: Config) =>
  allOperations.map(({ id, method, path, group }) => ({
    operation: id,
    method,
    path: listen.basePath + path,
    upstream: operations[id].state === 'reject' ? 'rejected by configuration' : upstreamText(upstreams[group]),
  }))

const rerouteHint = (file: string): string =>
  `to reroute a group, edit its line under "upstreams" in ${file} and save it`

export const renderBanner = (
  config: Config,
  { address, port, family }: AddressInfo,
  file: string,
  processes: number,
): string => {
  const rows = bannerRows(config)
  const cells = rows.map(({ operation, method, path, upstream }) => ['', method, path, operation, '->', upstream])
  const host = family === 'IPv6' ? `[${address}]` : address
  const by = processes === 1 ? '' : `, ${processes} workers serve`
  const url = `${config.listen.tls === null ? 'http' : 'https'}://${host}:${port}`
  return [`lender-gateway listens on ${url}${by}`, '', formatTable(cells), '', rerouteHint(file), ''].join('\n')
}

const upstreamText = (group: UpstreamConfig): string =>
  listSides(group)
    .map(({ side, upstream: { endpoints } }) => {
      const nameOf = ({ origin, pathPrefix }: (typeof endpoints)[number]): string =>
        origin === 'sandbox' ? 'sandbox (embedded)' : origin + pathPrefix
      const names = endpoints.map(nameOf).join(', ')
      return side === 'primary' ? names : ` (${side}: ${names})`
    })
    .join('')
