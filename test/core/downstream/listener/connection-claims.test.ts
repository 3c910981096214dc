import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import {
  hasReceivedNothing,
  inheritConnectionClaims,
  setConnectionClaims,
} from '../../../../src/core/downstream/listener/listener-config.ts'

test('what was said of a connection was received by the connection below TLS alone', () => {
  const [raw, secured] = [new Socket(), new Socket()]
  setConnectionClaims(raw, {
    length: 28,
    address: '192.0.2.1',
    isAnonymous: false,
    authority: null,
    isSecure: () => false,
  })

  inheritConnectionClaims(secured, raw)

  expect([hasReceivedNothing(raw), hasReceivedNothing(secured)]).toEqual([false, true])
})
