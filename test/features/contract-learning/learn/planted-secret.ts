/** A secret in every place of a request or response where one may stand. */

import type { ObservedRequest, ObservedResponse } from '../../../../src/features/contract-learning/learn/learner.ts'

/** A request, or a response. */
export type Observed =
  | { readonly request: ObservedRequest; readonly response?: never }
  | { readonly response: ObservedResponse; readonly request?: never }

/** A usual request, with what differs. */
export const requestWith = (different: Partial<ObservedRequest>): Observed => ({
  request: {
    query: '?region=north&limit=10',
    fields: ['X-Lender-Branch', '12', 'Accept', '*/*'],
    contentType: 'application/json',
    body: { id: 'A-1', status: 'OPEN', amount: 12.5, applicant: { name: 'x', tags: ['NEW'] }, items: [{ sku: 'a' }] },
    ...different,
  },
})

/** A usual response, with what differs. */
export const responseWith = (different: Partial<ObservedResponse>): Observed => ({
  response: {
    status: 200,
    contentType: 'application/json',
    body: { result: 'APPROVED', offers: [{ rate: 1.5, lender: 'first' }], links: { self: 'https://a.example/b' } },
    ...different,
  },
})

/**
 * Plants a secret in fifty places: as a value, as a name, and where only the protocol has words. Those that follow each
 * other belong to different operations, so that it comes once or twice in each place.
 */
export const plantSecret = (secret: string): readonly Observed[] => {
  const encoded = encodeURIComponent(secret)
  const deep = (levels: number, inner: unknown): unknown => (levels === 0 ? inner : { deep: deep(levels - 1, inner) })
  const values = [
    ...[secret, [secret], [[[secret]]], { id: secret }, { status: secret }, { amount: secret }, { applicant: secret }],
    ...[{ applicant: { name: secret } }, { applicant: { tags: [secret, 'NEW'] } }, { unheardOf: secret }],
    ...[{ items: [{ sku: secret }, { sku: 'a' }] }, { unheardOf: { of: [{ this: secret }] } }],
    ...[deep(30, secret), deep(60, secret), { 'customer-10042': secret }],
  ]
  const names = [
    ...[{ [secret]: 1 }, { [secret]: {} }, { applicant: { [secret]: 'x' } }, deep(20, { [secret]: true })],
    { items: [{ [secret]: 1 }, { [secret]: 2 }, { [secret]: 3 }, { [secret]: 4 }] },
    { nested: [[{ [secret]: null }], [{ [secret]: null }], [{ [secret]: null }]] },
    { applicant: { [secret]: { [secret]: secret } } },
  ]
  const queries = `?S ?S=1 ?S=S ?a=S ?region=S ?limit=S ?region=north&region=S ?filter[S]=1 ?&&=S& ?S=1&S=2&S=3 ?%zzS`
    .split(' ')
    .map((query) => query.replaceAll('S', encoded))
  const fields = [
    ['Authorization', `Bearer ${secret}`],
    ['Cookie', `session=${secret}`],
    ...['X-Api-Key', 'X-Lender-Branch', 'X-Client-Name', secret].map((name) => [name, secret]),
    [`X-${secret}`, '1'],
  ]
  const types = ['application/S', 'text/plain; name="S"', 'S', 'S/json', 'image/x-S+xml'].map((type) =>
    type.replace('S', secret),
  )
  return [
    ...[...values, ...names].map((body) => requestWith({ body })),
    ...queries.map((query) => requestWith({ query })),
    ...fields.map((field) => requestWith({ fields: field })),
    ...types.map((contentType) => requestWith({ contentType })),
    ...types.map((contentType) => responseWith({ contentType, status: 418 })),
    ...[values[0], values[3], names[0], names[4]].map((body) => responseWith({ body })),
    responseWith({ body: { result: secret, offers: [{ lender: secret, [secret]: secret }], links: { self: secret } } }),
  ]
}
