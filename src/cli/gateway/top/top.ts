import { overviewShape } from '../../../admin/overview.ts'
import { now, pause } from '../../../clock.ts'
import { endOnSignals, endWithReader } from '../../pipe.ts'
import { get } from '../ask.ts'
import { type AskOptions, findGateway } from '../find.ts'
import { noteDoubt, printJson } from '../print.ts'
import { type Target, Unasked, urlOf } from '../target.ts'
import { cropped, frame, type Seen } from './frame.ts'
import { drawn, meansOf, openScreen } from './screen.ts'

const everyMs = 1000

/** What the command is given. */
export interface TopOptions extends AskOptions {
  readonly once?: true
}

/** Shows how a gateway does until somebody has seen enough, or prints it once; resolves to the exit code. */
export const top = async ({ once, format, ...where }: TopOptions): Promise<number> => {
  const target = await findGateway(where)
  const { stdout } = process
  const first = await look(target)
  noteDoubt(target, first.seen.overview.status.version)
  if (format === 'json') {
    printJson(first.body)
    return 0
  }
  if (once || !stdout.isTTY) {
    const means = { ...meansOf(stdout, process.env), rows: Number.POSITIVE_INFINITY }
    endWithReader()
    stdout.write(
      frame(first.seen, means)
        .map((line) => `${drawn(line, means)}\n`)
        .join(''),
    )
    return 0
  }

  endWithReader()
  endOnSignals()
  return live(target, first.seen)
}

// A gateway answers within this, or else what is shown is said to be old.
const freshMs = 3000

/** Draws until the process ends. The window is given back as it was, whatever ends it. */
const live = async (target: Target, first: Seen): Promise<never> => {
  const { stdout, stdin } = process
  let seen = first
  let lastAt = now()
  let why: string | null = null
  let asking = false
  const failed = Promise.withResolvers<never>()
  const refresh = async (): Promise<void> => {
    if (asking) return
    asking = true
    try {
      seen = (await look(target)).seen
      lastAt = now()
      why = null
    } catch (error) {
      if (error instanceof Unasked) why = error.message
      else failed.reject(error)
    }
    asking = false
  }
  const draw = (): void => {
    const means = meansOf(stdout, process.env)
    const oldMs = now() - lastAt
    const isStale = why !== null || oldMs > freshMs
    const stale = isStale ? { seconds: oldMs / 1000, why: why ?? 'it has not answered since' } : null
    screen.draw(cropped(frame({ ...seen, stale }, means), means.rows), means)
  }
  const screen = openScreen({ stdin, stdout }, (key) => isEnd(key) && process.exit(0), draw)
  try {
    for (;;) {
      draw()
      void refresh()
      await Promise.race([pause(everyMs), failed.promise])
    }
  } finally {
    screen.close()
  }
}

// In raw mode Ctrl-C and Ctrl-D are keys like others.
const isEnd = (key: string): boolean => ['q', 'Q', '\u0003', '\u0004'].includes(key)

const look = async (target: Target): Promise<{ readonly seen: Seen; readonly body: unknown }> => {
  const { told: overview, body, at } = await get(target, '/overview', overviewShape)
  return { seen: { url: urlOf(target), overview, at, stale: null }, body }
}
