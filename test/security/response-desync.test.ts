import { describe, expect, onTestFinished, vi } from 'vitest'
import { batchWrite } from '../../src/core/lib/turn-writes.ts'
import { makeCertificates, type Pair } from '../helpers/certificates.ts'
import { needProgram } from '../helpers/program.ts'
import { part, sample, testAndDrill } from '../helpers/speed.ts'
import { type Client, faultOf, getOf, postOf, uploadOf } from './desync/client.ts'
import { all as allPoisons, type Poison, seconds, usual } from './desync/poisons.ts'
import {
  atOnce,
  filled,
  inPieces,
  inTwo,
  type Play,
  settled,
  stage,
  turns,
  type UpstreamRequest,
} from './desync/stage.ts'

// The attack: an upstream, or what an attacker makes of it, writes more, less or other bytes than its framing says.
// Then one client could be given what was another's (RFC 9112 §11.1, response splitting; §9.2, responses that nothing
// was asked for).

const openssl = await needProgram('openssl')
const pair = openssl.path === null ? null : makeCertificates(openssl.path).right

const named = (poisons: readonly Poison[]) => poisons.map((poison) => [poison.name, poison] as const)
const all = named(allPoisons)

// Nothing is wrong with the responses to the three clients that ask afterwards.
const none = [null, null, null]

/** What is played to the first client, which does what the row says; three clients ask in turn afterwards. */
describe.each<[string, Play, Pair | null, typeof getOf, number]>([
  ['in one packet', atOnce, null, getOf, 0],
  ['byte by byte', inPieces, null, getOf, 1],
  ['over TLS', atOnce, pair, getOf, 2],
  ['before the request has been sent to its end', atOnce, null, (marker) => uploadOf(marker).first, 3],
])('%s,', (how, play, tls, request, offset) => {
  const { poisoned, others } = stage(tls)

  testAndDrill.skipIf(how === 'over TLS' && tls === null).each(sample(all, offset))('%s', async (_, poison) => {
    const { marker, client, played } = await poisoned((asked) => play(poison, asked), request)
    const fault = faultOf(poison, marker, await client.given())
    if (request !== getOf) client.sendMore(uploadOf(marker).rest)
    await settled(poison, await played)

    expect([fault, ...(await others())]).toEqual([null, ...none])
  })
})

const halfThenLeave = async (poison: Poison, { marker, socket, write }: UpstreamRequest, client: Client) => {
  const bytes = filled(poison, marker)
  write(bytes.slice(0, bytes.length / 2))
  await turns(2)
  client.leave()
  write(bytes.slice(bytes.length / 2) + poison.stray)
  if (poison.ends) socket.end()
}

const leaveThenPlay: typeof halfThenLeave = (poison, asked, client) => {
  client.leave()
  return atOnce(poison, asked)
}

describe.each([
  ['as it comes', leaveThenPlay, 0],
  ['in the middle of it', halfThenLeave, 1],
])('to a client that leaves %s,', (_, play, offset) => {
  const { poisoned, others } = stage()

  testAndDrill.each(sample(all, offset))('%s', async (__, poison) => {
    const { played } = await poisoned((asked, client) => play(poison, asked, client))
    await settled(poison, await played)

    expect(await others()).toEqual(none)
  })
})

describe('while nothing is asked,', () => {
  const { poisoned, others } = stage()

  testAndDrill.each(sample(named(seconds)))('%s', async (_, poison) => {
    const { play, later } = inTwo(poison)
    const { marker, client, played } = await poisoned(play)
    const fault = faultOf(poison, marker, await client.given())
    await turns(2)
    later()
    await settled(poison, await played)

    expect([fault, ...(await others())]).toEqual([null, ...none])
  })
})

describe('in the moment in which the next request goes out,', () => {
  const { poisoned, others, inTheMoment } = stage()
  const cases = [getOf, postOf].flatMap((request) =>
    [true, false].flatMap((before) =>
      named(usual).map(
        ([name, poison]) =>
          [`${before ? 'before' : 'after'} a ${request('').slice(0, 4)}`, name, poison, request, before] as const,
      ),
    ),
  )

  testAndDrill.each(sample(cases))('%s: %s', async (_, __, poison, request, before) => {
    const clock = performance.now.bind(performance)
    let aheadMs = 0
    const read = vi.spyOn(performance, 'now').mockImplementation(() => clock() + aheadMs)
    onTestFinished(() => read.mockRestore())
    const { play, later } = inTwo(poison)
    const { marker, client, played } = await poisoned(play)
    const fault = faultOf(poison, marker, await client.given())
    await played
    await turns(2)
    aheadMs = 1000 // it has rested

    const next = await inTheMoment(request, later, before)

    expect([fault, next, ...(await others())]).toEqual([null, null, ...none])
  })
})

/** Makes a response as long as the longest record of TLS (RFC 8446 §5.1), so that what follows comes in another one. */
const padded = (bytes: string): string =>
  bytes.replace('X-Own', `X-Padding: ${'x'.repeat(2 ** 14 - bytes.length - 'X-Padding: \r\n'.length)}\r\nX-Own`)

/**
 * Makes two clients wait for the connection while the first gets a response; `busy` is called in that turn.
 */
const whileOthersWait = async (
  { poisoned, others, inLine }: ReturnType<typeof stage>,
  poison: Poison,
  isPadded: boolean,
  busy = () => {},
) => {
  const waiting = Promise.withResolvers<readonly (string | null)[]>()
  const { marker, client, played } = await poisoned(async ({ marker, write }) => {
    waiting.resolve(inLine())
    await turns(4)
    const bytes = filled(poison, marker)
    write((isPadded ? padded(bytes) : bytes) + poison.stray)
    busy()
  })
  const fault = faultOf(poison, marker, await client.given())
  await settled(poison, await played)
  return [fault, ...(await waiting.promise), ...(await others())]
}

describe.each([
  ['in one packet', null],
  ['in two records of TLS', pair],
])('%s, while others wait for the connection,', (how, tls) => {
  const overTls = how !== 'in one packet'
  const staged = stage(tls)

  testAndDrill.skipIf(overTls && tls === null).each(sample(named(seconds)))('%s', async (_, poison) => {
    expect(await whileOthersWait(staged, poison, overTls)).toEqual([null, null, null, ...none])
  })

  // Much that is written in one turn of the event loop is written before its end: the next request perhaps.
  testAndDrill.skipIf(overTls && tls === null).each(part([28, 29, 30, 31]))(
    'and with %i other writes in the same turn, a second response',
    async (writes) => {
      const busy = (): void => {
        for (let n = 0; n < writes; n++) batchWrite(() => {})
      }

      expect(await whileOthersWait(staged, usual[0] as Poison, overTls, busy)).toEqual([null, null, null, ...none])
    },
  )
})
