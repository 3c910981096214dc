/** Orders about a candidate at a gateway that runs: what it replies, what the log says, and what a reload leaves. */
import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

const candidate = 'http://127.0.0.1:1'

/** Boots a gateway whose risk has a candidate that was asked nothing, and so is up. */
const boot = async (own: object) => {
  const settings = (more: object) => ({
    upstreams: { risk: { endpoints: ['sandbox'], candidate: { endpoints: [candidate], ...more } } },
  })
  const live = await bootLiveGateway(settings(own))
  const shift = (body: object, group = 'risk') =>
    fetchAdmin(`${live.admin}/shift`, 'POST', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ group, ...body }),
    })
  const status = async (): Promise<unknown> => {
    const { upstreams } = (await fetchAdmin(`${live.admin}/status`)).body as object as {
      readonly upstreams: Readonly<Record<string, { readonly candidate: { readonly shift: unknown } | null }>>
    }
    return upstreams.risk?.candidate?.shift
  }
  const reload = async (next: object): Promise<number> => {
    live.edit(next)
    return (await fetchAdmin(`${live.admin}/reload`, 'POST')).status
  }
  return { live, settings, shift, status, reload }
}

const asFile = {
  ...{ share: 0.05, cause: 'file', stopped: false, by: null, reason: null, since: expect.stringMatching(/Z$/) },
  ...{ until: null, afterwards: null, paused: null, step: null },
}

test('an order changes what the file says, for its time; the log says who, why, and until when', async () => {
  const { live, shift, status } = await boot({ share: '5%' })
  expect(await status()).toEqual(asFile)

  const { status: code, body } = await shift({ to: '25%', for: '2h', reason: 'CHG-4711' })

  const until = expect.stringMatching(/Z$/)
  expect(code).toBe(200)
  expect(body).toEqual({
    ...{ group: 'risk', order: '25%', by: '127.0.0.1', reason: 'CHG-4711' },
    shift: {
      ...asFile,
      ...{ share: 0.25, cause: 'operator', by: '127.0.0.1', reason: 'CHG-4711', until },
      afterwards: { share: 0.05, cause: 'file' },
    },
  })
  expect(await status()).toEqual(body.shift)
  expect(live.lines).toContainEqual(
    expect.objectContaining({
      ...{ msg: 'shift order', group: 'risk', order: '25%', by: '127.0.0.1', reason: 'CHG-4711' },
      ...{ share: '25%', cause: 'operator', until },
    }),
  )
})

test('steps stay where an operator has paused them, an abort ends them, and a resumption begins them anew', async () => {
  const { shift } = await boot({ steps: { shares: ['1%', '5%', '25%', '100%'], every: '15m' } })

  const paused = await shift({ pause: true, for: '3h' })
  const aborted = await shift({ abort: true })
  const resumed = await shift({ resume: true })

  expect(paused.body).toMatchObject({
    shift: {
      ...{ share: 0.01, cause: 'steps' },
      paused: { by: '127.0.0.1', reason: null, until: expect.stringMatching(/Z$/) },
      step: { reached: 1, of: 4, nextShare: 0.05, nextAt: null },
    },
  })
  expect(aborted.body).toMatchObject({
    order: 'abort',
    shift: { share: 0, cause: 'operator', stopped: true, by: '127.0.0.1', until: null },
  })
  expect(resumed.body).toMatchObject({ order: 'resume', by: '127.0.0.1', shift: { share: 0.01, cause: 'steps' } })
})

test('what has an end ends without a request: steps go on, and an order is over', async () => {
  const { live, shift, status } = await boot({ steps: { shares: ['1%', '5%', '100%'], every: '1s' } })
  await shift({ to: '10%', for: '1s' })

  await expect.poll(status).toMatchObject({ share: 1 })

  expect(await live.line(({ msg }) => msg === 'shift order ended')).toMatchObject({ group: 'risk', share: '10%' })
  expect(await live.line(({ msg }) => msg === 'shift step')).toMatchObject({
    ...{ group: 'risk', share: '100%', cause: 'steps', step: '3 of 3' },
  })
})

test('an order stays over edits of something else and edits that are rejected, and a stop over a rollback', async () => {
  const { live, settings, shift, status, reload } = await boot({ share: '5%' })
  await shift({ abort: true, reason: 'it lies' })

  const { risk } = settings({ share: '5%' }).upstreams
  expect(await reload({ upstreams: { risk, market: 'http://127.0.0.1:1' } })).toBe(200)
  expect(await status()).toMatchObject({ share: 0, stopped: true })
  expect(await reload(settings({ endpoints: [] }))).toBe(422)
  expect(await status()).toMatchObject({ share: 0, stopped: true })
  expect(await reload(settings({ share: '7%' }))).toBe(200)
  expect(await status()).toEqual({ ...asFile, share: 0.07 })
  expect((await fetchAdmin(`${live.admin}/rollback`, 'POST')).status).toBe(200)
  expect(await status()).toMatchObject({ share: 0, stopped: true, reason: 'it lies' })
})

test('what is no order for this file is rejected, and changes nothing', async () => {
  const { shift, status } = await boot({ share: '5%' })
  const one = 'one of to, pause, resume and abort is expected'

  for (const [body, code, detail, group] of [
    [{ to: '5%' }, 'bad-request', 'group is expected to be one of valuation', 'risks'],
    [{}, 'bad-request', one],
    [{ to: '5%', abort: true }, 'bad-request', one],
    [{ to: '101%' }, 'bad-request', 'to is expected to be 0%, or a percentage from 0.01% to 100%'],
    [{ to: '0.001%' }, 'bad-request', 'to is expected to be 0%'],
    [{ to: '5' }, 'bad-request', 'to is expected to be 0%'],
    [{ to: '5%', for: '25h' }, 'bad-request', 'for is expected to be a duration from 1s to 24h'],
    [{ abort: true, for: '1h' }, 'bad-request', 'abort has no end'],
    [{ to: '5%', reason: 'a\nb' }, 'bad-request', 'reason is expected to be text of at most 200'],
    [{ to: '5%' }, 'no-candidate', 'market has no candidate: write upstreams.market.candidate', 'market'],
    [{ pause: true }, 'no-steps', 'the file has no steps for it'],
    [{ resume: true }, 'nothing-to-resume', 'has what the file says already'],
  ] as const)
    expect(await shift(body, group)).toMatchObject({
      ...{ status: code === 'bad-request' ? 400 : 409 },
      body: { code, detail: expect.stringContaining(detail) },
    })

  expect(await status()).toEqual(asFile)
})
