/**
 * Holds what travels in the bench: bodies of requests, responses, and the marks by which the upstream is asked for
 * another response.
 */

/** Holds about 200 bytes of JSON. */
export const smallBody = JSON.stringify({
  requestRef: '3f6d2c1e-8a51-4a0b-9b6e-5d2f7c1a9e10',
  items: [
    { key: 'a', amount: 250_000, rate: 3.85 },
    { key: 'b', amount: 18_500, rate: 4.1 },
  ],
  note: 'bench',
  at: '2026-01-15T09:30:00Z',
})

/** Fills JSON up to exactly `bytes` of ASCII. */
const filled = (bytes: number): string => {
  const [start, end] = ['{"rows":"', '"}']
  return start + 'row 0123456789 abcdefghij;'.repeat(bytes / 26 + 1).slice(0, bytes - start.length - end.length) + end
}

/** Holds 64 KiB of JSON. */
export const mediumBody = filled(64 * 1024)

const asset = (at: number) => ({
  id: `asset-${at}-0f8e2c`,
  kind: 'machine',
  amount: 1000.5 + at,
  currency: 'EUR',
  acquiredOn: '2021-03-04',
  location: { street: 'Long Street 12', city: 'Hamburg', postcode: '20095', country: 'DE' },
  serial: `SN-${at}00123-XYZ`,
  isLeased: at % 2 === 0,
})

/** Builds JSON of an application with so many assets, each of about 230 bytes. */
const application = (assets: number): string =>
  JSON.stringify({
    applicationId: 'app-2026-000123',
    requestedAt: '2026-01-15T09:30:00Z',
    amount: 125_000,
    termMonths: 60,
    purpose: 'Machines for the workshop in Hamburg, with an option to extend the credit line later on.',
    assets: Array.from({ length: assets }, (_, at) => asset(at)),
  })

/** Holds about 2 KB of JSON that keeps the contract of the bench. */
export const structuredBody = application(8)

/** Holds about 64 KB of it. */
export const largeStructuredBody = application(285)

/** Responds to the measured requests: about 200 bytes of JSON. */
export const smallResponse = JSON.stringify({
  status: 'ok',
  ref: '9e107d9d-372b-4f7a-8c1e-2b5f0a6d4c33',
  values: [101.25, 99.75, 103.5, 98.0, 100.0, 102.5],
  currency: 'EUR',
  source: 'bench upstream',
  at: '2026-01-15T09:30:00Z',
  complete: true,
})

/** Responds to a target that bears `largeMark`: 1 MiB of JSON. */
export const largeResponse = filled(1024 * 1024)

/** Marks a target that gets 1 MiB. */
export const largeMark = 'bench-large=1'

/** Marks a target that gets {@link structuredBody}. */
export const structuredMark = 'bench-structured=1'

/** Marks a target whose response may be stored for an hour. */
export const storableMark = 'bench-storable=1'

/** Marks a target whose response says what arrived, for checking a peer before it is measured. */
export const echoMark = 'bench-echo=1'

/** Returns what the upstream received. */
export interface Echo {
  readonly method: string
  readonly target: string
  readonly bodyBytes: number
  readonly sha256: string
}
