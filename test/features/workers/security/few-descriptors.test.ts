import { test } from 'vitest'
import { takeAllConnections } from '../../../security/few-descriptors.ts'

// Without a free descriptor, a worker could not measure its memory, and was replaced.
test.skipIf(process.platform !== 'linux')(
  'requests that take all connections of workers to upstreams leave descriptors to operators',
  () => takeAllConnections(2, { workers: 2 }),
)
