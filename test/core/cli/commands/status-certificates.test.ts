/** The table of `status` about the certificates of a gateway. */
import { expect, test } from 'vitest'
import { healthyStatus, runStatus } from '../status-fixtures.ts'

const first = {
  key: 'listen.tls.certificates[0]',
  names: ['gateway.lender.example', '*.lender.example'],
  notAfter: '2027-01-04T09:00:00.000Z',
  daysLeft: 44,
}

test('the days that each has left, in capitals what needs an operator', async () => {
  const soon = { ...first, key: 'listen.tls.certificates[1]', names: ['a.test'], daysLeft: 3 }
  const over = { ...first, key: 'admin.tls', names: [], daysLeft: -1 }

  const { out } = await runStatus({ ...healthyStatus, certificates: [first, soon, over] })

  expect(out).toContain(`
certificate                 until                     left         names
listen.tls.certificates[0]  2027-01-04T09:00:00.000Z  44 days      gateway.lender.example, *.lender.example
listen.tls.certificates[1]  2027-01-04T09:00:00.000Z  ONLY 3 DAYS  a.test
admin.tls                   2027-01-04T09:00:00.000Z  EXPIRED
`)
})
