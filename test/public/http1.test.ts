import { expect, test } from 'vitest'
import { Arrival } from '../../src/public/arrival.ts'

const flawOf = (httpVersion: string) => Arrival.prototype.flaw.call({ httpVersion } as never)

test.each(['1.1', '1.0'])('%s is a version of this wire', (httpVersion) => {
  expect(flawOf(httpVersion)).toBeNull()
})

// Node's parser hands on a request line that ends in HTTP/2.0: that is no HTTP/2.
test.each(['0.9', '1.2', '2.0', '3.0'])('%s is not', (httpVersion) => {
  expect(flawOf(httpVersion)).toMatchObject({ kind: 'unsupported-version', reason: null, fields: [] })
})
