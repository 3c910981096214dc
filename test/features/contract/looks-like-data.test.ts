import { expect, test } from 'vitest'
import { looksLikeCode, looksLikeData } from '../../../src/features/contract/looks-like-data.ts'

test.each(
  `id amount loanToValueRatio due_date term-months address1 30DaysLate @type $ref #text dc:title filter[status] ids[]
  X-Lender-Region a übersicht line2Address3OfCoBorrower1 facade score.value applicant_2_income`.split(/\s+/),
)('%s is the name of a member', (name) => {
  expect(looksLikeData(name)).toBe(false)
})

test.each([
  ...`_ 2024 2026-01-31 customer-10042 123e4567-e89b-12d3-a456-426614174000 jane@mail.example 3fa85f64
    DEADBEEF00 aG9sYSBtdW5kbzE5 x7Kq2Zp9Lm4Tn8 K7Q9-M2X4-P8L1 https://host/path __proto__ constructor`.split(/\s+/),
  '',
  'Jane Doe',
  'a'.repeat(65),
  'line\nbreak',
  '\ud800',
])('%j is data', (name) => {
  expect(looksLikeData(name)).toBe(true)
})

test.each(['APPROVED', 'A', 'IN_REVIEW', 'first-lien', 'pending', '30Y', 'R-18'])('%s looks like a code', (text) => {
  expect(looksLikeCode(text)).toBe(true)
})

test.each(['Jane', 'JANE DOE', 'in review', '', '7', '12', 'CUST-00042', 'A1B2C3D4E5F6', 'X'.repeat(25)])(
  '%j does not look like a code',
  (text) => {
    expect(looksLikeCode(text)).toBe(false)
  },
)
