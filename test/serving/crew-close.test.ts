/** In which order a gateway of several workers ends. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { openCrew } from '../../src/serving/crew.ts'
import { Overrides } from '../../src/snapshot/overrides.ts'
import { testConfig } from '../helpers/gateway.ts'

const said: string[] = []
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
    readonly posts = []
    begin() {}
    end() {
      said.push('workers end')
    }
  },
}))

test('workers end once every connection that was accepted is handed over', async () => {
  const crew = await openCrew({
    size: 2,
    first: { config: testConfig(), said: new Overrides(), sandboxOrigin: 'http://127.0.0.1:9' },
    place: { host: '127.0.0.1', port: 0 },
    pseudonym: 'gateway-1',
    log: pino({ level: 'silent' }),
    trail: { failing: false, onChange: () => {}, take: () => {} },
    passOn: () => {},
    patience: undefined,
  })

  const closed = crew.close(5000)
  await nextTurn()
  const before = [...said]
  handedOver.resolve()
  await closed

  expect(before).toEqual(['closed to clients'])
  expect(said).toEqual(['closed to clients', 'handed over', 'workers end'])
})
