import * as z from 'zod'
import type { groups } from '../../../operations.ts'
import type { RenderedValue } from '../redact.ts'
import { annotate } from '../schema/annotations.ts'
import { partialShape } from '../schema/inheritance.ts'
import { renderMap, renderValue } from '../schema/render.ts'
import { operationDefaults } from './upstream-defaults.ts'
import { endpointUrlSchema, targetShape } from './upstream-target.ts'

/** A key of a group alone, behind all others. Its value is null where the group does not state it. */
export interface UpstreamKey {
  readonly key: string
  readonly schema: z.ZodType
  /** For editors; where it is not given, `schema`. */
  readonly described?: z.ZodType
  /** Whether its value is an upstream too, which inherits from its group. */
  readonly isUpstream?: true
  /** Renders its value, beside what is rendered of its group. */
  render?(schema: z.ZodType, value: unknown, group: Readonly<Record<string, RenderedValue>>): RenderedValue | undefined
}

const longForm = z.strictObject(targetShape)

/** The schema of `upstreams`; for editors, it shows the built-in values. */
export const upstreamsSchema = (defaults: z.ZodObject, keys: readonly UpstreamKey[], isForEditors = false) => {
  const ownShape = Object.fromEntries(
    keys.map(({ key, schema, described = schema }) => [key, isForEditors ? described : schema]),
  )
  const nothingStated = z.strictObject(ownShape).parse({})
  const shortForm = endpointUrlSchema.transform((endpoint) => ({
    endpoints: [endpoint],
    host: 'endpoint' as const,
    request: { set: [], remove: [] },
    response: { set: [], remove: [] },
    ...nothingStated,
  }))
  const policies = isForEditors ? defaults.shape : partialShape(defaults.shape)
  const ofGroups = defaults.omit(operationDefaults)
  const upstream = annotate(
    z.union([shortForm, longForm.extend({ ...policies, ...ownShape })]).meta({ id: 'Upstream' }),
    {
      render: (merged) => {
        const rendered = { ...renderMap(longForm, merged), ...renderMap(ofGroups, merged) }
        const own = keys.flatMap(({ key, schema, render = renderValue }) => {
          const value = render(schema, Object(merged)[key], rendered)
          return value === undefined ? [] : [[key, value]]
        })
        return { ...rendered, ...Object.fromEntries(own) }
      },
    },
  )
  return z
    .strictObject({
      valuation: upstream,
      financing: upstream,
      analysis: upstream,
      risk: upstream,
      inventory: upstream,
      leads: upstream,
      compliance: upstream,
      market: upstream,
    } satisfies Record<(typeof groups)[number], typeof upstream>)
    .meta({ description: 'What stands behind each purpose group; all eight are required' })
}
