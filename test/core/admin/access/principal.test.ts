import { expect, test } from 'vitest'
import { principalsWithoutSession } from '../../../../src/core/admin/access/principal.ts'

test('an operator without a session keeps the token of forms while others come', () => {
  const withoutSession = principalsWithoutSession()
  const operatorNamed = (name: string) => ({ name, scope: 'operate', proof: 'certificate' }) as const
  const before = withoutSession(operatorNamed('anna'))

  for (let i = 0; i < 200; i++) {
    withoutSession(operatorNamed(`n${i}`))
    expect(withoutSession(operatorNamed('anna'))).toBe(before)
  }
})
