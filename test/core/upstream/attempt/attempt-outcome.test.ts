import { expect, test } from 'vitest'
import { classifyFailure } from '../../../../src/core/upstream/attempt/attempt-outcome.ts'
import { connectFailedError } from '../../../../src/core/upstream/classify-error.ts'
import { fakeAttempts } from '../../../helpers/exchange.ts'

const exchange = { attempts: fakeAttempts({ count: 1 }), endedInQueue: false, waitsForClient: false }

test.each([
  ['EMFILE', 'nothing'],
  ['ENFILE', 'nothing'],
  ['EADDRNOTAVAIL', 'nothing'],
  ['ECONNREFUSED', 'failure'],
  ['ENETUNREACH', 'failure'],
])(
  'a connection that could not be made counts against its endpoint unless the gateway lacked what it takes: %s',
  (code, outcome) => {
    const error = connectFailedError(Object.assign(new Error(code), { code }))

    expect(classifyFailure(error, exchange)).toBe(outcome)
  },
)
