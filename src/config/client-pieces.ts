import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ClientConfig } from './config.ts'
import { deepFreeze } from './freeze.ts'

// So many take the thread that serves about a millisecond.
const most = 256

// A piece ends behind one client in so many, whichever they are: where one is added or removed, the pieces before and after are what they were.
const oneIn = 64

type Clients = readonly ClientConfig[]

/** Is some clients, one after another, as a text: that goes from thread to thread many times as fast as objects do. */
export interface Piece {
  /** The SHA-256 of the text. */
  readonly digest: string
  readonly text: string
}

/** Is a piece for somebody who has some already: of those the text is null. */
export type Sent = Pick<Piece, 'digest'> & { readonly text: string | null }

/** Is a piece, and the clients that it was written of, or that were made of it. */
interface Run extends Piece {
  readonly clients: Clients
}

const known = new WeakMap<Clients, readonly Run[]>()
/** By the first client of each: where the others are the same as well, the text is. */
const begun = new WeakMap<ClientConfig, Run>()

/** Writes clients as pieces. */
export const piecesOf = (clients: Clients): readonly Piece[] =>
  runsOf(clients).map(({ digest, text }) => ({ digest, text }))

/** Writes clients for somebody who has pieces of these digests. */
export const piecesFor = (clients: Clients, has: readonly string[]): readonly Sent[] => {
  const theirs = new Set(has)
  return runsOf(clients).map(({ digest, text }) => ({ digest, text: theirs.has(digest) ? null : text }))
}

/**
 * Makes the clients that pieces were written of, frozen. Those that `has` holds as well are the very same, and so is the whole list when nothing
 * has changed. Others get their turn between any two pieces that are new.
 */
export const clientsOf = async (pieces: readonly Sent[], has: Clients): Promise<Clients> => {
  const before = runsOf(has)
  if (pieces.length === before.length && pieces.every(({ digest }, nth) => digest === before[nth]?.digest))
    return Object.freeze(has)
  const kept = new Map(before.map((run) => [run.digest, run]))
  const runs: Run[] = []
  for (const piece of pieces) {
    const run = kept.get(piece.digest)
    if (run === undefined) await nextTurn()
    runs.push(run ?? made(piece))
  }
  const clients: ClientConfig[] = []
  for (const run of runs) for (const each of run.clients) clients.push(each)
  known.set(Object.freeze(clients), runs)
  return clients
}

/** Hashes clients; of none: empty. */
export const digestOf = (clients: Clients): string =>
  clients.length === 0
    ? ''
    : hash(
        'sha256',
        runsOf(clients)
          .map(({ digest }) => digest)
          .join(),
      )

/** Lists the clients that are not in both, in the order of each; those that stand in a piece that is in both are not looked at. */
export const differing = (one: Clients, other: Clients): readonly [Clients, Clients] => {
  const [ones, others] = [runsOf(one), runsOf(other)]
  return [without(ones, others), without(others, ones)]
}

const without = (runs: readonly Run[], those: readonly Run[]): Clients => {
  const digests = new Set(those.map(({ digest }) => digest))
  return runs.flatMap(({ digest, clients }) => (digests.has(digest) ? [] : clients))
}

const made = ({ digest, text }: Sent): Run => {
  if (text === null) throw new TypeError('a piece that was not sent and is not there')
  return { digest, text, clients: deepFreeze(JSON.parse(text) as ClientConfig[]) }
}

const runsOf = (clients: Clients): readonly Run[] => {
  const runs = known.get(clients) ?? written(clients)
  known.set(clients, runs)
  return runs
}

const written = (clients: Clients): readonly Run[] => {
  const runs: Run[] = []
  let from = 0
  for (const [index, { id }] of clients.entries()) {
    const end = index + 1
    if (end - from < most && end < clients.length && sumOf(id) % oneIn !== 0) continue
    runs.push(runOf(clients.slice(from, end)))
    from = end
  }
  return runs
}

const runOf = (clients: Clients): Run => {
  const [first] = clients
  const before = first && begun.get(first)
  if (before?.clients.length === clients.length && clients.every((each, nth) => each === before.clients[nth]))
    return before
  const text = JSON.stringify(clients)
  const run = { digest: hash('sha256', text), text, clients }
  if (first !== undefined) begun.set(first, run)
  return run
}

const sumOf = (text: string): number => {
  let sum = 0
  for (let at = 0; at < text.length; at++) sum = (sum * 31 + text.charCodeAt(at)) >>> 0
  return sum
}
