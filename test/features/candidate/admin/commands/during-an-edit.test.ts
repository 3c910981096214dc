/** Commands that come while something else is being put into effect: what they say is what is in effect afterwards. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { Principal, setPrincipal } from '../../../../../src/core/admin/access/principal.ts'
import type { AdminContext } from '../../../../../src/core/admin/admin-context.ts'
import { CommandHistory } from '../../../../../src/core/admin/admin-context.ts'
import type { AdminError } from '../../../../../src/core/admin/admin-error.ts'
import { findClients } from '../../../../../src/core/admin/admin-parts.ts'
import { registerCommands } from '../../../../../src/core/admin/commands/routes.ts'
import type { Config } from '../../../../../src/core/config/config.ts'
import type { LoadedConfig } from '../../../../../src/core/config/load/load.ts'
import { Overrides } from '../../../../../src/core/runtime/overrides.ts'
import { WorkersNotReplyingError } from '../../../../../src/core/runtime/proxy-server.ts'
import { Reloader } from '../../../../../src/core/runtime/reload/reloader.ts'
import { listShiftPlans } from '../../../../../src/features/candidate/shift/shift-record.ts'
import { Shifts, type ShiftsView } from '../../../../../src/features/candidate/shift/shifts.ts'
import { parse } from '../../../../core/config/helper.ts'
import { configText, logInMemory, type Settings } from '../../../../helpers/gateway.ts'

const [one, two, next] = ['http://one.internal', 'http://two.internal', 'http://next.internal']

const load = (settings: Settings): LoadedConfig => {
  const result = parse(configText(settings))
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

/** The settings of a gateway whose market has these endpoints, and a candidate with a share. */
const market = (share: string, endpoints = [one, two], more: Settings = {}): Settings => ({
  upstreams: { market: { endpoints, candidate: { endpoints: [next], share } } },
  ...more,
})

interface InEffect {
  readonly config: Config
  readonly operations: readonly string[]
  readonly shifts: Pick<ShiftsView, 'get'>
}

/**
 * Opens the commands of a gateway whose processes take something up when they are told to: they have read all that it
 * says before that.
 */
const open = (before: Settings, edited: Settings = before) => {
  const own: { rejection: AdminError | null } = { rejection: null }
  const shifts = new Shifts()
  const overrides = new Overrides()
  onTestFinished(() => {
    overrides.clear()
    shifts.clear()
  })
  const waiting: PromiseWithResolvers<void>[] = []
  let isHolding = true
  let inEffect: InEffect | null = null
  /** What tells each question to the processes that it is to hurry. */
  const asked: (Promise<void> | undefined)[] = []
  const apply = async (config: Config): Promise<void> => {
    const prepared = shifts.prepare(listShiftPlans(config))
    const operations = overrides.operations.all.map(([id, { state }]) => `${id} ${state}`)
    const taken = Promise.withResolvers<void>()
    if (isHolding) waiting.push(taken)
    else taken.resolve()
    await taken.promise
    prepared.commit()
    inEffect = { config, operations, shifts: prepared.view }
  }
  /** Lets everything go as far as it can; returns what the processes have been told and not taken up. */
  const settle = async (): Promise<number> => {
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    return waiting.length
  }
  const initial = load(before)
  const reloader = new Reloader({
    ...{ file: 'gateway.yaml', initial, apply, onOutcome: () => {} },
    load: async () => load(edited),
    preflight: async () => [],
  })
  shifts.prepare(listShiftPlans(initial.config)).commit()
  const up = (url: string) => ({ url, inFlight: 0, state: { name: 'up', since: null, reason: null } })
  const reportMarket = () => ({
    endpoints: reloader.config.upstreams.market.endpoints.map(({ origin }) => up(origin)),
    candidate: { endpoints: [up(next)] },
  })
  const context = {
    ...{ reloader, overrides, findClients, parts: { audit: { state: null }, candidate: { shifts } } },
    recordAdminEvent: () => {},
    commandHistory: new CommandHistory(),
    draining: () => false,
    report: async (urgent?: Promise<void>) => {
      asked.push(urgent)
      return { upstreams: { market: reportMarket() } }
    },
    runEverywhere: async (_name: string, _params: object, urgent?: Promise<void>) => {
      asked.push(urgent)
      return { results: [], silent: 0 }
    },
  } as unknown as AdminContext
  const app = fastify()
  onTestFinished(() => app.close())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body))
  app.addHook('onRequest', async ({ raw }) => setPrincipal(raw, new Principal(null, null, 60_000)))
  registerCommands(app, context, logInMemory().log, () => own.rejection)
  const post = async (url: string, body: object) => {
    const response = await app.inject({ method: 'POST', url, body: JSON.stringify(body) })
    return { status: response.statusCode, body: response.json() }
  }
  return {
    ...{ overrides, reloader, post, asked, settle },
    shift: (order: object) => post('/shift', { group: 'market', ...order }),
    inEffect: () => inEffect,
    /** Lets the operator of each command send no more commands. */
    removeOperator: (because: AdminError) => Object.assign(own, { rejection: because }),
    /** Lets the processes take up the oldest of what they have been told, or fail to. */
    async takeUp(failure: Error | null = null) {
      await settle()
      const oldest = waiting.shift()
      if (failure === null) oldest?.resolve()
      else oldest?.reject(failure)
    },
    /** Lets the processes take up at once all that they have been told, and are told from now on. */
    release() {
      isHolding = false
      for (const each of waiting.splice(0)) each.resolve()
    },
  }
}

