import { boolean, choice, duration, map, optionalDuration } from '../schema/scalar-types.ts'

export const reloadSchema = map('How the gateway notices and tries an edit of this file', {
  watch: boolean('false: the file is read only on SIGHUP and POST /reload').prefault(true),
  poll: optionalDuration('How often the contents are compared, for mounts that report no change').prefault('5s'),
  preflight: choice('How new endpoints are tried before an edit takes effect', ['connect', 'health', 'none']).prefault(
    'connect',
  ),
})

export const shutdownSchema = map('How the gateway stops: it reports not ready, waits, and finishes running requests', {
  wait: duration('How long connections are accepted after /ready reports not ready', { min: 0 }).prefault('5s'),
  deadline: duration('Longest shutdown, including the wait').prefault('25s'),
})
