import { describe, expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const steps = { shares: ['1%', '5%', '25%', '100%'], every: '15m' }

/** Boots a gateway whose risk has a candidate that is up. */
const boot = async (own: object = {}) => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const upstreams = { risk: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], ...own } } }
  const live = await bootLiveGateway({ upstreams })
  return { live, upstreams, candidate }
}

const shift = ({ admin }: LiveGateway, body: unknown) =>
  fetchAdmin(`${admin}/shift`, 'POST', {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })

const shiftStatus = async ({ admin }: LiveGateway): Promise<unknown> => {
  const { upstreams } = (await fetchAdmin(`${admin}/status`)).body as object as {
    readonly upstreams: Readonly<Record<string, { readonly candidate: { readonly shift: unknown } | null }>>
  }
  return upstreams.risk?.candidate?.shift
}

const reload = ({ admin }: LiveGateway, query = '') => fetchAdmin(`${admin}/reload${query}`, 'POST')

const asFile = {
  ...{ share: 0.05, cause: 'file', stopped: false, by: null, reason: null, since: expect.stringMatching(/Z$/) },
  ...{ until: null, afterwards: null, paused: null, step: null },
}

describe('a candidate', () => {
  test('has what the file says, in /status', async () => {
    const { live } = await boot({ share: '5%' })

    expect(await shiftStatus(live)).toEqual(asFile)
  })

  test('gets the share that an operator orders, for its time; the log says who, why, and until when', async () => {
    const { live } = await boot({ share: '5%' })

    const { status, body } = await shift(live, { group: 'risk', to: '25%', for: '2h', reason: 'CHG-4711' })

    const until = expect.stringMatching(/Z$/)
    expect(status).toBe(200)
    expect(body).toEqual({
      ...{ group: 'risk', order: '25%', by: '127.0.0.1', reason: 'CHG-4711' },
      shift: {
        ...asFile,
        ...{ share: 0.25, cause: 'operator', by: '127.0.0.1', reason: 'CHG-4711', until },
        afterwards: { share: 0.05, cause: 'file' },
      },
    })
    expect(await shiftStatus(live)).toEqual(body.shift)
    expect(live.lines).toContainEqual(
      expect.objectContaining({
        ...{ msg: 'shift order', group: 'risk', order: '25%', by: '127.0.0.1', reason: 'CHG-4711' },
        ...{ share: '25%', cause: 'operator', until },
      }),
    )
  })

  test('has what the file says again when the time of an order is over, without a request', async () => {
    const { live } = await boot({ share: '5%' })
    await shift(live, { group: 'risk', to: '25%', for: '1s' })

    await expect.poll(() => shiftStatus(live)).toMatchObject({ share: 0.05 })

    expect(await live.line(({ msg }) => msg === 'shift order ended')).toMatchObject({
      ...{ group: 'risk', share: '5%', cause: 'file' },
    })
  })

  test('gets nothing after an abort, until an operator resumes', async () => {
    const { live } = await boot({ share: '5%' })

    const aborted = await shift(live, { group: 'risk', abort: true })
    const resumed = await shift(live, { group: 'risk', resume: true })

    expect(aborted.body).toMatchObject({
      order: 'abort',
      shift: { share: 0, cause: 'operator', stopped: true, by: '127.0.0.1', until: null },
    })
    expect(resumed.body).toMatchObject({ order: 'resume', by: '127.0.0.1', shift: asFile })
  })

  test('keeps its step while an operator has paused the steps', async () => {
    const { live } = await boot({ steps })

    const { body } = await shift(live, { group: 'risk', pause: true, for: '3h' })

    expect(body).toMatchObject({
      shift: {
        ...{ share: 0.01, cause: 'steps' },
        paused: { by: '127.0.0.1', reason: null, until: expect.stringMatching(/Z$/) },
        step: { reached: 1, of: 4, nextShare: 0.05, nextAt: null },
      },
    })
  })

  test('goes from step to step by itself, and the log says so', async () => {
    const { live } = await boot({ steps: { shares: ['1%', '100%'], every: '1s' } })

    await expect.poll(() => shiftStatus(live), { timeout: 30_000 }).toMatchObject({ share: 1 })

    expect(await live.line(({ msg }) => msg === 'shift step')).toMatchObject({
      ...{ group: 'risk', share: '100%', cause: 'steps', step: '2 of 2' },
    })
  })
})

describe('an order stays', () => {
  test('over a reload that leaves the candidate as it is', async () => {
    const { live, upstreams } = await boot({ share: '5%' })
    await shift(live, { group: 'risk', to: '25%' })

    live.edit({ upstreams: { ...upstreams, market: 'http://127.0.0.1:1' } })
    const { status } = await reload(live, '?force')

    expect(status).toBe(200)
    expect(await shiftStatus(live)).toMatchObject({ share: 0.25 })
  })

  test('when the edit of its candidate is rejected', async () => {
    const { live, upstreams } = await boot({ share: '5%' })
    await shift(live, { group: 'risk', abort: true })

    live.edit({ upstreams: { risk: { ...upstreams.risk, candidate: { endpoints: [] } } } })
    const { status } = await reload(live)

    expect(status).not.toBe(200)
    expect(await shiftStatus(live)).toMatchObject({ share: 0, stopped: true })
  })

  test('not over an edit of its candidate, and not when the candidate is gone for a while', async () => {
    const { live, upstreams, candidate } = await boot({ share: '5%' })
    await shift(live, { group: 'risk', to: '25%' })

    live.edit({ upstreams: { risk: { ...upstreams.risk, candidate: { endpoints: [candidate.url], share: '7%' } } } })
    await reload(live)
    const edited = await shiftStatus(live)
    await shift(live, { group: 'risk', to: '25%' })
    live.edit({ upstreams: { risk: { endpoints: upstreams.risk.endpoints } } })
    await reload(live)
    const gone = await shiftStatus(live)
    live.edit({ upstreams })
    await reload(live)

    expect([edited, gone]).toEqual([{ ...asFile, share: 0.07 }, undefined])
    expect(await shiftStatus(live)).toEqual(asFile)
  })

  test('that stopped a candidate when a rollback brings it back', async () => {
    const { live, upstreams, candidate } = await boot({ share: '5%' })
    await shift(live, { group: 'risk', abort: true, reason: 'it lies' })
    live.edit({ upstreams: { risk: { ...upstreams.risk, candidate: { endpoints: [candidate.url], share: '7%' } } } })
    await reload(live)

    const { status } = await fetchAdmin(`${live.admin}/rollback`, 'POST')

    expect(status).toBe(200)
    expect(await shiftStatus(live)).toMatchObject({ share: 0, stopped: true, reason: 'it lies' })
  })
})

