import * as z from 'zod'
import { scalar } from './schema/scalar.ts'
import { InvalidScalar } from './schema/scalar-kind.ts'
import { boolean } from './schema/scalar-types.ts'
import { adminSchema } from './sections/admin.ts'
import { instanceSchema } from './sections/instance.ts'
import { listenSchema } from './sections/listen.ts'
import { logSchema, metricsSchema } from './sections/log-and-metrics.ts'
import { operationsSchema } from './sections/operations.ts'
import { reloadSchema, shutdownSchema } from './sections/reload-and-shutdown.ts'
import { requestIdSchema } from './sections/request-id.ts'
import { defaultsSchema } from './sections/upstream-defaults.ts'
import { upstreamsSchema } from './sections/upstreams.ts'

const version = scalar<1>('The version of this format', {
  expected: '1',
  parse: (value, fromVariable) => {
    if (value === 1 || (fromVariable && value === '1')) return 1
    return new InvalidScalar('unknown version', value === '1' ? 'write 1, without quotes' : 'write 1')
  },
  json: { const: 1 },
})

export const coreSchema = z
  .strictObject({
    version: version.prefault(1),
    instance: instanceSchema.prefault({}),
    allowSandbox: boolean('Whether the sandbox may stand behind a non-loopback address').prefault(false),
    requestId: requestIdSchema.prefault({}),
    listen: listenSchema.prefault({}),
    admin: adminSchema.prefault({}),
    metrics: metricsSchema.prefault(true),
    log: logSchema.prefault({}),
    defaults: defaultsSchema.prefault({}),
    upstreams: upstreamsSchema(defaultsSchema, []),
    operations: operationsSchema({}, {}).prefault({}),
    reload: reloadSchema.prefault({}),
    shutdown: shutdownSchema.prefault({}),
  })
  .meta({ title: 'Lender gateway configuration' })
