import * as z from 'zod'
import type { groups } from '../../../operations.ts'
import type { UpstreamKey } from '../config-part.ts'
import { annotate } from '../schema/annotations.ts'
import { partialShape } from '../schema/inheritance.ts'
import { renderMap, renderValue } from '../schema/render.ts'
import { operationDefaults } from './upstream-defaults.ts'
import { endpointUrlSchema, targetShape } from './upstream-target.ts'

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
