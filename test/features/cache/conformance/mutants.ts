/** Policies that are wrong in one thing each: the suite has to detect every one of them. */
import { type HeaderFields, omitFields } from '../../../../src/core/exchange/header-fields.ts'
import { policy } from './benches/policy.ts'

type Policy = typeof policy

/** A wrong policy, and a section of which some rows have to be red: `9111 §3`. */
export interface Mutant {
  readonly what: string
  readonly section: string
  readonly parts: Policy
}

type Edit = (fields: HeaderFields) => HeaderFields

/** Hides something of the upstream's responses. */
const mutateResponses = (edit: Edit): Policy => ({
  ...policy,
  assessStorability: (request, response, times, rules) =>
    policy.assessStorability(request, { ...response, fields: edit(response.fields) }, times, rules),
  freshenStored: (head, request, response, times, rules) =>
    policy.freshenStored(head, request, { ...response, fields: edit(response.fields) }, times, rules),
})

/** Hides something of the client's requests. */
const mutateRequests = (edit: Edit): Policy => ({
  ...policy,
  parseCacheRequest: (fields, facts, rules) => policy.parseCacheRequest(edit(fields), facts, rules),
})

const withoutDirective =
  (directive: string): Edit =>
  (fields) =>
    fields.map((text, i) => {
      if (i % 2 === 0 || fields[i - 1]?.toLowerCase() !== 'cache-control') return text
      return text.replace(new RegExp(`(^|[ ,\t])${directive}(?![\\w-])`, 'gi'), '$1x-unheard')
    })

const withoutField =
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

const requestDirectives = {
  'no-cache': '9111 §5.2.1.4',
  'no-store': '9111 §5.2.1.5',
  'max-age': '9111 §5.2.1.1',
  'min-fresh': '9111 §5.2.1.3',
  'max-stale': '9111 §5.2.1.2',
  'only-if-cached': '9111 §5.2.1.7',
}

const responseFields = {
  vary: '9111 §4.1',
  age: '9111 §4.2.3',
  date: '9111 §4.2.3',
  expires: '9111 §4.2.1',
  etag: '9111 §4.3.1',
  'last-modified': '9111 §4.3.1',
}

const requestFields = {
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

/** The wrong policies. */
export const mutants: readonly Mutant[] = [
  ...each(directives, (name) => ({
    what: `ignores ${name} in responses`,
    parts: mutateResponses(withoutDirective(name)),
  })),
  ...each(requestDirectives, (name) => ({
    what: `ignores ${name} in requests`,
    parts: mutateRequests(withoutDirective(name)),
  })),
  ...each(responseFields, (name) => ({
    what: `ignores the ${name} of responses`,
    parts: mutateResponses(withoutField(name)),
  })),
  ...each(requestFields, (name) => ({
    what: `ignores the ${name} of requests`,
    parts: mutateRequests(withoutField(name)),
  })),
  {
    what: 'sends no Age',
    section: '9111 §4',
    parts: { ...policy, storedFields: (head, now) => [...withoutField('age')(policy.storedFields(head, now))] },
  },
  {
    what: 'forgets how long a response took',
    section: '9111 §4.2.3',
    parts: {
      ...policy,
      assessStorability: (request, response, times, rules) =>
        policy.assessStorability(request, response, { ...times, requestedAt: times.receivedAt }, rules),
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
    what: 'replaces by an error what could stand in for it',
    section: 'own §caching',
    parts: { ...policy, keepsPlace: () => false },
  },
  {
    what: 'never replaces a response by an error',
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
  { what: 'validates without conditions', section: '9111 §4.3.1', parts: { ...policy, conditionFields: () => [] } },
  {
    what: 'validates by the client’s own conditions',
    section: '9111 §4.3.1',
    parts: { ...policy, withoutConditions: (fields) => [...fields], conditionFields: () => [] },
  },
  {
    what: 'believes any 304',
    section: '9111 §4.3.4',
    parts: {
      ...policy,
      freshenStored: (head, request, response, times, rules) =>
        policy.freshenStored(
          head,
          request,
          { ...response, fields: withoutField('etag')(response.fields) },
          times,
          rules,
        ),
    },
  },
  {
    what: 'keeps the old fields after a 304',
    section: '9111 §3.2',
    parts: { ...policy, freshenStored: (head) => ({ kind: 'reused', fields: head.fields }) },
  },
  {
    what: 'sends the whole for every range',
    section: '9110 §14.2',
    parts: { ...policy, planResponse: ({ status }, _bytes, _request, fields) => ({ status, fields, body: 'whole' }) },
  },
  {
    what: 'never bypasses the cache',
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
