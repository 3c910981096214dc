/**
 * Runs sequences through both codecs: `node judge.ts SEED FIRST END`. Prints a line of JSON for each hundred. It is a
 * process of its own, as an error in Node's codec may abort it.
 */
import { type Difference, differences, readSent } from './differences.ts'
import { describeFrame } from './frames.ts'
import { createSequence, renderPieces, type Sequence } from './mutate.ts'
import { inTurn, openPeers, type Peer, settle } from './peers.ts'

/** A sequence on its way through both codecs. */
class Run {
  readonly peers = openPeers()
  /** The rows that explain differences. */
  readonly rows: string[] = []
  /** The first difference that none explains, in words. */
  unexplained: string | null = null
  readonly #pieces: Buffer[]
  readonly #sent: Buffer[] = []
  #activity = 0
  /** Streams that are known to differ; 0: the connection. */
  readonly #apart = new Set<number>()

  constructor(sequence: Sequence) {
    this.#pieces = renderPieces(sequence)
  }

  get isDone(): boolean {
    const { own, node } = this.peers
    return this.unexplained !== null || this.#pieces.length === 0 || own.isOver || (node.isOver && !this.#isEarly())
  }

  feed(): void {
    const piece = this.#pieces.shift() as Buffer
    this.#sent.push(piece)
    this.peers.own.feed(piece)
    this.peers.node.feed(piece)
  }

  judge(): void {
    const { own, node } = this.peers
    const activity = own.activity + node.activity
    if (activity === this.#activity && !own.isOver && !node.isOver) return
    this.#activity = activity
    if (node.isOver && this.#pieces.length > 0 && this.#isEarly()) return
    const sent = readSent(Buffer.concat(this.#sent))
    for (const difference of findDifferences(own, node)) {
      if (this.#apart.has(difference.id)) continue
      const row = differences.find(({ explains }) => explains(difference, sent))
      if (row === undefined) this.unexplained ??= describe(difference)
      else this.rows.push(row.what)
      this.#apart.add(difference.id)
    }
  }

  /**
   * The gateway's codec judges whole frames and field blocks, nghttp2 their beginnings: only one codec judges the rest.
   */
  #isEarly(): boolean {
    return !this.peers.own.isOver && readSent(Buffer.concat(this.#sent)).openId !== null
  }

  close(): void {
    this.peers.own.destroy()
    this.peers.node.destroy()
  }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
const isPart = (one = '', other = ''): boolean => one.startsWith(other) || other.startsWith(one)

type Side = Difference['own']
const sideOf = (peer: Peer, id: number): Side => ({
  peer,
  request: peer.requests.get(id),
  response: peer.responses.get(id),
})

const findDifferences = (own: Peer, node: Peer): Difference[] => {
  const isOver = own.isOver || node.isOver
  const found: Difference[] = []
  const compare = (kind: Difference['kind'], id: number, isAlike: (one: Side, other: Side) => boolean): void => {
    const sides = { own: sideOf(own, id), node: sideOf(node, id) }
    if (!isAlike(sides.own, sides.node)) found.push({ kind, id, ...sides })
  }
  compare('end', 0, () => own.isOver === node.isOver && own.goAway?.code === node.goAway?.code)
  const ids = [own.requests, node.requests, own.responses, node.responses].flatMap((map) => [...map.keys()])
  for (const id of new Set(ids)) compare('stream', id, isOver ? isFurther : isEqual)
  compare('replies', 0, () => isOver || isSame(own.replies, node.replies))
  return found
}

const isEqual = (own: Side, node: Side): boolean => isSame([own.request, own.response], [node.request, node.response])

/** On a connection that has ended, one codec may have come further than the other. */
const isFurther = (own: Side, node: Side): boolean => {
  const [one, other] = [own, node].map(({ request }) => request && { ...request, body: '', isComplete: null })
  const heads = [own, node].map(({ response }) => response?.heads ?? [])
  return (
    (one === undefined || other === undefined || isSame(one, other)) &&
    (heads.some(({ length }) => length === 0) || isSame(heads[0], heads[1])) &&
    isPart(own.request?.body, node.request?.body) &&
    isPart(own.response?.body, node.response?.body)
  )
}

/** Runs sequences through both codecs, side by side. */
const judgeAll = async (sequences: readonly Sequence[]): Promise<readonly Run[]> => {
  const runs = sequences.map((each) => new Run(each))
  for (let left = runs; left.length > 0; left = left.filter(({ isDone }) => !isDone)) {
    await inTurn(() => {
      for (const run of left) run.feed()
    })
    await settle(left.flatMap(({ peers }) => [peers.own, peers.node]))
    for (const run of left) run.judge()
  }
  for (const run of runs) run.close()
  return runs
}

const describe = ({ kind, id, own, node }: Difference): string => {
  const [ours, theirs] = [own, node].map(({ peer, request, response }) => {
    if (kind === 'replies') return String(peer.replies)
    if (kind === 'end') return peer.goAway ? `GOAWAY ${Object.values(peer.goAway)}` : peer.isOver ? 'closed' : 'open'
    const { heads = [], body = '', ...end } = response ?? {}
    return JSON.stringify([request, { statuses: heads.map((head) => head[1]), body: body.slice(0, 50), ...end }])
  })
  return `${kind} ${id}\n  own  ${ours}\n  Node ${theirs}`
}

/** Leaves out frames as long as a sequence differs, and describes the remaining ones. */
const shrink = async (sequence: Sequence): Promise<string> => {
  const judgeOne = async (each: Sequence) => (await judgeAll([each]))[0]?.unexplained ?? null
  // Another length is the same difference, another kind is not.
  const kindOf = (words: string): string => words.replaceAll(/"fields":\[.*?\]|"body":".*?"/g, '')
  let best = sequence
  let difference = (await judgeOne(best)) ?? 'none when it is alone'
  for (let at = best.frames.length - 1; at >= 0; at--) {
    const shorter = { ...best, frames: best.frames.toSpliced(at, 1) }
    const found = await judgeOne(shorter)
    if (found !== null && kindOf(found) === kindOf(difference))
      [best, difference, at] = [shorter, found, best.frames.length - 1]
  }
  const frames = best.frames.map(describeFrame)
  const pieces = renderPieces(best).map((piece) => piece.toString('hex'))
  return [difference, ...frames, `in pieces: ${pieces.join(' ')}`].join('\n')
}

export interface Batch {
  /** The number of the sequence behind it. */
  readonly next: number
  readonly requests: number
  /** The row of each difference that is explained. */
  readonly rows: readonly string[]
  /** The others, with the shortest sequence that has them. */
  readonly unexplained: readonly string[]
}

const [seed = 1, first = 0, end = 1] = process.argv.slice(2).map(Number)
for (let from = first, next = first; from < end; from = next) {
  next = Math.min(from + 100, end)
  const sequences = Array.from({ length: next - from }, (_, n) => createSequence(seed, from + n))
  const runs = await judgeAll(sequences)
  const requests = runs.reduce((sum, { peers }) => sum + peers.own.requests.size, 0)
  const unexplained: string[] = []
  for (const [n, sequence] of sequences.entries())
    if (runs[n]?.unexplained !== null)
      unexplained.push(`sequence ${from + n} of seed ${seed}: ${await shrink(sequence)}`)
  console.log(JSON.stringify({ next, requests, rows: runs.flatMap(({ rows }) => rows), unexplained } satisfies Batch))
}
// The timers of the sessions would keep it.
process.exit()