/** Sends a command while an edit is being put into effect; returns the response, and what is in effect then. */
const during = async (gateway: ReturnType<typeof open>, command: () => ReturnType<ReturnType<typeof open>['post']>) => {
  const reloading = gateway.reloader.reload('file')
  expect(await gateway.settle()).toBe(1)
  const commanded = command()
  await gateway.settle()
  gateway.release()
  expect((await reloading).result).toBe('applied')
  return { ...(await commanded), inEffect: gateway.inEffect() }
}

test('an abort stops the candidate of an edit that is being put into effect', async () => {
  const gateway = open(market('5%'), market('50%'))
  const { status, body, inEffect } = await during(gateway, () => gateway.shift({ abort: true }))

  expect([status, body.shift]).toMatchObject([200, { share: 0, stopped: true }])
  expect(inEffect?.shifts.get('market')).toMatchObject({ share: 0, isStopped: true })
  expect(inEffect?.config.upstreams.market.candidate?.share).toBe(0.5)
})

test('a command for a candidate or an endpoint that an edit in progress removes is rejected', async () => {
  const promoted = open(market('5%'), { upstreams: { market: { endpoints: [one, two] } } })
  const other = open(market('5%'), market('5%', [one]))

  const aborted = await during(promoted, () => promoted.shift({ abort: true }))
  const drained = await during(other, () => other.post('/endpoints/drain', { group: 'market', url: one }))

  expect(aborted).toMatchObject({ status: 409, body: { code: 'no-candidate' } })
  expect(drained).toMatchObject({ status: 409, body: { code: 'last-endpoint' } })
  expect(other.overrides.endpoints.all).toEqual([])
})

test('operation serve during an edit overrides the state: reject of that edit', async () => {
  const rejected = { operations: { 'market.insights': { state: 'reject' } } }
  const gateway = open(market('5%'), market('5%', [one, two], rejected))
  const serve = () => gateway.post('/operations/serve', { operation: 'market.insights' })
  const { status, body, inEffect } = await during(gateway, serve)

  expect([status, body.until]).toEqual([200, expect.stringMatching(/Z$/)])
  expect(inEffect?.operations).toEqual(['market.insights serve'])
})

test('a command whose operator an edit removes is rejected once the edit is in effect', async () => {
  const gateway = open(market('5%'), market('50%'))
  const reloading = gateway.reloader.reload('file')
  await gateway.settle()
  const commanded = gateway.post('/operations/reject', { operation: 'market.insights' })
  await gateway.settle()

  gateway.removeOperator({ status: 401, code: 'unauthenticated', detail: 'planted' })
  gateway.release()
  await reloading

  expect(await commanded).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
  expect(gateway.overrides.operations.all).toEqual([])
})

test('a rejected command is in effect in no worker, although another change was put into effect before it', async () => {
  const gateway = open(market('5%'))
  const others = [gateway.reloader.reapply(), gateway.reloader.reapply()]
  const commanded = gateway.post('/operations/reject', { operation: 'market.insights' })

  for (const failure of [null, null, new WorkersNotReplyingError('worker 2 did not reply within 10s')])
    await gateway.takeUp(failure)
  const { status, body } = await commanded
  await Promise.all(others)

  expect([[status, body.code], gateway.inEffect()?.operations]).toEqual([[503, 'workers-not-replying'], []])
  expect(gateway.overrides.operations.all).toEqual([])
})

test('a takeback does not wait for the full timeout of an earlier command', async () => {
  const gateway = open(market('5%'))
  const commanded = gateway.post('/endpoints/ready', { group: 'market', url: one })
  await gateway.settle()
  let hurried = 0
  for (const urgent of gateway.asked) void urgent?.then(() => void hurried++)
  await gateway.settle()
  const before = hurried

  const takenBack = gateway.reloader.reapply(true)
  await gateway.settle()
  gateway.release()
  await Promise.all([commanded, takenBack])

  expect([gateway.asked.length, before, hurried]).toEqual([2, 0, 2])
})
