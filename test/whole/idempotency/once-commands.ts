/** Two gateways with one store: commands in any order, and the invariants after each. */
import fc from 'fast-check'
import { expect, vi } from 'vitest'
import { type Outcome, outcomes, type SentResponse } from '../../features/idempotency/scripted-upstream.ts'
import { type Got, nameOf, type Sent, type StoreFault, ttlMs, type Wanted, World } from './two-gateways.ts'

/** What is known to be done, and has to be replayed. */
interface Model {
  readonly done: Map<string, { readonly nth: string; readonly body: string; readonly at: number }>
}

type Command = fc.AsyncCommand<Model, World, true>

const command = (name: string, run: (world: World, model: Model) => void | Promise<void>): Command => ({
  check: () => Promise.resolve(true),
  run: async (model, world) => {
    await run(world, model)
    await turn()
    observe(model, world)
  },
  toString: () => name,
})

/** Lets everything happen that waits for nothing. */
export const turn = async (): Promise<void> => {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

export const advance = async (ms: number): Promise<void> => {
  for (let left = ms; left > 0; left -= 500) {
    vi.advanceTimersByTime(Math.min(left, 500))
    await turn()
  }
}

const pick = <T>(list: readonly T[], nth: number): T | undefined => list[nth % list.length]

const gateways = fc.nat({ max: 1 })
const picks = fc.nat({ max: 3 })

const wanted: fc.Arbitrary<Wanted> = fc.record({
  client: fc.constantFrom('192.0.2.1', '192.0.2.1', '192.0.2.2'),
  operation: fc.constantFrom('valuation.score', 'valuation.score', 'inventory.sync'),
  key: fc.constantFrom('a', 'a', 'a', 'b'),
  body: fc.constantFrom('x', 'x', 'x', 'y'),
  size: fc.constantFrom('small', 'small', 'small', 'small', 'long', 'endless'),
})

const send = fc.tuple(gateways, wanted).map(([nth, each]) =>
  command(`send ${nth} ${Object.values(each).join(' ')}`, (world) => {
    world.send(world.gateways[nth] as World['gateways'][number], each)
  }),
)

// The same once more: a repetition is the subject.
const repeat = fc.tuple(gateways, picks).map(([nth, which]) =>
  command(`repeat ${nth} ${which}`, (world) => {
    const before = pick(world.sent.toReversed(), which)
    if (before !== undefined) world.send(world.gateways[nth] as World['gateways'][number], before.wanted)
  }),
)

const end = fc
  .tuple(picks, fc.oneof(fc.constant<Outcome>('ok'), fc.constantFrom<Outcome>(...outcomes)))
  .map(([which, outcome]) =>
    command(`upstream ${which} ${outcome}`, (world) => pick(world.upstream.pending, which)?.end(outcome)),
  )

const leave = picks.map((which) =>
  command(`leave ${which}`, (world) => {
    const waiting = world.sent.filter(({ got }) => got === null)
    const leaving = pick(waiting, which)
    if (leaving !== undefined) void world.leave(leaving)
  }),
)

const fault = fc
  .tuple(gateways, fc.constantFrom<StoreFault>('unsent', 'lost', 'late', 'slow'))
  .map(([nth, each]) => command(`store ${nth} ${each}`, (world) => void world.gateways[nth]?.faults.push(each)))

const stop = fc.tuple(gateways, fc.constantFrom(0, 20_000)).map(([nth, ms]) =>
  command(`stop ${nth} ${ms}`, (world) => {
    world.disturb()
    world.gateways[nth]?.stop()
    return advance(ms)
  }),
)

const resume = gateways.map((nth) => command(`resume ${nth}`, (world) => world.gateways[nth]?.resume()))

const wait = fc.constantFrom(50, 2000, 16_000, 0.6 * ttlMs).map((ms) => command(`wait ${ms}`, () => advance(ms)))

// As often as it stands here.
const once = [leave, fault, stop, resume, wait]
const commands = [...once, ...once, ...Array(5).fill(send), ...Array(8).fill(repeat), ...Array(8).fill(end)]

/** Checks what has happened so far, and notes what is now done. */
const observe = (model: Model, world: World): void => {
  checkOnce(world)
  for (const each of world.sent) {
    if (each.got === null || checked.has(each)) continue
    checked.add(each)
    checkResponse(model, world, each, each.got)
  }
}

const checked = new WeakSet<Sent>()

/** Nothing is processed twice within `ttl`. */
const checkOnce = ({ upstream }: World): void => {
  const last = new Map<string, number>()
  for (const { name, startedAt, isProcessed } of upstream.sendings) {
    if (!isProcessed) continue
    const before = last.get(name)
    if (before !== undefined && startedAt - before < ttlMs)
      throw new Error(`${name} was processed twice within ${startedAt - before} ms`)
    last.set(name, startedAt)
  }
}

/** A response is the upstream's, byte for byte, and of this request. A processed request is replayed. */
const checkResponse = (model: Model, world: World, sent: Sent, got: Got): void => {
  const { client, operation, key, body } = sent.wanted
  const name = nameOf(client, operation, key)
  const done = model.done.get(name)
  const mayRely = done !== undefined && done.at < sent.startedAt && sent.endedAt < done.at + ttlMs
  if ('failure' in got) {
    if (!mayRely || sent.isDisturbed || got.failure === 'client-gone' || sent.wanted.size === 'endless') return
    expect(got.failure, `${sent.requestId}, after it was done`).toBe(
      done.body === bodyKey(sent.wanted) ? 'replayed' : 'idempotency-key-reused',
    )
    return
  }
  const nth = got.fields[got.fields.indexOf('X-Nth') + 1] as string
  const origin = world.upstream.responses.get(nth) as SentResponse
  const isReplayed = got.fields.includes('Idempotency-Replayed')
  expect(origin.name).toBe(name)
  expect(got.status).toBe(origin.status)
  expect(got.text).toBe(origin.text)
  if (!isReplayed) {
    expect(origin.requestId).toBe(sent.requestId)
    expect(got.fields).toEqual(origin.fields)
  } else {
    const kept = origin.fields.filter((_, i) => origin.fields[i - (i % 2)] !== 'Set-Cookie')
    expect(got.fields).toEqual([...kept, 'Idempotency-Replayed', 'true'])
    const first = world.sent.find(({ requestId }) => requestId === origin.requestId)
    expect(first && bodyKey(first.wanted)).toBe(bodyKey(sent.wanted))
  }
  if (mayRely) expect(nth, 'the response that was the first').toBe(done.nth)
  const isKept = origin.status < 500 && ![401, 403, 408, 409, 425, 429].includes(origin.status)
  if (isKept && got.text.length <= 1024 && !isReplayed && !sent.isDisturbed)
    model.done.set(name, { nth, body: bodyKey({ ...sent.wanted, body }), at: sent.endedAt })
}

const bodyKey = ({ body, size }: Wanted): string => `${body} ${size}`

/** Ends everything, and checks that nothing stays behind. */
const finish = async (model: Model, world: World): Promise<void> => {
  for (const gateway of world.gateways) {
    gateway.faults.length = 0
    gateway.resume()
  }
  await turn()
  for (const sent of world.sent) if (sent.got === null) void world.leave(sent)
  await advance(20_000)
  for (const each of world.upstream.pending) each.end('reset after processing')
  await advance(20_000)
  observe(model, world)
  expect(world.sent.filter(({ got }) => got === null).map(({ requestId }) => requestId)).toEqual([])
  expect(world.gateways.map(({ room }) => room.used)).toEqual([0, 0])
  expect(world.memory.state().inProgress).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
}

/** Runs so many random interleavings. What fails is printed with its seed, and made as short as it can be. */
export const checkInterleavings = (numRuns: number, seed?: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (list) => {
      const world = new World()
      const model: Model = { done: new Map() }
      await fc.asyncModelRun(() => ({ model, real: world }), list)
      await finish(model, world)
    }),
    { numRuns, ...(seed !== undefined && { seed }) },
  )
