import { getDecoded } from '../../core/cli/client/admin-client.ts'
import {
  type AdminTarget,
  CliError,
  type ClientCommandOptions,
  locateGateway,
  targetUrl,
} from '../../core/cli/client/admin-target.ts'
import { exitOnBrokenPipe, exitOnSignals } from '../../core/cli/exit.ts'
import { printJson, warnAboutTarget } from '../../core/cli/render/output.ts'
import { now, sleep } from '../../core/lib/clock.ts'
import { overviewShape } from '../overview/overview.ts'
import { cropLines, renderFrame, type TopView } from './frame.ts'
import { detectTerminalCaps, drawLine, openScreen } from './screen.ts'

const pollIntervalMs = 1000

export interface TopOptions extends ClientCommandOptions {
  readonly once?: true
}

export const runTop = async ({ once, format, ...targetOptions }: TopOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const { stdout } = process
  const first = await fetchView(target)
  warnAboutTarget(target, first.view.overview.status.version)
  if (format === 'json') {
    printJson(first.body)
    return 0
  }
  if (once || !stdout.isTTY) {
    const caps = { ...detectTerminalCaps(stdout, process.env), rows: Number.POSITIVE_INFINITY }
    exitOnBrokenPipe()
    stdout.write(
      renderFrame(first.view, caps)
        .map((line) => `${drawLine(line, caps)}\n`)
        .join(''),
    )
    return 0
  }

  exitOnBrokenPipe()
  exitOnSignals()
  return runLive(target, first.view)
}

const staleAfterMs = 3000

const runLive = async (target: AdminTarget, first: TopView): Promise<never> => {
  const { stdout, stdin } = process
  let view = first
  let fetchedAt = now()
  let why: string | null = null
  let isFetching = false
  const refresh = async (): Promise<void> => {
    if (isFetching) return
    isFetching = true
    try {
      view = (await fetchView(target)).view
      fetchedAt = now()
      why = null
    } catch (error) {
      if (!(error instanceof CliError)) throw error // a defect of this command, which ends it
      why = error.message
    }
    isFetching = false
  }
  const draw = (): void => {
    const caps = detectTerminalCaps(stdout, process.env)
    const oldMs = now() - fetchedAt
    const isStale = why !== null || oldMs > staleAfterMs
    const stale = isStale ? { seconds: oldMs / 1000, why: why ?? 'the gateway has not responded since' } : null
    screen.draw(cropLines(renderFrame({ ...view, stale }, caps), caps.rows), caps)
  }
  const screen = openScreen({ stdin, stdout }, (key) => isQuitKey(key) && process.exit(0), draw)
  try {
    for (;;) {
      draw()
      void refresh()
      await sleep(pollIntervalMs)
    }
  } finally {
    screen.close()
  }
}

// In raw mode Ctrl-C and Ctrl-D are ordinary keys.
const isQuitKey = (key: string): boolean => ['q', 'Q', '\u0003', '\u0004'].includes(key)

const fetchView = async (target: AdminTarget): Promise<{ readonly view: TopView; readonly body: unknown }> => {
  const { decoded: overview, body, at } = await getDecoded(target, '/overview', overviewShape)
  return { view: { url: targetUrl(target), overview, at, stale: null }, body }
}
