import type { Socket } from 'node:net'
import { exitWhenUncaught, openLog } from '../observe/log.ts'
import type { Outcome } from '../shared/limiter/bucket.ts'
import { runHere } from '../snapshot/commands.ts'
import { openPlane, type Plane } from '../snapshot/plane.ts'
import { serveHanded } from './here.ts'
import { Outbox } from './outbox.ts'
import { type Ask, type Notice, type Start, stateOf, type ToPrimary } from './protocol.ts'
import type { Prepared } from './serving.ts'

/** Is the work of one worker, from the first connection to the last. */
export interface Work {
  /** Does what the primary says; a connection comes as a socket. */
  receive(message: Ask | Notice, socket: Socket | undefined): void
}

/** Begins to serve what the primary hands over. Rejects when it cannot. */
export const work = async (start: Start, tell: (message: ToPrimary, done?: () => void) => void): Promise<Work> => {
  const { worker, verdicts, pseudonym, ticketSecret } = start
  const state = await stateOf(start.state, [])
  const { log, dropped, close: closeLog } = await openLog(state.config.log)
  exitWhenUncaught(log, closeLog, { worker })
  const counting = new Map<number, (outcomes: readonly Outcome[] | null) => void>()
  let lastBatch = 0
  /** Has the primary count: what each worker takes of a limit, it takes of all. Who waits how long is not decided here. */
  const count = (limit: string, keys: readonly string[]): Promise<readonly Outcome[] | null> =>
    new Promise((resolve) => {
      const batch = ++lastBatch
      counting.set(batch, resolve)
      tell({ type: 'takes', batch, limit, keys })
    })
  const outbox = new Outbox((lines, lost, done) => tell({ type: 'audited', lines, lost }, done), start.auditFailing)
  const plane = await openPlane(state, {
    tell: (level, event, fields) => log[level]({ worker, ...fields }, event),
    onVerdict: null, // the primary probes
    known: verdicts,
    part: { is: 'worker', of: start.workers, withinMs: start.countMs, ask: count },
    process: `worker-${worker}`,
    log,
    auditor: outbox,
    invalidated: (targets) => tell({ type: 'invalidated', targets }),
  })
  const serving = await serveHanded(plane, log, { pseudonym, ticketSecret, worker })
  if (start.draining) serving.drain()
  const prepared = new Map<number, Promise<Prepared>>()

  const taken = async (id: number): Promise<Prepared> => {
    const found = prepared.get(id)
    prepared.delete(id)
    if (found === undefined) throw new Error('was told to take what it was never given')
    return found
  }

  /** Does what concerns the state in the order in which it was told, however long one thing takes. */
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    const done = last.then(task)
    last = done.catch(() => {})
    return done
  }

  const answer = async (ask: Ask): Promise<unknown> => {
    switch (ask.type) {
      case 'prepare': {
        const preparing = inTurn(async () =>
          serving.prepare(await stateOf(ask.state, plane.live.current.config.clients)),
        )
        prepared.set(ask.prepared, preparing)
        await preparing
        return
      }
      case 'commit': {
        await inTurn(async () => {
          await (await taken(ask.prepared)).commit()
          log.level = plane.live.current.config.log.level
          agreeOn(plane, ask.verdicts)
        })
        return
      }
      case 'command':
        return runHere(plane, ask.name, ask.what)
      case 'report':
        return { report: await serving.report(), droppedLines: dropped(), config: plane.live.current.config.hash }
    }
  }

  let over: string[] = []
  const sayWhenOver = (socket: Socket | undefined, counted: string): void => {
    const say = (): void => {
      // Of a crowd that leaves at once, one message tells.
      if (over.push(counted) > 1) return
      setImmediate(() => {
        tell({ type: 'left', counted: over })
        over = []
      })
    }
    if (socket === undefined)
      say() // lost on its way
    else socket.once('close', say)
  }

  const heed = (notice: Notice, socket: Socket | undefined): void => {
    switch (notice.type) {
      case 'connection':
        if (notice.counted !== null) sayWhenOver(socket, notice.counted)
        if (socket !== undefined) serving.take(socket)
        return tell({ type: 'taken' })
      case 'discard':
        // One that it could not prepare has nothing to be forgotten.
        return void taken(notice.prepared).then(
          (next) => next.discard(),
          () => {},
        )
      case 'verdict':
        return void inTurn(async () => plane.hear(notice.verdict))
      case 'invalid':
        return plane.invalidate(notice.targets)
      case 'drain':
        return serving.drain()
      case 'audit':
        outbox.primaryFails = notice.failing
        return
      case 'outcomes':
        counting.get(notice.batch)?.(notice.outcomes)
        counting.delete(notice.batch)
        return
      case 'close':
        return void serving
          .close(notice.deadlineMs)
          .finally(() => outbox.sent())
          .finally(closeLog)
          .finally(() => process.exit(0))
    }
  }

  return {
    receive(message, socket) {
      if (!('id' in message)) return heed(message, socket)
      const { id } = message
      answer(message).then(
        (answered) => tell({ type: 'done', id, error: null, answer: answered }),
        (error) =>
          tell({ type: 'done', id, error: String(error instanceof Error ? error.message : error), answer: null }),
      )
    },
  }
}

/** Has a plane hold what the primary's holds: one that was closed there and opened again is new to its probes, and counts as up. */
const agreeOn = (plane: Plane, verdicts: Start['verdicts']): void => {
  const down = new Set(verdicts.map(([key]) => key))
  for (const [key] of plane.verdicts) if (!down.has(key)) plane.hear([key, null])
  for (const verdict of verdicts) plane.hear(verdict)
}
