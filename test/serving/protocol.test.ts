import { expect, test } from 'vitest'
import { plain, stateOf } from '../../src/serving/protocol.ts'
import { testConfig } from '../helpers/gateway.ts'

const configOf = (disabled: boolean) =>
  testConfig({
    auth: { methods: ['apiKey'] },
    clients: [
      { id: 'a', operations: 'all', rate: '5/s', concurrency: 2 },
      { id: 'b', operations: 'all', disabled },
    ],
  })
const none = { all: [], of: () => null }
const sent = (disabled: boolean) =>
  structuredClone(
    plain({ config: configOf(disabled), said: { operations: none, endpoints: none }, sandboxOrigin: null }),
  )

test('a worker runs the configuration that it was sent', async () => {
  const { config } = await stateOf(sent(false), [])

  expect(config).toEqual(configOf(false))
})

test('it keeps the clients that it has where they are as they were, and no others', async () => {
  const running = (await stateOf(sent(false), [])).config.clients

  const same = await stateOf(sent(false), running)
  const edited = await stateOf(sent(true), running)

  expect(same.config.clients).toBe(running)
  expect(edited.config).toEqual(configOf(true))
})