describe('the step that was reached stays', () => {
  const bootAtStep2 = async () => {
    const booted = await boot({ steps })
    await shift(booted.live, { group: 'risk', to: '5%', for: '1s' })
    await expect
      .poll(() => shiftStatus(booted.live), { timeout: 30_000 })
      .toMatchObject({ cause: 'steps', step: { reached: 2 } })
    return { ...booted, reached: await shiftStatus(booted.live) }
  }

  test('over a reload of something else, and over its rollback', async () => {
    const { live, upstreams, reached } = await bootAtStep2()

    live.edit({ upstreams: { ...upstreams, market: 'http://127.0.0.1:1' } })
    await reload(live, '?force')
    const reloaded = await shiftStatus(live)
    const { status } = await fetchAdmin(`${live.admin}/rollback`, 'POST')

    expect(status).toBe(200)
    expect(reloaded).toEqual(reached)
    expect(await shiftStatus(live)).toEqual(reached)
  })

  test('not over an edit of the steps: another plan begins at its first', async () => {
    const { live, upstreams, candidate } = await bootAtStep2()

    const others = { ...steps, every: '20m' }
    live.edit({ upstreams: { risk: { ...upstreams.risk, candidate: { endpoints: [candidate.url], steps: others } } } })
    await reload(live)

    expect(await shiftStatus(live)).toMatchObject({ share: 0.01, step: { reached: 1 } })
  })
})

describe('an order is rejected', () => {
  test.each([
    [{ group: 'risks', to: '5%' }, 400, 'bad-request', 'group is expected to be one of valuation'],
    [{ group: 'risk' }, 400, 'bad-request', 'one of to, pause, resume and abort is expected'],
    [{ group: 'risk', to: '5%', abort: true }, 400, 'bad-request', 'one of to, pause, resume and abort is expected'],
    [{ group: 'risk', to: '101%' }, 400, 'bad-request', 'to is expected to be 0%, or a percentage from 0.01% to 100%'],
    [{ group: 'risk', to: '0.001%' }, 400, 'bad-request', 'to is expected to be 0%'],
    [{ group: 'risk', to: '5' }, 400, 'bad-request', 'to is expected to be 0%'],
    [{ group: 'risk', to: '5%', for: '25h' }, 400, 'bad-request', 'for is expected to be a duration from 1s to 24h'],
    [{ group: 'risk', abort: true, for: '1h' }, 400, 'bad-request', 'abort has no end'],
    [{ group: 'risk', to: '5%', reason: 'a\nb' }, 400, 'bad-request', 'reason is expected to be text of at most 200'],
    [{ group: 'market', to: '5%' }, 409, 'no-candidate', 'market has no candidate: write upstreams.market.candidate'],
    [{ group: 'risk', pause: true }, 409, 'no-steps', 'the file has no steps for it'],
    [{ group: 'risk', resume: true }, 409, 'nothing-to-resume', 'has what the file says already'],
  ])('%j: %i %s', async (body, status, code, detail) => {
    const { live } = await boot({ share: '5%' })

    const rejected = await shift(live, body)

    expect(rejected).toMatchObject({ status, body: { code, detail: expect.stringContaining(detail) } })
    expect(await shiftStatus(live)).toEqual(asFile)
  })

  test('when no endpoint of the candidate is up, unless it is forced', async () => {
    const { live, upstreams } = await boot()
    live.edit({
      upstreams: {
        risk: {
          ...upstreams.risk,
          candidate: { endpoints: ['http://127.0.0.1:1'], healthCheck: { path: '/', interval: '100ms' } },
        },
      },
    })
    await reload(live, '?force')
    const to = (more: object) => shift(live, { group: 'risk', to: '5%', ...more })

    await expect
      .poll(() => fetchAdmin(`${live.admin}/status`), { timeout: 20_000 })
      .toMatchObject({ body: { upstreams: { risk: { candidate: { endpoints: [{ state: 'down' }] } } } } })

    expect(await to({})).toMatchObject({
      status: 409,
      body: { code: 'candidate-down', detail: expect.stringContaining('http://127.0.0.1:1 is down') },
    })
    expect(await to({ force: true })).toMatchObject({ status: 200, body: { shift: { share: 0.05 } } })
    expect((await shift(live, { group: 'risk', to: '0%' })).status).toBe(200)
    expect((await shift(live, { group: 'risk', abort: true })).status).toBe(200)
  })
})

test('of two orders at once, both are carried out, one after the other', async () => {
  const { live } = await boot({ share: '5%' })

  const replies = await Promise.all(['10%', '20%'].map((to) => shift(live, { group: 'risk', to })))

  expect(replies.map(({ status }) => status)).toEqual([200, 200])
  expect(await shiftStatus(live)).toMatchObject({ share: 0.2 })
})
