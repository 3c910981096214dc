/** What the primary of several workers does with them, without any process. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { openCrew } from '../../src/serving/crew.ts'
import { Gone } from '../../src/serving/questions.ts'
import { Overrides } from '../../src/snapshot/overrides.ts'
import { testConfig } from '../helpers/gateway.ts'

const said: string[] = []
const answers: Promise<number>[] = []
const handedOver = Promise.withResolvers<void>()

vi.mock('../../src/serving/entrance.ts', () => ({
  Entrance: class {
    bound() {}
    open() {
      return { address: '127.0.0.1', family: 'IPv4', port: 1 }
    }
    leave() {
      said.push('closed to clients')
    }
    async emptied() {
      await handedOver.promise
      said.push('handed over')
    }
  },
}))

vi.mock('../../src/serving/muster.ts', () => ({
  Muster: class {
    readonly posts = answers.map((answer) => ({ isServing: true, worker: { command: () => answer, send() {} } }))
    begin() {}
    end() {
      said.push('workers end')
    }
  },
}))

const open = () =>
  openCrew({
    size: 2,
    first: { config: testConfig(), said: new Overrides(), sandboxOrigin: 'http://127.0.0.1:9' },
    place: { host: '127.0.0.1', port: 0 },
    pseudonym: 'gateway-1',
    log: pino({ level: 'silent' }),
    trail: { failing: false, onChange: () => {}, take: () => {} },
    passOn: () => {},
    patience: undefined,
  })

test('workers end once every connection that was accepted is handed over', async () => {
  const crew = await open()

  const closed = crew.close(5000)
  await nextTurn()
  const before = [...said]
  handedOver.resolve()
  await closed

  expect(before).toEqual(['closed to clients'])
  expect(said).toEqual(['closed to clients', 'handed over', 'workers end'])
})

test('of the workers that are given a command, those that hang have not answered, and one that is gone is not counted', async () => {
  const late = () => Promise.reject(new Error('did not answer'))
  answers.push(Promise.resolve(7), Promise.reject(new Gone('is gone')), late(), late())
  const crew = await open()

  const given = await crew.command('lift', { group: 'risk', url: 'http://a' })
  await crew.close(0)

  expect(given).toEqual({ results: [7], unanswered: 2 })
})
