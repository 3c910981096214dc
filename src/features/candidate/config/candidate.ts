import * as z from 'zod'
import { annotate } from '../../../core/config/schema/annotations.ts'
import { list } from '../../../core/config/schema/collections.ts'
import { optionalResponseField } from '../../../core/config/schema/header-fields.ts'
import { optionalPolicy, partialShape } from '../../../core/config/schema/inheritance.ts'
import { renderMap } from '../../../core/config/schema/render.ts'
import { boolean, duration, integer, multiple, percent } from '../../../core/config/schema/scalar-types.ts'
import { defaultsSchema } from '../../../core/config/sections/upstream-defaults.ts'
import { endpointUrlSchema, targetShape } from '../../../core/config/sections/upstream-target.ts'
import { clientName } from '../../clients/config.ts'
import { candidateShadowSchema } from './candidate-shadow.ts'
import { stepsSchema } from './candidate-steps.ts'

// Above the two sides: one wait, one size, one count of attempts and of requests in flight for both.
const aboveSides = { deadline: true, maxBody: true, retry: true, concurrency: true } as const

const policies = defaultsSchema.omit(aboveSides)

const { endpoints, ...inheritedTarget } = targetShape

const inheritedShape = partialShape(inheritedTarget)

const policyShape = { ...inheritedShape, ...partialShape(policies.shape) }

/** Null: never. */
const candidateGuardSchema = optionalPolicy(
  z
    .strictObject({
      errors: multiple('How many times the part of the requests that the primary fails').prefault('2x'),
      latency: multiple('How many times the 95th percentile of the time until the head at the primary', {
        min: 1.1,
      }).prefault('1.5x'),
      minRequests: integer('Fewest requests of the candidate to judge by', { min: 10, max: 1_000_000 }).prefault(50),
      window: duration('How long a request counts', { min: 1000, max: 600_000 }).prefault('1m'),
    })
    .meta({ description: 'When the candidate is taken back by itself' }),
  '{ errors: 2x, latency: 1.5x }',
)

/** Null: no field names the side. */
export const exposeSchema = optionalResponseField(
  'The response field that names the side, or none',
  'X-Upstream-Side',
).prefault('none')

/** The keys of a candidate that no upstream has. Each has a default, so that a URL alone is a candidate. */
const ownForm = z.strictObject({
  share: percent('Part of the clients that it gets; each stays when the share grows').prefault('0%'),
  steps: stepsSchema.prefault('none'),
  guard: candidateGuardSchema.prefault({}),
  shadow: candidateShadowSchema.prefault('none'),
  clients: list('Clients that it gets, whatever the share is', clientName('The name of a client, as clients has it'), {
    max: 10_000,
  }).prefault([]),
  fallback: boolean(
    'Whether the upstream of the group serves what fails here, where another attempt is allowed',
  ).prefault(true),
  expose: exposeSchema,
})

/** The keys of a candidate that go with it when it becomes the upstream. */
export const candidateOnlyKeys: readonly string[] = Object.keys(ownForm.shape)

const nothingStated: Partial<z.output<z.ZodObject<typeof policyShape>>> = {}

const shortForm = endpointUrlSchema.transform((endpoint) => ({
  endpoints: [endpoint],
  ...nothingStated,
  ...ownForm.parse({}),
}))

const candidateForm = <S extends z.core.$ZodLooseShape>(inherited: S) =>
  annotate(
    z
      .union([shortForm, z.strictObject({ endpoints, ...inherited, ...ownForm.shape })])
      .meta({ id: 'Candidate', description: 'A second upstream, to be tried before it replaces the first' }),
    {
      render: (candidate) => ({
        ...renderMap(z.strictObject(targetShape), Object(candidate).upstream),
        ...renderMap(policies, Object(candidate).upstream),
        ...renderMap(ownForm, candidate),
      }),
    },
  )

/**
 * The schema of the candidate of a group: a URL, `sandbox`, or the long form. What it leaves out is that of its group's
 * upstream.
 */
export const candidateSchema = candidateForm(policyShape)

/** The schema of the candidate for editors, which shows the built-in values. */
export const describedCandidateSchema = candidateForm({ ...inheritedShape, ...policies.shape })
