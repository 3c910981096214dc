/** Policies that are wrong in one thing each: the suite has to find every one of them. */
import { type HeaderFields, omitFields } from '../../src/header-fields.ts'
import { policy } from './benches/policy.ts'

type Policy = typeof policy

/** Is a wrong policy, and a section of whose rows some have to be red: `9111 §3`. */
export interface Mutant {
  readonly what: string
  readonly section: string
  readonly parts: Policy
}

type Edit = (fields: HeaderFields) => HeaderFields

/** Does not see something of what the upstream answers. */
const ofAnswers = (edit: Edit): Policy => ({
  ...policy,
  assessStorability: (request, answer, times, rules) =>
    policy.assessStorability(request, { ...answer, fields: edit(answer.fields) }, times, rules),
  freshenStored: (head, request, answer, times, rules) =>
    policy.freshenStored(head, request, { ...answer, fields: edit(answer.fields) }, times, rules),
})

/** Does not see something of what a client says. */
const ofRequests = (edit: Edit): Policy => ({
  ...policy,
  parseCacheRequest: (fields, facts, rules) => policy.parseCacheRequest(edit(fields), facts, rules),
})

const deafTo =
  (directive: string): Edit =>
  (fields) =>
    fields.map((text, i) => {
      if (i % 2 === 0 || fields[i - 1]?.toLowerCase() !== 'cache-control') return text
      return text.replace(new RegExp(`(^|[ ,\t])${directive}(?![\\w-])`, 'gi'), '$1x-unheard')
    })

const blindTo =
  (field: string): Edit =>
  (fields) =>
    omitFields(fields, new Set([field]))

const directives = {
  'no-store': '9111 §3',
  private: '9111 §3',
  'no-cache': '9111 §4',
  'must-revalidate': '9111 §5.2.2.2',
  'proxy-revalidate': '9111 §5.2.2.8',
  's-maxage': '9111 §4.2.1',
  'max-age': '9111 §4.2',
  'must-understand': '9111 §5.2.2.3',
  public: '9111 §3.5',
  'stale-while-revalidate': '5861 §3',
  'stale-if-error': '5861 §4',
}

const asked = {
  'no-cache': '9111 §5.2.1.4',
  'no-store': '9111 §5.2.1.5',
  'max-age': '9111 §5.2.1.1',
  'min-fresh': '9111 §5.2.1.3',
  'max-stale': '9111 §5.2.1.2',
  'only-if-cached': '9111 §5.2.1.7',
}

const answered = {
  vary: '9111 §4.1',
  age: '9111 §4.2.3',
  date: '9111 §4.2.3',
  expires: '9111 §4.2.1',
  etag: '9111 §4.3.1',
  'last-modified': '9111 §4.3.1',
}

const sent = {
  authorization: '9111 §3.5',
  cookie: 'own §caching',
  'x-api-key': 'own §caching',
  'if-match': '9111 §4.3.2',
  'if-unmodified-since': '9111 §4.3.2',
  'if-none-match': '9110 §13.1.2',
  'if-modified-since': '9110 §13.1.3',
  'if-range': '9110 §13.1.5',
  range: '9110 §14.2',
  pragma: '9111 §5.4',
}

const each = (rows: Readonly<Record<string, string>>, make: (name: string) => Omit<Mutant, 'section'>): Mutant[] =>
  Object.entries(rows).map(([name, section]) => ({ ...make(name), section }))

/** Lists the wrong policies. */
export const mutants: readonly Mutant[] = [
  ...each(directives, (name) => ({ what: `does not hear ${name} in answers`, parts: ofAnswers(deafTo(name)) })),
  ...each(asked, (name) => ({ what: `does not hear ${name} in requests`, parts: ofRequests(deafTo(name)) })),
  ...each(answered, (name) => ({ what: `does not see ${name} in answers`, parts: ofAnswers(blindTo(name)) })),
  ...each(sent, (name) => ({ what: `does not see ${name} in requests`, parts: ofRequests(blindTo(name)) })),
  {
    what: 'sends no Age',
    section: '9111 §4',
    parts: { ...policy, storedFields: (head, now) => [...blindTo('age')(policy.storedFields(head, now))] },
  },
  {
    what: 'forgets how long an answer took',
    section: '9111 §4.2.3',
    parts: {
      ...policy,
      assessStorability: (request, answer, { receivedAt }, rules) =>
        policy.assessStorability(request, answer, { requestedAt: receivedAt, receivedAt }, rules),
    },
  },
  {
    what: 'holds everything fresh',
    section: '9111 §4.2.4',
    parts: { ...policy, decideReuse: () => ({ kind: 'fresh' }) },
  },
  { what: 'sends stale what it may not', section: '9111 §5.2.2.2', parts: { ...policy, mayServeStale: () => true } },
  { what: 'never sends anything stale', section: '9111 §4.2.4', parts: { ...policy, mayServeStale: () => false } },
  {
    what: 'lets an error take the place of what could stand in for it',
    section: 'own §caching',
    parts: { ...policy, keepsPlace: () => false },
  },
  {
    what: 'keeps for ever what an error could take the place of',
    section: 'own §caching',
    parts: { ...policy, keepsPlace: (_head, status) => policy.isServerError(status) },
  },
  {
    what: 'sends an error stale',
    section: 'own §caching',
    parts: {
      ...policy,
      mayServeStale: (head, request, trouble, now) =>
        policy.mayServeStale(head, request, trouble, now) || head.status >= 500,
    },
  },
  { what: 'takes any variant', section: '9111 §4.1', parts: { ...policy, selectVariant: ([first]) => first ?? null } },
  { what: 'validates by nothing', section: '9111 §4.3.1', parts: { ...policy, conditionFields: () => [] } },
  {
    what: 'asks by the client’s own conditions',
    section: '9111 §4.3.1',
    parts: { ...policy, withoutConditions: (fields) => [...fields], conditionFields: () => [] },
  },
  {
    what: 'believes any 304',
    section: '9111 §4.3.4',
    parts: {
      ...policy,
      freshenStored: (head, request, answer, times, rules) =>
        policy.freshenStored(head, request, { ...answer, fields: blindTo('etag')(answer.fields) }, times, rules),
    },
  },
  {
    what: 'keeps the old fields after a 304',
    section: '9111 §3.2',
    parts: { ...policy, freshenStored: (head) => ({ kind: 'reused', fields: head.fields }) },
  },
  {
    what: 'answers whole whatever is asked',
    section: '9110 §14.2',
    parts: { ...policy, planResponse: ({ status }, _bytes, _request, fields) => ({ status, fields, body: 'whole' }) },
  },
  {
    what: 'takes bypassing for a hindrance',
    section: '9111 §4.3.2',
    parts: { ...policy, bypassReason: () => null },
  },
  {
    what: 'lets another origin name what is invalid',
    section: '9111 §4.4',
    parts: {
      ...policy,
      invalidationTargets: ({ status, fields }, uri) =>
        policy.invalidationTargets(
          { status, fields: fields.map((text) => text.replace(/^(https?:)?\/\/[^/]*/, '')) },
          uri,
        ),
    },
  },
  { what: 'makes nothing invalid', section: '9111 §4.4', parts: { ...policy, invalidationTargets: () => [] } },
  {
    what: 'says hit of everything',
    section: '9211 §2.2',
    parts: { ...policy, forwardedStatus: () => 'lender-gateway;hit' },
  },
]
