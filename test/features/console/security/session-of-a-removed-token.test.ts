import { describe, expect, test } from 'vitest'
import { adminTokens, bearerOf, tokenEntry, tokenOf } from '../../../helpers/admin-tokens.ts'
import { hiddenFields, logIn, submitForm, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, type LiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: an operator has left, and the token is removed from the file, or its scope is lowered. The page that is
// still open in a browser goes on to read, or to give orders.
const others = adminTokens.filter(({ name }) => name !== 'oncall-anna')

const reload = ({ gateway }: LiveGateway) => gateway.reload('signal')

/** Opens the stream of a page; `ended` resolves to its text when the gateway ends it. */
const openStream = async (admin: string, headers: Record<string, string>) => {
  const { status, body } = await fetch(`${admin}/events`, { headers })
  let text = ''
  const readToEnd = async (): Promise<string> => {
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece
    return text
  }
  return { status, countTicks: () => text.split('event: tick').length - 1, ended: readToEnd() }
}

describe.each([
  ['is removed', others],
  ['has a lower scope', [...others, tokenEntry('oncall-anna', tokenOf.operate, 'read')]],
  ['is another operator’s', [...others, tokenEntry('oncall-bert', tokenOf.operate, 'operate')]],
])('when a token %s', (_, tokens) => {
  test('its session ends, and the stream of its page within a second', async () => {
    const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
    const session = await logIn(live.admin, tokenOf.operate)
    const stream = await openStream(live.admin, session)
    live.edit({ admin: { tokens } })

    await reload(live)
    const ticksBefore = stream.countTicks()
    const status = (await visitPage(`${live.admin}/status`, session)).status
    const text = await stream.ended
    const ticks = stream.countTicks() - ticksBefore

    expect([stream.status, status]).toEqual([200, 401])
    expect(text).toMatch(/event: end\ndata: session\n\n$/)
    expect(ticks).toBeLessThanOrEqual(1) // there is one a second, and one may have been on its way
  })

  test('it does not come back with the old token', async () => {
    const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
    const session = await logIn(live.admin, tokenOf.operate)

    for (const each of [tokens, adminTokens]) {
      live.edit({ admin: { tokens: each } })
      await reload(live)
    }

    expect((await visitPage(`${live.admin}/status`, session)).status).toBe(401)
  })

  test('the sessions of other operators go on', async () => {
    const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
    const session = await logIn(live.admin, tokenOf.read)
    live.edit({ admin: { tokens } })

    await reload(live)

    expect((await visitPage(`${live.admin}/status`, session)).status).toBe(200)
  })
})

test('a stream that a script opened ends with its token', async () => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const stream = await openStream(live.admin, bearerOf('operate'))
  live.edit({ admin: { tokens: others } })

  await reload(live)

  expect(await stream.ended).toMatch(/event: end\ndata: session\n\n$/)
})

test('a form that was made before is worth nothing afterwards', async () => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const session = await logIn(live.admin, tokenOf.operate)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/refuse?operation=market.insights`, session))
  live.edit({ admin: { tokens: others } })
  await reload(live)

  const { status } = await submitForm(`${live.admin}/actions/refuse`, form, session)

  expect(status).toBe(401)
  expect(live.lines.filter(({ msg }) => msg === 'operation override')).toEqual([])
})

test('a token is replaced without an interruption: both are good while both stand in the file', async () => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const session = await logIn(live.admin, tokenOf.operate)
  const next = tokenEntry('oncall-anna', 'the-next-token-of-anna', 'operate')

  live.edit({ admin: { tokens: [...adminTokens, next] } })
  await reload(live)
  const during = await Promise.all([
    visitPage(`${live.admin}/status`, session),
    visitPage(`${live.admin}/status`, bearerOf('operate')),
    visitPage(`${live.admin}/status`, { authorization: 'Bearer the-next-token-of-anna' }),
  ])
  live.edit({ admin: { tokens: [...others, next] } })
  await reload(live)
  const after = await Promise.all([
    visitPage(`${live.admin}/status`, session),
    visitPage(`${live.admin}/status`, bearerOf('operate')),
    visitPage(`${live.admin}/status`, { authorization: 'Bearer the-next-token-of-anna' }),
  ])

  expect(during.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(after.map(({ status }) => status)).toEqual([401, 401, 200])
})
