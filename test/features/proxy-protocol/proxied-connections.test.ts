import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import {
  hasReceivedNothing,
  inheritProxyHeader,
  setProxyHeader,
} from '../../../src/features/proxy-protocol/proxied-connections.ts'

test('the header was received by the connection below TLS alone', () => {
  const [raw, secured] = [new Socket(), new Socket()]
  setProxyHeader(raw, { length: 28, origin: 'client', address: '192.0.2.1', authority: null, secure: null })

  inheritProxyHeader(secured, raw)

  expect([hasReceivedNothing(raw), hasReceivedNothing(secured)]).toEqual([false, true])
})
