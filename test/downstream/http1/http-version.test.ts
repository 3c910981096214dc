import { expect, test } from 'vitest'
import { LeanIncomingMessage } from '../../../src/downstream/http1/lean-incoming-message.ts'

const validate = (httpVersion: string) => LeanIncomingMessage.prototype.validate.call({ httpVersion } as never)

test.each(['1.1', '1.0'])('%s is a supported version', (httpVersion) => {
  expect(validate(httpVersion)).toBeNull()
})

// Node's parser accepts a request line that ends in HTTP/2.0: that is no HTTP/2.
test.each(['0.9', '1.2', '2.0', '3.0'])('%s is not', (httpVersion) => {
  expect(validate(httpVersion)).toMatchObject({ kind: 'unsupported-version', reason: null, fields: [] })
})
