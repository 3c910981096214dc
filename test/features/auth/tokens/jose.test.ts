import { expect, test } from 'vitest'
import { runWithFailingLoad } from '../../../helpers/failing-load.ts'

const file = new URL('../../../../src/features/auth/tokens/jwk-set.ts', import.meta.url).href

test.each([1, 5])('a library that could not be read is read again for the next token: file %i of it', async (nth) => {
  const outcomes = await runWithFailingLoad(
    'jose',
    nth,
    `import { loadJose } from ${JSON.stringify(file)}
    const outcome = () => loadJose().then(({ jwtVerify }) => typeof jwtVerify, ({ message }) => message)
    console.log(JSON.stringify([await outcome(), await outcome()]))`,
  )

  expect(outcomes).toEqual(['EMFILE: too many open files', 'function'])
})
