import type { TellOrder } from '../observe/audit/line.ts'
import type { LogLevel } from '../observe/level.ts'
import type { Log } from '../observe/log.ts'
import type { Orders, Override } from './overrides.ts'

/** Is what the level of the log depends on. */
export interface KeepLevelOptions {
  readonly log: Log
  readonly tell: TellOrder
  /** Holds what an operator has said of it. */
  readonly orders: Orders<'log', LogLevel>
  /** What the file says at first. */
  readonly first: LogLevel
  /** Has other processes write at this level; null: at the file's. */
  pass(ordered: LogLevel | null): void
}

/** Is how much the log writes: as the file says, or for a while as an operator does. */
export interface KeptLevel {
  /** What is written at just now, and until when an operator's word holds; null: the file's does. */
  readonly now: { readonly level: LogLevel; readonly until: number | null }
  /** Takes the file's word from now on: it holds when no operator's does. */
  follow(level: LogLevel): void
  /** Puts into effect what another process was told. */
  refresh(): void
  /** Gives an operator's word for a time. */
  order(level: LogLevel, ttlMs: number): Override<LogLevel>
  /** Ends an operator's word early. */
  back(): void
  /** Says that an operator's word has ended of itself. */
  ended(): void
}

/**
 * Keeps the level of the log. It is no part of a snapshot: nothing is built anew and nobody has to agree, so an order takes effect at once,
 * also while an edit is read or a worker hangs, which follows when it comes round.
 */
export const keepLevel = ({ log, tell, orders, first, pass }: KeepLevelOptions): KeptLevel => {
  let byFile = first

  const apply = (say = (): void => {}): void => {
    const ordered = orders.of('log')?.state ?? null
    const level = ordered ?? byFile
    // The one that writes more has the line that says why there will be more, or fewer.
    if (rank(log, level) < rank(log, log.level)) log.level = level
    say()
    log.level = level
    pass(ordered)
  }

  // A line has its own severity as `level`.
  const told = (logLevel: LogLevel, until: string | null): void => {
    apply(() => log.info({ logLevel, until }, 'log level order'))
    tell('log level order', { logLevel, until })
  }

  return {
    get now() {
      const ordered = orders.of('log')
      return { level: ordered?.state ?? byFile, until: ordered?.until ?? null }
    },
    follow(level) {
      byFile = level
      apply()
    },
    refresh: () => apply(),
    order(level, ttlMs) {
      const set = orders.set('log', level, ttlMs)
      told(level, new Date(set.until).toISOString())
      return set
    },
    back() {
      orders.end('log')
      told(byFile, null)
    },
    ended() {
      apply(() => log.info({ logLevel: byFile }, 'log level order ended'))
      tell('log level order ended', { logLevel: byFile })
    },
  }
}

/** Numbers levels as pino does: the higher, the less is written. */
const rank = ({ levels }: Log, level: string): number => levels.values[level] ?? Number.POSITIVE_INFINITY
