import type { AddressInfo } from 'node:net'
import { now } from '../clock.ts'
import type { Trail } from '../observe/audit/trail.ts'
import type { Log } from '../observe/log.ts'
import { type TurnedAway, turnedAway } from '../public/crowd.ts'
import { makeTicketSecret } from '../public/tls/tickets.ts'
import type { Place } from '../shared/place.ts'
import type { State } from '../snapshot/build.ts'
import type { RunEverywhere } from '../snapshot/commands.ts'
import { Plane } from '../snapshot/plane.ts'
import { type NotServing, type Report, reportOn, type WorkerState } from '../snapshot/report.ts'
import { agree } from './agreement.ts'
import { Entrance } from './entrance.ts'
import { Muster } from './muster.ts'
import { type Patience, usualPatience } from './patience.ts'
import { type Notice, type PlainState, plain } from './protocol.ts'
import { Gone } from './questions.ts'
import type { Prepared, Serving } from './serving.ts'
import { shareOf } from './share.ts'
import { Survey } from './survey.ts'
import type { WorkerProcess } from './worker-process.ts'

// What was accepted before is handed over within that, unless every worker hangs.
const handOverMs = 1000

// After its deadline a worker has nothing left to do but to exit.
const exitMs = 1000

export interface CrewOptions {
  /** How many. */
  readonly size: number
  /** The state to begin with; its bounds are of the whole gateway. */
  readonly first: State
  readonly place: Place
  /** The gateway's name in `Via`: one for all of them, or a loop through two would go round once more. */
  readonly pseudonym: string
  readonly log: Log
  /** Writes the audit log, for all of them. */
  readonly trail: Pick<Trail, 'failing' | 'onChange' | 'take'>
  /** Takes whole lines that workers wrote. */
  passOn(lines: Buffer): void
  readonly patience: Patience | undefined
}

/** Has several processes serve clients. Rejects when one of them cannot, or when nobody can listen there; none is left then. */
export const openCrew = async (options: CrewOptions): Promise<Serving> => {
  const crew = new Crew(options)
  try {
    await crew.open(options.place)
    return crew
  } catch (error) {
    await crew.close(0)
    throw error
  }
}

/** Is a primary and its workers: they serve, and it accepts, probes, supervises and sees that all run the same. */
class Crew implements Serving {
  readonly #size: number
  readonly #patience: Patience
  readonly #plane: Plane
  readonly #entrance: Entrance
  readonly #tooMany: TurnedAway
  readonly #tooManyOfOne: TurnedAway
  readonly #muster: Muster
  readonly #survey: Survey
  /** What is in effect, divided among the workers; a copy, because what operators say takes effect only when all have agreed. */
  #state: PlainState
  #address: AddressInfo | null = null
  #draining = false

  constructor({ size, first, pseudonym, log, trail, passOn, patience = usualPatience }: CrewOptions) {
    const ticketSecret = makeTicketSecret()
    this.#size = size
    this.#patience = patience
    const state = this.#divided(first)
    this.#state = plain(state)
    this.#plane = new Plane(state, {
      tell: (level, event, fields) => log[level](fields, event),
      onVerdict: (verdict) => this.#tell({ type: 'verdict', verdict }),
      part: { is: 'primary' },
      process: 'primary',
    })
    const { turnedAway: counts } = this.#plane.live.current.pressure
    this.#tooMany = turnedAway(log, 'maxConnections', counts)
    this.#tooManyOfOne = turnedAway(log, 'maxConnectionsPerAddress', counts)
    this.#entrance = new Entrance({ tooMany: this.#tooMany, tooManyOfOne: this.#tooManyOfOne }, patience.takeMs)
    this.#entrance.bound(first.config.listen)
    this.#muster = new Muster({
      size,
      startMs: patience.startMs,
      hangMs: patience.hangMs,
      dispatcher: this.#entrance.dispatcher,
      guests: this.#entrance.guests,
      log,
      passOn,
      start: () => ({
        type: 'start',
        workers: size,
        countMs: patience.countMs,
        state: this.#state,
        verdicts: this.#plane.verdicts,
        pseudonym,
        ticketSecret,
        draining: this.#draining,
        auditFailing: trail.failing,
      }),
      takeAll: (limit, keys) => this.#plane.takeAll(limit, keys),
      audited: (lines, lost) => trail.take(lines, lost),
      invalidated: (targets, by) => this.#tell({ type: 'invalid', targets }, by),
      ended: (worker) => this.#survey.ended(worker),
    })
    trail.onChange = (failing) => this.#tell({ type: 'audit', failing })
    this.#survey = new Survey(this.#muster.posts, patience.reportMs)
  }

  async open(place: Place): Promise<void> {
    // A port in use is told at once. In a socket of systemd's clients wait until workers serve, those too who came before this process.
    if ('host' in place) this.#address = await this.#entrance.open(place)
    await this.#muster.begin()
    this.#address ??= await this.#entrance.open(place)
  }

  get address(): AddressInfo {
    if (this.#address === null) throw new Error('nobody listens yet')
    return this.#address
  }

  notServing(): NotServing | null {
    if (!this.#entrance.isListening) return 'not-listening'
    return this.#entrance.dispatcher.isServed ? null : 'no-worker'
  }

  async prepare(next: State): Promise<Prepared> {
    const divided = this.#divided(next)
    const state = plain(divided)
    const here = this.#plane.build(divided)
    const agreed = await agree(this.#muster.posts, state, this.#patience).catch(async (error) => {
      await here.retire()
      throw error
    })
    return {
      commit: async () => {
        this.#state = state
        this.#plane.live.swap(here)
        this.#entrance.bound(next.config.listen)
        await agreed.commit(this.#plane.verdicts)
      },
      discard: async () => {
        agreed.discard()
        await here.retire()
      },
    }
  }

  report(): Promise<Report> {
    return this.#survey.report(() => reportOn(this.#plane.live))
  }

  workers(): readonly WorkerState[] {
    return this.#survey.workers(this.#draining)
  }

  droppedLines(): number {
    return this.#survey.droppedLines
  }

  readonly command: RunEverywhere = async (name, what) => {
    const asked = this.#muster.posts.flatMap(({ worker, isServing }) => (isServing && worker !== null ? [worker] : []))
    const ended = await Promise.allSettled(asked.map((worker) => worker.command(name, what, this.#patience.answerMs)))
    return {
      results: ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])),
      unanswered: ended.filter((each) => each.status === 'rejected' && !(each.reason instanceof Gone)).length,
    }
  }

  drain(): void {
    this.#draining = true
    this.#tell({ type: 'drain' })
  }

  leave(): void {
    this.#entrance.leave()
  }

  async close(deadlineMs: number): Promise<void> {
    const startedAt = now()
    this.drain()
    this.#entrance.leave()
    await this.#entrance.emptied(Math.min(handOverMs, deadlineMs))
    await this.#muster.end(Math.max(0, deadlineMs - (now() - startedAt)), exitMs)
    await this.#plane.close(0)
    this.#tooMany.close()
    this.#tooManyOfOne.close()
  }

  #tell(message: Notice, except: WorkerProcess | null = null): void {
    for (const { worker } of this.#muster.posts) if (worker !== except) worker?.send(message)
  }

  #divided(state: State): State {
    return { ...state, config: shareOf(state.config, this.#size) }
  }
}
