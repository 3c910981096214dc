import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { signToken } from '../../../helpers/tokens.ts'

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

// The attack: a client spells its token anew, and has it verified and remembered as another: the last character of a
// signature has bits that say nothing (RFC 4648 §3.5).
test('a token that is spelled anew is none', async () => {
  const { key, rsa, expectRejected: refuses } = await bootJwtGateway()

  for (const good of [signToken(key), signToken(rsa)]) {
    const last = digits.indexOf(good.slice(-1))
    for (const bits of [1, 7, 15])
      await refuses(good.slice(0, -1) + digits[last ^ bits], 'its signature is not spelled as it should be')
  }
})
