import { expect, test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { exchangeRaw } from '../helpers/raw.ts'
import { token } from '../helpers/tokens.ts'

// Which of two the upstream takes is not known here: one good credential would let the other one in.
test('of two Authorization fields none is taken', async () => {
  const { gateway, key, reached } = await bootGuarded()
  const good = `Authorization: Bearer ${token(key)}`

  for (const other of [good, 'authorization: Bearer x', 'Authorization: Basic YTpi', 'Authorization:']) {
    for (const [one, two] of [
      [good, other],
      [other, good],
    ])
      expect(
        await exchangeRaw(
          gateway.port,
          `GET /market/insights HTTP/1.1\r\nHost: a\r\n${one}\r\n${two}\r\nConnection: close\r\n\r\n`,
        ),
      ).toMatch(/^HTTP\/1\.1 400 /)
  }
  expect(reached).toEqual([])
})
